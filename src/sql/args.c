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
#include "utils/float.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "math/calibration_bins.h"
#include "sets/extension.h"
#include "sets/number_array.h"
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

/* The type that an argument has in this call. */
Oid
nw_type_of_argument(FunctionCallInfo fcinfo, int arg)
{
	Oid type = get_fn_expr_argtype(fcinfo->flinfo, arg);

	if (!OidIsValid(type))
		elog(ERROR, "could not determine the type of argument %d", arg + 1);
	return type;
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

/* Read a temper that must not be null. */
double
nw_temper_argument(FunctionCallInfo fcinfo, int arg)
{
	nw_check_argument(fcinfo, arg, "temper");
	nw_check_temper(PG_GETARG_FLOAT8(arg));
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

/* Read the min_confidence argument; 0 where it is null. */
double
nw_confidence_argument(FunctionCallInfo fcinfo, int arg)
{
	double confidence;

	if (PG_ARGISNULL(arg))
		return 0;
	confidence = PG_GETARG_FLOAT8(arg);
	if (!(confidence >= 0 && confidence <= 1))
		ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
		                errmsg("min_confidence must be between 0 and 1, not %s",
		                       float8out_internal(confidence))));
	return confidence;
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

/* Insist that all rows have the same number of bins. */
void
nw_check_same_bins(int64 a, int64 b)
{
	if (a != b)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("bins must be the same for all rows"),
		                errdetail("One row has %d, another %d.", (int) a, (int) b)));
}

/* Insist on a confidence that can be one. */
void
nw_check_confidence(double confidence)
{
	if (!nw_confidence_is_valid(confidence))
		ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
		                errmsg("confidence must be between 0 and 1, not %s",
		                       float8out_internal(confidence))));
}

int
nw_bins_argument(FunctionCallInfo fcinfo, int arg)
{
	nw_check_argument(fcinfo, arg, "bins");
	nw_check_bins(PG_GETARG_INT32(arg));
	return PG_GETARG_INT32(arg);
}

/* Read a query out of text, as a vector or an array of numbers prints itself. */
static NwVectorData
query_of_text(Datum query)
{
	char *written = text_to_cstring(DatumGetTextPP(query));

	return *written == '{' ? nw_number_array_parse(written) : nw_vector_parse(written);
}

/* Read argument 0, of the type that the caller has. */
static NwVectorData
query_argument(FunctionCallInfo fcinfo)
{
	Datum query = PG_GETARG_DATUM(0);
	Oid type = getBaseType(nw_type_of_argument(fcinfo, 0));

	switch (nw_vector_type(type))
	{
		case NW_VECTOR:
			return nw_vector_read(query, NW_VECTOR);
		case NW_HALFVEC:
			return nw_vector_read(query, NW_HALFVEC);
		case NW_NOT_A_VECTOR:
			break;
	}
	if (type == TEXTOID)
		return query_of_text(query);
	if (nw_is_number_array(type))
		return nw_number_array_read(DatumGetArrayTypeP(query));
	ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
	                errmsg("query must not be of type %s", format_type_be(type)),
	                errhint("It may be a vector, a halfvec, an array of numbers, or text.")));
}

/*
 * Start a call from argument 0 (the query) and argument support_arg (the name
 * of a set); false where the query is null.
 */
bool
nw_call_arguments(NwCall *call, FunctionCallInfo fcinfo, int support_arg)
{
	memset(call, 0, sizeof(NwCall));
	if (PG_ARGISNULL(0))
		return false;
	call->schema = nw_extension_schema(fcinfo);
	call->support = nw_text_argument(fcinfo, support_arg, "support");
	call->query = query_argument(fcinfo);
	call->once = get_fn_expr_arg_stable(fcinfo->flinfo, 0);
	call->caller = fcinfo->flinfo->fn_mcxt;
	return true;
}

/*
 * Take an array apart into the output texts of its elements, [n], as labels and ids
 * have them; an element that is null has no data.
 */
static NwBytes *
array_texts(ArrayType *array, int *n)
{
	NwTextOut out;
	int16 typlen;
	bool typbyval;
	char typalign;
	Datum *elems;
	bool *nulls;
	NwBytes *texts;

	nw_text_out_init(&out, ARR_ELEMTYPE(array), CurrentMemoryContext);
	get_typlenbyvalalign(out.type, &typlen, &typbyval, &typalign);
	deconstruct_array(array, ARR_ELEMTYPE(array), typlen, typbyval, typalign, &elems, &nulls, n);
	texts = palloc_extended(Max(*n, 1) * sizeof(NwBytes), MCXT_ALLOC_HUGE);
	for (int i = 0; i < *n; i++)
	{
		texts[i] = nulls[i] ? (NwBytes) {NULL, 0} : nw_text_out(&out, elems[i]);
		CHECK_FOR_INTERRUPTS();
	}
	return texts;
}

/* Read the classes that alone count; all where the argument is null. */
void
nw_classes_argument(NwCall *call, FunctionCallInfo fcinfo, int arg)
{
	NwFilter *filter = &call->filter;

	if (PG_ARGISNULL(arg))
		return;
	filter->classes = array_texts(PG_GETARG_ARRAYTYPE_P(arg), &filter->nclasses);
	if (filter->nclasses == 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("classes must name at least one class"),
		                errhint("Pass NULL for all classes.")));
	filter->admitted = nw_byteset_create(CurrentMemoryContext, filter->nclasses);
	for (int i = 0; i < filter->nclasses; i++)
	{
		if (filter->classes[i].data == NULL)
			ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			                errmsg("classes must not contain nulls")));
		nw_byteset_add(filter->admitted, filter->classes[i]);
		CHECK_FOR_INTERRUPTS();
	}
}

/* Read the ids of supports to leave out; none where the argument is null. */
void
nw_exclude_argument(NwCall *call, FunctionCallInfo fcinfo, int arg)
{
	NwBytes *ids;
	int n;

	if (PG_ARGISNULL(arg))
		return;
	ids = array_texts(PG_GETARG_ARRAYTYPE_P(arg), &n);
	call->exclusive = true;
	if (n == 0)
		return;
	call->filter.exclude = nw_byteset_create(CurrentMemoryContext, n);
	for (int i = 0; i < n; i++)
	{
		if (ids[i].data)
			nw_byteset_add(call->filter.exclude, ids[i]);
		CHECK_FOR_INTERRUPTS();
	}
}

/* Read whether there may be nothing to answer with; that is an error where it is null. */
void
nw_empty_argument(NwCall *call, FunctionCallInfo fcinfo, int arg)
{
	call->empty_ok = !PG_ARGISNULL(arg) && PG_GETARG_BOOL(arg);
}
