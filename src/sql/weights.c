/*
 * sql/weights.c
 *		Name the supports that made a prediction: nw_weights.
 */
#include "postgres.h"

#include "rows.h"
#include "sql/args.h"
#include "sql/shared_rows.h"

PG_FUNCTION_INFO_V1(nw_weights);

/*
 * nw_weights(query, support text, top int, classes, exclude, empty_ok boolean)
 * returns table (support_id text, label text, distance float8, weight float8,
 *				  rank int, member text)
 */
Datum
nw_weights(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rows;
	NwCall call;
	NwTally *tally;
	int top = nw_top_argument(fcinfo, 2);

	rows = nw_rows_begin(fcinfo);
	if (!nw_call_arguments(&call, fcinfo, 1))
		return (Datum) 0;
	call.top = top;
	nw_classes_argument(&call, fcinfo, 3);
	nw_exclude_argument(&call, fcinfo, 4);
	nw_empty_argument(&call, fcinfo, 5);

	tally = nw_call_tally(&call);
	if (tally == NULL)
		return (Datum) 0;
	nw_warn_of_own_row(fcinfo, &call, tally);
	for (int i = 0; i < tally->heaviest.n; i++)
	{
		const NwHeavy *item = &tally->heaviest.item[i];
		bool nulls[6] = {false};
		Datum values[6] = {nw_text_or_null(item->id, &nulls[0]),
		                   nw_bytes_datum(tally->labels->text[item->class]),
		                   Float8GetDatum(nw_tally_distance(tally, item)),
		                   Float8GetDatum(nw_tally_weight(tally, item)),
		                   Int32GetDatum(i + 1),
		                   nw_text_or_null(nw_tally_member(tally, item), &nulls[5])};

		nw_rows_put(rows, values, nulls);
	}
	return (Datum) 0;
}
