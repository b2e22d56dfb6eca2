/*
 * sql/predict.c
 *		Predict the class of a query: nw_predict, nw_classify and
 *		nw_predict_proba.
 */
#include "postgres.h"

#include "rows.h"
#include "sql/args.h"

PG_FUNCTION_INFO_V1(nw_predict);
PG_FUNCTION_INFO_V1(nw_classify);
PG_FUNCTION_INFO_V1(nw_predict_proba);

/*
 * nw_predict(query, support text, classes, exclude, min_confidence float8,
 *			  empty_ok boolean, min_typicality float8) returns text
 */
Datum
nw_predict(PG_FUNCTION_ARGS)
{
	NwCall call;
	NwTally *tally;
	NwBytes label;
	double min_confidence;
	double min_typicality;
	int best;

	if (!nw_call_arguments(&call, fcinfo, 1))
		PG_RETURN_NULL();
	nw_classes_argument(&call, fcinfo, 2);
	nw_exclude_argument(&call, fcinfo, 3);
	min_confidence = nw_confidence_argument(fcinfo, 4);
	nw_empty_argument(&call, fcinfo, 5);
	min_typicality = nw_typicality_argument(&call, fcinfo, 6);
	if (min_confidence == 0 && min_typicality == 0)
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
	if (nw_verdict_probability(&tally->verdict, best) < min_confidence ||
	    (min_typicality > 0 && nw_tally_typicality(tally) < min_typicality))
		PG_RETURN_NULL();
	return nw_bytes_datum(nw_tally_label(tally, best));
}

/*
 * nw_classify(query, support text, classes, exclude, min_confidence float8,
 *			   empty_ok boolean, min_typicality float8, OUT label text,
 *			   OUT confidence float8, OUT typicality float8)
 */
Datum
nw_classify(PG_FUNCTION_ARGS)
{
	NwCall call;
	NwTally *tally;
	TupleDesc desc;
	Datum values[3];
	bool nulls[3] = {false};
	double min_confidence;
	double min_typicality;
	double confidence;
	double typicality;
	int best;

	if (!nw_call_arguments(&call, fcinfo, 1))
		PG_RETURN_NULL();
	nw_classes_argument(&call, fcinfo, 2);
	nw_exclude_argument(&call, fcinfo, 3);
	min_confidence = nw_confidence_argument(fcinfo, 4);
	nw_empty_argument(&call, fcinfo, 5);
	min_typicality = nw_typicality_argument(&call, fcinfo, 6);
	call.typicality = true;
	desc = nw_row_type(fcinfo);

	tally = nw_call_tally(&call);
	if (tally == NULL)
		PG_RETURN_NULL();
	best = nw_verdict_winner(&tally->verdict);
	confidence = nw_verdict_probability(&tally->verdict, best);
	typicality = tally->typical ? nw_tally_typicality(tally) : 0;
	values[0] = nw_bytes_datum(nw_tally_label(tally, best));
	values[1] = Float8GetDatum(confidence);
	values[2] = Float8GetDatum(typicality);
	nulls[0] = confidence < min_confidence || typicality < min_typicality;
	nulls[2] = tally->typical == NULL;
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
