/*
 * sql/ece.c
 *		The aggregates nw_ece and nw_mce: calibration error of confidences,
 *		wherever they come from.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"

#include "bytes/aggregate_state.h"
#include "compat.h"
#include "math/calibration_bins.h"
#include "sql/args.h"

PG_FUNCTION_INFO_V1(nw_ece_accum);
PG_FUNCTION_INFO_V1(nw_ece_combine);
PG_FUNCTION_INFO_V1(nw_ece_serialize);
PG_FUNCTION_INFO_V1(nw_ece_deserialize);
PG_FUNCTION_INFO_V1(nw_ece_final);
PG_FUNCTION_INFO_V1(nw_mce_final);

/* Make empty bins that live as long as the aggregate's state. */
static NwBins *
make_bins(FunctionCallInfo fcinfo, int n)
{
	MemoryContext mcxt = nw_aggregate_context(fcinfo);
	NwBins *bins;

	nw_check_bins(n);
	bins = MemoryContextAlloc(mcxt, nw_bins_size(n));
	nw_bins_init(bins, n);
	return bins;
}

/* nw_ece_accum(internal, confidence float8, correct boolean [, bins int]) */
Datum
nw_ece_accum(PG_FUNCTION_ARGS)
{
	NwBins *bins = PG_ARGISNULL(0) ? NULL : (NwBins *) PG_GETARG_POINTER(0);
	double confidence;
	int n = NW_DEFAULT_BINS;

	if (PG_NARGS() > 3)
	{
		nw_check_argument(fcinfo, 3, "bins");
		n = PG_GETARG_INT32(3);
	}
	if (bins == NULL)
		bins = make_bins(fcinfo, n);
	nw_check_same_bins(bins->n, n);
	if (PG_ARGISNULL(1) || PG_ARGISNULL(2))
		PG_RETURN_POINTER(bins);

	confidence = PG_GETARG_FLOAT8(1);
	nw_check_confidence(confidence);
	nw_bins_add(bins, confidence, PG_GETARG_BOOL(2));
	PG_RETURN_POINTER(bins);
}

/* nw_ece_combine(internal, internal) */
Datum
nw_ece_combine(PG_FUNCTION_ARGS)
{
	NwBins *bins;
	NwBins *other;

	if (PG_ARGISNULL(1))
	{
		if (PG_ARGISNULL(0))
			PG_RETURN_NULL();
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	}
	other = (NwBins *) PG_GETARG_POINTER(1);
	bins = PG_ARGISNULL(0) ? make_bins(fcinfo, (int) other->n) : (NwBins *) PG_GETARG_POINTER(0);
	nw_check_same_bins(bins->n, other->n);
	nw_bins_merge(bins, other);
	PG_RETURN_POINTER(bins);
}

/* nw_ece_serialize(internal) returns bytea */
Datum
nw_ece_serialize(PG_FUNCTION_ARGS)
{
	NwBins *bins = (NwBins *) PG_GETARG_POINTER(0);
	Size size = nw_bins_size((int) bins->n);
	bytea *result = palloc(VARHDRSZ + size);

	/* both ends are processes of one server: no byte order to mind */
	SET_VARSIZE(result, VARHDRSZ + size);
	memcpy(VARDATA(result), bins, size);
	PG_RETURN_BYTEA_P(result);
}

/* nw_ece_deserialize(bytea, internal) returns internal */
Datum
nw_ece_deserialize(PG_FUNCTION_ARGS)
{
	bytea *serialized = PG_GETARG_BYTEA_PP(0);
	Size size = VARSIZE_ANY_EXHDR(serialized);

	(void) nw_aggregate_context(fcinfo);
	if (!nw_bins_are_valid(VARDATA_ANY(serialized), size))
		ereport(ERROR, (errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
		                errmsg("invalid state of aggregate")));
	PG_RETURN_POINTER(memcpy(palloc(size), VARDATA_ANY(serialized), size));
}

/* Return a measure of all rows; NULL where there are none. */
static Datum
finish(FunctionCallInfo fcinfo, double (*measure)(const NwBins *bins))
{
	NwBins *bins = PG_ARGISNULL(0) ? NULL : (NwBins *) PG_GETARG_POINTER(0);

	if (bins == NULL || nw_bins_count(bins) == 0)
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(measure(bins));
}

/* nw_ece_final(internal) returns float8 */
Datum
nw_ece_final(PG_FUNCTION_ARGS)
{
	return finish(fcinfo, nw_bins_ece);
}

/* nw_mce_final(internal) returns float8 */
Datum
nw_mce_final(PG_FUNCTION_ARGS)
{
	return finish(fcinfo, nw_bins_mce);
}
