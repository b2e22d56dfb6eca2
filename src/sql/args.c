/*
 * sql/args.c
 *		Read and check the arguments that the prediction functions share.
 */
#include "postgres.h"

#include <limits.h>

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "compat.h"
#include "sql/args.h"

char *
nw_text_argument(FunctionCallInfo fcinfo, int arg, const char *name)
{
	if (PG_ARGISNULL(arg))
		ereport(ERROR,
		        (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("%s must not be null", name)));
	return text_to_cstring(PG_GETARG_TEXT_PP(arg));
}

bool
nw_call_init(NwCall *call, FunctionCallInfo fcinfo, NwQueryForm form, int support_arg)
{
	memset(call, 0, sizeof(NwCall));
	if (PG_ARGISNULL(0))
		return false;
	call->schema = nw_extension_schema(fcinfo);
	call->support = nw_text_argument(fcinfo, support_arg, "support");
	if (form == NW_QUERY_TEXT)
		call->query = nw_vector_parse(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	else
		call->query =
			nw_vector_read(PG_GETARG_DATUM(0), form == NW_QUERY_VECTOR ? NW_VECTOR : NW_HALFVEC);
	call->once = get_fn_expr_arg_stable(fcinfo->flinfo, 0);
	call->caller = fcinfo->flinfo->fn_mcxt;
	return true;
}

/* Take apart a text array. */
static int
text_array(ArrayType *array, Datum **elems, bool **nulls)
{
	int n;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, elems, nulls, &n);
	return n;
}

/* The bytes of a text datum. */
static NwBytes
text_bytes(Datum datum)
{
	text *value = DatumGetTextPP(datum);
	NwBytes bytes = {VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value)};

	return bytes;
}

void
nw_call_classes(NwCall *call, FunctionCallInfo fcinfo, int arg)
{
	NwFilter *filter = &call->filter;
	Datum *elems;
	bool *nulls;

	if (PG_ARGISNULL(arg))
		return;
	filter->nclasses = text_array(PG_GETARG_ARRAYTYPE_P(arg), &elems, &nulls);
	if (filter->nclasses == 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("classes must name at least one class"),
		                errhint("Pass NULL for all classes.")));
	filter->classes = palloc_extended(filter->nclasses * sizeof(NwBytes), MCXT_ALLOC_HUGE);
	filter->admitted = nw_byteset_create(CurrentMemoryContext, filter->nclasses);
	for (int i = 0; i < filter->nclasses; i++)
	{
		if (nulls[i])
			ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			                errmsg("classes must not contain nulls")));
		filter->classes[i] = text_bytes(elems[i]);
		nw_byteset_add(filter->admitted, filter->classes[i]);
		CHECK_FOR_INTERRUPTS();
	}
}

void
nw_call_exclude(NwCall *call, FunctionCallInfo fcinfo, int arg)
{
	Datum *elems;
	bool *nulls;
	int n;

	if (PG_ARGISNULL(arg))
		return;
	n = text_array(PG_GETARG_ARRAYTYPE_P(arg), &elems, &nulls);
	if (n == 0)
		return;
	call->filter.exclude = nw_byteset_create(CurrentMemoryContext, n);
	for (int i = 0; i < n; i++)
	{
		if (!nulls[i])
			nw_byteset_add(call->filter.exclude, text_bytes(elems[i]));
		CHECK_FOR_INTERRUPTS();
	}
}

int
nw_top_argument(FunctionCallInfo fcinfo, int arg)
{
	int top;

	if (PG_ARGISNULL(arg))
		return INT_MAX;
	top = PG_GETARG_INT32(arg);
	if (top < 1)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("top must be at least 1, not %d", top),
		                errhint("Pass NULL for all rows.")));
	return top;
}

Datum
nw_bytes_datum(NwBytes bytes)
{
	return PointerGetDatum(cstring_to_text_with_len(bytes.data, bytes.len));
}
