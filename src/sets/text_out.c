/*
 * sets/text_out.c
 *		Turn labels and ids of any type into their output text.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "sets/text_out.h"

void
nw_textout_init(NwTextOut *out, Oid type, MemoryContext mcxt)
{
	Oid function;
	bool is_varlena;

	out->type = getBaseType(type);
	get_typlenbyval(out->type, &out->typlen, &out->typbyval);
	out->is_text = out->type == TEXTOID || out->type == VARCHAROID || out->type == BPCHAROID;
	getTypeOutputInfo(out->type, &function, &is_varlena);
	fmgr_info_cxt(function, &out->output, mcxt);
}

NwBytes
nw_textout(NwTextOut *out, Datum value)
{
	NwBytes result;
	char *text;

	if (out->is_text)
		return nw_textout_image(out, &value);

	/* the integers are most of all ids: spare them the function call */
	if (out->type == INT8OID || out->type == INT4OID)
	{
		text = palloc(MAXINT8LEN + 1);
		result.len = pg_lltoa(
			out->type == INT8OID ? DatumGetInt64(value) : (int64) DatumGetInt32(value), text);
		result.data = text;
		return result;
	}
	text = OutputFunctionCall(&out->output, value);
	result.data = text;
	result.len = strlen(text);
	return result;
}

NwBytes
nw_textout_image(const NwTextOut *out, Datum *value)
{
	NwBytes result;

	if (out->typbyval)
	{
		/* as a row stores it: what a datum has beyond differs by type */
		result.data = (const char *) value;
#ifdef WORDS_BIGENDIAN
		result.data += sizeof(Datum) - out->typlen;
#endif
		result.len = out->typlen;
	}
	else if (out->typlen == -1)
	{
		struct varlena *stored = PG_DETOAST_DATUM_PACKED(*value);

		result.data = VARDATA_ANY(stored);
		result.len = VARSIZE_ANY_EXHDR(stored);
	}
	else
	{
		result.data = DatumGetPointer(*value);
		result.len = out->typlen > 0 ? out->typlen : (int) strlen(result.data);
	}
	return result;
}

bool
nw_textout_is_steady(Oid type)
{
	switch (getBaseType(type))
	{
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
		case NAMEOID:
		case CHAROID:
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case NUMERICOID:
		case OIDOID:
		case TIDOID:
		case UUIDOID:
			return true;
		default:
			return type_is_enum(getBaseType(type));
	}
}

bool
nw_textout_is_injective(const NwTextOut *out)
{
	switch (out->type)
	{
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case OIDOID:
		case UUIDOID:
			return true;
		default:
			return out->is_text || type_is_enum(out->type);
	}
}

char *
nw_bytes_copy(MemoryContext mcxt, NwBytes bytes)
{
	char *copy = MemoryContextAlloc(mcxt, (Size) bytes.len + 1);

	memcpy(copy, bytes.data, bytes.len);
	copy[bytes.len] = '\0';
	return copy;
}

int
nw_bytes_compare(NwBytes a, NwBytes b)
{
	int cmp = memcmp(a.data, b.data, Min(a.len, b.len));

	if (cmp != 0)
		return cmp;
	return (a.len > b.len) - (a.len < b.len);
}
