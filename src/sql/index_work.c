/*
 * sql/index_work.c
 *		Show how an nw index finds a label: nw_index_work.
 */
#include "postgres.h"

#include "rows.h"
#include "sql/args.h"

PG_FUNCTION_INFO_V1(nw_index_work);

/*
 * nw_index_work(query, support text, classes text[])
 * returns one row: label text, engine text, settled_by text, lists bigint,
 * lists_pruned bigint, supports bigint, by_list bigint, by_code bigint,
 * exact bigint, pages bigint, heap_checks bigint, reason text
 */
Datum
nw_index_work(PG_FUNCTION_ARGS)
{
	NwCall call;
	NwSearchWork work;
	TupleDesc desc;
	Datum values[12];
	bool nulls[12] = {false};
	const char *reason;

	if (!nw_call_arguments(&call, fcinfo, 1))
		PG_RETURN_NULL();
	nw_classes_argument(&call, fcinfo, 2);
	desc = nw_row_type(fcinfo);
	values[0] = nw_bytes_datum(nw_call_index_work(&call, &work, &reason));
	values[1] = CStringGetTextDatum(reason ? "executor" : "index");
	values[2] = CStringGetTextDatum(work.exact > 0     ? "exact"
	                                : work.by_code > 0 ? "codes"
	                                                   : "lists");
	values[3] = Int64GetDatum(work.lists);
	values[4] = Int64GetDatum(work.lists_pruned);
	values[5] = Int64GetDatum(work.supports);
	values[6] = Int64GetDatum(work.by_list);
	values[7] = Int64GetDatum(work.by_code);
	values[8] = Int64GetDatum(work.exact);
	values[9] = Int64GetDatum(work.reading.pages);
	values[10] = Int64GetDatum(work.reading.heap_checks);
	for (int i = 2; i < 11 && reason; i++)
		nulls[i] = true;
	values[11] = nw_text_or_null(reason, &nulls[11]);
	return nw_row_datum(desc, values, nulls);
}
