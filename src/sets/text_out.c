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

/* Prepare for a type; the output function's memory goes to mcxt. */
void
nw_text_out_init(NwTextOut *out, Oid type, MemoryContext mcxt)
{
	Oid function;
	bool is_varlena;

	out->type = getBaseType(type);
	get_typlenbyval(out->type, &out->typlen, &out->typbyval);
	out->is_text = out->type == TEXTOID || out->type == VARCHAROID || out->type == BPCHAROID;
	getTypeOutputInfo(out->type, &function, &is_varlena);
	fmgr_info_cxt(function, &out->output, mcxt);
}

/*
 * The output text of a value.  It may lie in the value itself, else it is
 * allocated in the current context.  Not terminated.
 */
NwBytes
nw_text_out(NwTextOut *out, Datum value)
{
	NwBytes result;
	char *text;

	if (out->is_text)
		return nw_text_out_image(out, &value);

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

/*
 * The stored bytes of a value: the same bytes always mean the same text.  May
 * lie in *value or be allocated in the current context.
 */
NwBytes
nw_text_out_image(const NwTextOut *out, Datum *value)
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
		result = nw_bytes_of_varlena(*value);
	else
	{
		result.data = DatumGetPointer(*value);
		result.len = out->typlen > 0 ? out->typlen : (int) strlen(result.data);
	}
	return result;
}

/*
 * True where values of different stored bytes always have different texts, so
 * that the one tells them apart as the other does.
 */
bool
nw_text_out_is_injective(const NwTextOut *out)
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

/* Copy bytes into a context, with a terminator behind them. */
char *
nw_bytes_copy(MemoryContext mcxt, NwBytes bytes)
{
	char *copy = MemoryContextAlloc(mcxt, (Size) bytes.len + 1);

	memcpy(copy, bytes.data, bytes.len);
	copy[bytes.len] = '\0';
	return copy;
}

/* Compare bytewise; a prefix sorts first. */
int
nw_bytes_compare(NwBytes a, NwBytes b)
{
	int cmp = memcmp(a.data, b.data, Min(a.len, b.len));

	if (cmp != 0)
		return cmp;
	return (a.len > b.len) - (a.len < b.len);
}

/* The bytes of a value of variable length, a text above all; they may lie in the value. */
NwBytes
nw_bytes_of_varlena(Datum value)
{
	struct varlena *stored = PG_DETOAST_DATUM_PACKED(value);

	return (NwBytes) {VARDATA_ANY(stored), VARSIZE_ANY_EXHDR(stored)};
}

/* Make a text datum. */
Datum
nw_bytes_datum(NwBytes bytes)
{
	return PointerGetDatum(cstring_to_text_with_len(bytes.data, bytes.len));
}
