/*
 * sql/weights.c
 *		Name the supports that made a prediction: nw_weights.
 */
#include "postgres.h"

#include "rows.h"
#include "sql/args.h"

/*
 * nw_weights(query, support text, top int, classes text[], exclude text[])
 * returns table (support_id text, label text, distance float8, weight float8)
 */
static Datum
nw_weights(FunctionCallInfo fcinfo, NwQueryForm form)
{
	ReturnSetInfo *rows;
	NwCall call;
	NwTally *tally;
	int top = nw_top_argument(fcinfo, 2);

	rows = nw_rows_begin(fcinfo);
	if (!nw_call_arguments(&call, fcinfo, form, 1))
		return (Datum) 0;
	call.top = top;
	nw_classes_argument(&call, fcinfo, 3);
	nw_exclude_argument(&call, fcinfo, 4);

	tally = nw_call_tally(&call);
	for (int i = 0; i < tally->heaviest.n; i++)
	{
		const NwHeavy *item = &tally->heaviest.item[i];
		NwScaled term = nw_scaled_exp(item->score);
		bool nulls[4] = {false};
		Datum values[4] = {nw_text_or_null(item->id, &nulls[0]),
		                   nw_bytes_datum(tally->labels->text[item->class]),
		                   Float8GetDatum(nw_query_distance(&tally->query, item->measure)),
		                   Float8GetDatum(nw_scaled_ratio(term, tally->verdict.total))};

		nw_rows_put(rows, values, nulls);
	}
	return (Datum) 0;
}

NW_QUERY_FUNCTION(nw_weights);
