/*
 * sql/args.c
 *		Read and check the arguments that the SQL functions share.
 */
#include "postgres.h"

#include <limits.h>

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "compat.h"
#include "math/calibration_bins.h"
#include "sets/extension.h"
#include "sets/registry.h"
#include "sql/args.h"

/* The context that lives as long as the state of an aggregate. */
MemoryContext
nw_aggregate_context(FunctionCallInfo fcinfo)
{
	MemoryContext mcxt;

	if (!AggCheckCallContext(fcinfo, &mcxt))
		elog(ERROR, "aggregate function called in non-aggregate context");
	return mcxt;
}

/* Insist that an argument is not null. */
void
nw_check_argument(FunctionCallInfo fcinfo, int arg, const char *name)
{
	if (PG_ARGISNULL(arg))
		ereport(ERROR,
		        (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("%s must not be null", name)));
}

/* Read a text that must not be null. */
char *
nw_text_argument(FunctionCallInfo fcinfo, int arg, const char *name)
{
	nw_check_argument(fcinfo, arg, name);
	return text_to_cstring(PG_GETARG_TEXT_PP(arg));
}

/* Read a temperature that must not be null. */
double
nw_tau_argument(FunctionCallInfo fcinfo, int arg)
{
	nw_check_argument(fcinfo, arg, "tau");
	nw_check_tau(PG_GETARG_FLOAT8(arg));
	return PG_GETARG_FLOAT8(arg);
}

/* Read how many rows to return; all where it is null. */
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

/* Insist on a number of bins that makes sense. */
void
nw_check_bins(int bins)
{
	if (bins < 1 || bins > NW_CALIBRATION_BINS_MAX)
		ereport(ERROR,
		        (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		         errmsg("bins must be between 1 and %d, not %d", NW_CALIBRATION_BINS_MAX, bins)));
}

int
nw_bins_argument(FunctionCallInfo fcinfo, int arg)
{
	nw_check_argument(fcinfo, arg, "bins");
	nw_check_bins(PG_GETARG_INT32(arg));
	return PG_GETARG_INT32(arg);
}

/*
 * Start a call from argument 0 (the query) and argument support_arg (the name
 * of a set); false where the query is null.
 */
bool
nw_call_arguments(NwCall *call, FunctionCallInfo fcinfo, NwQueryForm form, int support_arg)
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

static int
text_array(ArrayType *array, Datum **elems, bool **nulls)
{
	int n;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, elems, nulls, &n);
	return n;
}

/* Read the classes that alone count; all where the argument is null. */
void
nw_classes_argument(NwCall *call, FunctionCallInfo fcinfo, int arg)
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
		filter->classes[i] = nw_bytes_of_varlena(elems[i]);
		nw_byteset_add(filter->admitted, filter->classes[i]);
		CHECK_FOR_INTERRUPTS();
	}
}

/* Read the ids of supports to leave out; none where the argument is null. */
void
nw_exclude_argument(NwCall *call, FunctionCallInfo fcinfo, int arg)
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
			nw_byteset_add(call->filter.exclude, nw_bytes_of_varlena(elems[i]));
		CHECK_FOR_INTERRUPTS();
	}
}
