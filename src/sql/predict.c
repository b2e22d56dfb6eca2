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

PG_FUNCTION_INFO_V1(nw_predict);
PG_FUNCTION_INFO_V1(nw_classify);
PG_FUNCTION_INFO_V1(nw_predict_proba);
PG_FUNCTION_INFO_V1(nw_regress);

/*
 * nw_predict(query, support text, classes, exclude, min_confidence float8,
 *			  empty_ok boolean) returns text
 */
Datum
nw_predict(PG_FUNCTION_ARGS)
{
	NwCall call;
	NwTally *tally;
	NwBytes label;
	double min_confidence;
	int best;

	if (!nw_call_arguments(&call, fcinfo, 1))
		PG_RETURN_NULL();
	nw_classes_argument(&call, fcinfo, 2);
	nw_exclude_argument(&call, fcinfo, 3);
	min_confidence = nw_confidence_argument(fcinfo, 4);
	nw_empty_argument(&call, fcinfo, 5);
	if (min_confidence == 0)
	{
		label = nw_call_label(&call);
		if (label.data == NULL)
			PG_RETURN_NULL();
		return nw_bytes_datum(label);
	}
	tally = nw_call_tally(&call);
	if (tally == NULL)
		PG_RETURN_NULL();
	best = nw_verdict_winner(&tally->verdict);
	if (nw_verdict_probability(&tally->verdict, best) < min_confidence)
		PG_RETURN_NULL();
	return nw_bytes_datum(nw_tally_label(tally, best));
}

/*
 * nw_classify(query, support text, classes, exclude, min_confidence float8,
 *			   empty_ok boolean, OUT label text, OUT confidence float8)
 */
Datum
nw_classify(PG_FUNCTION_ARGS)
{
	NwCall call;
	NwTally *tally;
	TupleDesc desc;
	Datum values[2];
	bool nulls[2] = {false, false};
	double min_confidence;
	double confidence;
	int best;

	if (!nw_call_arguments(&call, fcinfo, 1))
		PG_RETURN_NULL();
	nw_classes_argument(&call, fcinfo, 2);
	nw_exclude_argument(&call, fcinfo, 3);
	min_confidence = nw_confidence_argument(fcinfo, 4);
	nw_empty_argument(&call, fcinfo, 5);
	desc = nw_row_type(fcinfo);

	tally = nw_call_tally(&call);
	if (tally == NULL)
		PG_RETURN_NULL();
	best = nw_verdict_winner(&tally->verdict);
	confidence = nw_verdict_probability(&tally->verdict, best);
	values[0] = nw_bytes_datum(nw_tally_label(tally, best));
	values[1] = Float8GetDatum(confidence);
	nulls[0] = confidence < min_confidence;
	return nw_row_datum(desc, values, nulls);
}

/*
 * nw_predict_proba(query, support text, classes, exclude, top int, empty_ok boolean)
 * returns table (label text, probability float8, rank int)
 */
Datum
nw_predict_proba(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rows;
	NwCall call;
	NwTally *tally;
	int top = nw_top_argument(fcinfo, 4);
	int *ranking;

	rows = nw_rows_begin(fcinfo);
	if (!nw_call_arguments(&call, fcinfo, 1))
		return (Datum) 0;
	nw_classes_argument(&call, fcinfo, 2);
	nw_exclude_argument(&call, fcinfo, 3);
	nw_empty_argument(&call, fcinfo, 5);

	tally = nw_call_tally(&call);
	if (tally == NULL)
		return (Datum) 0;
	ranking = nw_tally_ranking(tally);
	for (int i = 0; i < tally->verdict.n && i < top; i++)
	{
		int place = ranking[i];
		Datum values[3] = {nw_bytes_datum(nw_tally_label(tally, place)),
		                   Float8GetDatum(nw_verdict_probability(&tally->verdict, place)),
		                   Int32GetDatum(i + 1)};
		bool nulls[3] = {false};

		nw_rows_put(rows, values, nulls);
	}
	return (Datum) 0;
}

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
 * nw_regress(query, support text, exclude, empty_ok boolean) returns float8
 *
 * The mean of the labels under the classes' shares of the mass, added up in the byte
 * order of the labels like everything else.
 */
Datum
nw_regress(PG_FUNCTION_ARGS)
{
	NwCall call;
	NwTally *tally;
	double mean = 0;

	if (!nw_call_arguments(&call, fcinfo, 1))
		PG_RETURN_NULL();
	nw_exclude_argument(&call, fcinfo, 2);
	nw_empty_argument(&call, fcinfo, 3);
	call.shares = true;

	tally = nw_call_tally(&call);
	if (tally == NULL)
		PG_RETURN_NULL();
	for (int i = 0; i < tally->verdict.n; i++)
		mean += nw_verdict_share(&tally->verdict, i) *
		        label_number(nw_tally_label(tally, i), call.support);
	PG_RETURN_FLOAT8(mean);
}
