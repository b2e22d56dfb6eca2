/*
 * sql/weights.c
 *		Name the supports that made a prediction: nw_weights.
 */
#include "postgres.h"

#include "funcapi.h"
#include "utils/builtins.h"

#include "sql/args.h"

/*
 * nw_weights(query, support text, top int, classes text[], exclude text[])
 * returns table (support_id text, label text, distance float8, weight float8)
 */
static Datum
nw_weights(FunctionCallInfo fcinfo, NwQueryForm form)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	NwCall call;
	NwTally *tally;
	int top = nw_top_argument(fcinfo, 2);

	nw_begin_rows(fcinfo);
	if (!nw_call_init(&call, fcinfo, form, 1))
		return (Datum) 0;
	call.top = top;
	nw_call_classes(&call, fcinfo, 3);
	nw_call_exclude(&call, fcinfo, 4);

	tally = nw_call_tally(&call);
	for (int i = 0; i < tally->top.n; i++)
	{
		const NwHeavy *item = &tally->top.item[i];
		NwScaled term = nw_scaled_exp(item->score);
		Datum values[4] = {item->id ? CStringGetTextDatum(item->id) : (Datum) 0,
		                   nw_bytes_datum(tally->labels->text[item->class]),
		                   Float8GetDatum(nw_query_distance(&tally->query, item->measure)),
		                   Float8GetDatum(nw_scaled_ratio(term, tally->verdict.total))};
		bool nulls[4] = {item->id == NULL, false, false, false};

		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

NW_QUERY_FUNCTION(nw_weights);
