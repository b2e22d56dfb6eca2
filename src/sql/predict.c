/*
 * sql/predict.c
 *		Predict the class of a query: nw_predict, nw_classify,
 *		nw_predict_proba and nw_regress.
 */
#include "postgres.h"

#include <limits.h>
#include <math.h>

#include "rows.h"
#include "sql/args.h"

/* Read the min_confidence argument; 0 where NULL. */
static double
confidence_argument(FunctionCallInfo fcinfo, int arg)
{
	double confidence;

	if (PG_ARGISNULL(arg))
		return 0;
	confidence = PG_GETARG_FLOAT8(arg);
	if (!(confidence >= 0 && confidence <= 1))
		ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
		                errmsg("min_confidence must be between 0 and 1, not %g", confidence)));
	return confidence;
}

/*
 * nw_predict(query, support text, classes text[], exclude text[],
 *			  min_confidence float8) returns text
 */
static Datum
nw_predict(FunctionCallInfo fcinfo, NwQueryForm form)
{
	NwCall call;
	NwTally *tally;
	double min_confidence;
	int best;

	if (!nw_call_arguments(&call, fcinfo, form, 1))
		PG_RETURN_NULL();
	nw_classes_argument(&call, fcinfo, 2);
	nw_exclude_argument(&call, fcinfo, 3);
	min_confidence = confidence_argument(fcinfo, 4);
	if (min_confidence == 0)
		return nw_bytes_datum(nw_call_label(&call));
	tally = nw_call_tally(&call);
	best = nw_verdict_winner(&tally->verdict);
	if (nw_verdict_probability(&tally->verdict, best) < min_confidence)
		PG_RETURN_NULL();
	return nw_bytes_datum(nw_tally_label(tally, best));
}

NW_QUERY_FUNCTION(nw_predict);

/*
 * nw_classify(query, support text, classes text[], exclude text[],
 *			   OUT label text, OUT confidence float8)
 */
static Datum
nw_classify(FunctionCallInfo fcinfo, NwQueryForm form)
{
	NwCall call;
	NwTally *tally;
	TupleDesc desc;
	Datum values[2];
	bool nulls[2] = {false, false};
	int best;

	if (!nw_call_arguments(&call, fcinfo, form, 1))
		PG_RETURN_NULL();
	nw_classes_argument(&call, fcinfo, 2);
	nw_exclude_argument(&call, fcinfo, 3);
	desc = nw_row_type(fcinfo);

	tally = nw_call_tally(&call);
	best = nw_verdict_winner(&tally->verdict);
	values[0] = nw_bytes_datum(nw_tally_label(tally, best));
	values[1] = Float8GetDatum(nw_verdict_probability(&tally->verdict, best));
	return nw_row_datum(desc, values, nulls);
}

NW_QUERY_FUNCTION(nw_classify);

/* Put the more probable class first, equals in byte order, for qsort_arg. */
static int
compare_probability(const void *a, const void *b, void *arg)
{
	return nw_verdict_rank(arg, *(const int *) a, *(const int *) b);
}

/*
 * nw_predict_proba(query, support text, classes text[], exclude text[],
 *					top int) returns table (label text, probability float8)
 */
static Datum
nw_predict_proba(FunctionCallInfo fcinfo, NwQueryForm form)
{
	ReturnSetInfo *rows;
	NwCall call;
	NwTally *tally;
	int top = nw_top_argument(fcinfo, 4);
	int *rank;

	rows = nw_rows_begin(fcinfo);
	if (!nw_call_arguments(&call, fcinfo, form, 1))
		return (Datum) 0;
	nw_classes_argument(&call, fcinfo, 2);
	nw_exclude_argument(&call, fcinfo, 3);

	tally = nw_call_tally(&call);
	rank = palloc_extended(tally->verdict.n * sizeof(int), MCXT_ALLOC_HUGE);
	for (int i = 0; i < tally->verdict.n; i++)
		rank[i] = i;
	qsort_arg(rank, tally->verdict.n, sizeof(int), compare_probability, &tally->verdict);
	for (int i = 0; i < tally->verdict.n && i < top; i++)
	{
		Datum values[2] = {nw_bytes_datum(nw_tally_label(tally, rank[i])),
		                   Float8GetDatum(nw_verdict_probability(&tally->verdict, rank[i]))};
		bool nulls[2] = {false, false};

		nw_rows_put(rows, values, nulls);
	}
	return (Datum) 0;
}

NW_QUERY_FUNCTION(nw_predict_proba);

/* Read a label as a finite number. */
static double
label_number(NwBytes label, const char *set)
{
	char *text = pnstrdup(label.data, label.len);
	char *end;
	double number;

	errno = 0;
	number = strtod(text, &end);
	if (end == text || *end != '\0' || !isfinite(number))
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
		                errmsg("label \"%s\" of set \"%s\" is not a finite number", text, set),
		                errhint("nw_regress needs a set with numeric labels.")));
	pfree(text);
	return number;
}

/*
 * nw_regress(query, support text, exclude text[]) returns float8
 *
 * The mean of the labels under the class probabilities, added up in the byte
 * order of the labels like everything else.
 */
static Datum
nw_regress(FunctionCallInfo fcinfo, NwQueryForm form)
{
	NwCall call;
	NwTally *tally;
	double mean = 0;

	if (!nw_call_arguments(&call, fcinfo, form, 1))
		PG_RETURN_NULL();
	nw_exclude_argument(&call, fcinfo, 2);

	tally = nw_call_tally(&call);
	for (int i = 0; i < tally->verdict.n; i++)
		mean += nw_verdict_probability(&tally->verdict, i) *
		        label_number(nw_tally_label(tally, i), call.support);
	PG_RETURN_FLOAT8(mean);
}

NW_QUERY_FUNCTION(nw_regress);
