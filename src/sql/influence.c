/*
 * sql/influence.c
 *		Name the supports that helped and harmed a prediction: nw_influence.
 */
#include "postgres.h"

#include "math/simd/simd.h"
#include "rows.h"
#include "sql/args.h"
#include "sql/influence.h"
#include "sql/shared_rows.h"

PG_FUNCTION_INFO_V1(nw_influence);

/*
 * How much the loss of a query would grow without a support.  The tally keeps
 * removable masses, and truth_class has support.
 */
double
nw_item_influence(const NwTally *tally, const NwHeavy *item, int truth_class)
{
	NwScaled others = {0, 0};
	NwScaled rest;
	double bin;
	uint64_t hi;
	uint64_t lo;

	for (int i = 0; i < tally->verdict.n; i++)
	{
		if (tally->verdict.class[i] != item->class)
		{
			NwScaled both[2] = {others, tally->verdict.value[i]};

			others = nw_scaled_sum(both, 2);
		}
	}
	nw_simd->exp_split(&item->score, 1, &bin, &hi, &lo);
	rest = nw_removable_without(&tally->removable[item->class], bin, hi, lo);
	return nw_influence_log(item->class == truth_class, nw_scaled_exp(item->score), rest, others);
}

/* Return the supports of one list, most influential first. */
static void
put_items(ReturnSetInfo *rows, const NwTally *tally, const NwHeaviest *list, int truth_class,
          const char *effect)
{
	for (int i = 0; i < list->n; i++)
	{
		const NwHeavy *item = &list->item[i];
		bool nulls[7] = {false};
		Datum values[7] = {
			nw_text_or_null(item->id, &nulls[0]),
			nw_bytes_datum(tally->labels->text[item->class]),
			Float8GetDatum(nw_query_distance(&tally->query, item->measure)),
			Float8GetDatum(nw_tally_weight(tally, item)),
			Float8GetDatum(truth_class < 0 ? 0 : nw_item_influence(tally, item, truth_class)),
			CStringGetTextDatum(effect),
			Int32GetDatum(i + 1)};

		/* a truth without support has no loss to change */
		nulls[4] = nulls[5] = truth_class < 0;
		nw_rows_put(rows, values, nulls);
	}
}

/*
 * nw_influence(query, truth text, support text, top int, classes, exclude,
 *				empty_ok boolean)
 * returns table (support_id text, label text, distance float8, weight float8,
 *				  influence float8, effect text, rank int)
 */
Datum
nw_influence(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rows;
	NwCall call;
	NwTally *tally;
	int top = nw_top_argument(fcinfo, 3);
	int truth_class;

	rows = nw_rows_begin(fcinfo);
	if (!nw_call_arguments(&call, fcinfo, 2) || PG_ARGISNULL(1))
		return (Datum) 0;
	call.truth = nw_bytes_of_varlena(PG_GETARG_DATUM(1));
	call.by_truth = true;
	call.top = top;
	nw_classes_argument(&call, fcinfo, 4);
	nw_exclude_argument(&call, fcinfo, 5);
	nw_empty_argument(&call, fcinfo, 6);

	tally = nw_call_tally(&call);
	if (tally == NULL)
		return (Datum) 0;
	nw_warn_of_own_row(fcinfo, &call, tally);
	truth_class = nw_labels_find_text(tally->labels, call.truth);
	if (nw_verdict_find(&tally->verdict, truth_class) < 0)
		truth_class = -1;
	put_items(rows, tally, &tally->heaviest, truth_class, "helpful");
	put_items(rows, tally, &tally->heaviest_others, truth_class, "harmful");
	return (Datum) 0;
}
