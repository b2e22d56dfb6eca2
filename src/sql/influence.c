/*
 * sql/influence.c
 *		Name the supports that helped and harmed a prediction: nw_influence.
 */
#include "postgres.h"

#include "funcapi.h"
#include "utils/builtins.h"

#include "compat.h"
#include "math/simd/simd.h"
#include "sql/args.h"
#include "sql/influence.h"

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
put_items(ReturnSetInfo *result, const NwTally *tally, const NwHeaviest *top, int truth_class,
          const char *effect)
{
	for (int i = 0; i < top->n; i++)
	{
		const NwHeavy *item = &top->item[i];
		Datum values[6] = {
			item->id ? CStringGetTextDatum(item->id) : (Datum) 0,
			nw_bytes_datum(tally->labels->text[item->class]),
			Float8GetDatum(nw_query_distance(&tally->query, item->measure)),
			Float8GetDatum(nw_scaled_ratio(nw_scaled_exp(item->score), tally->verdict.total)),
			Float8GetDatum(truth_class < 0 ? 0 : nw_item_influence(tally, item, truth_class)),
			CStringGetTextDatum(effect)};
		bool nulls[6] = {false};

		nulls[0] = item->id == NULL;

		/* a truth without support has no loss to change */
		nulls[4] = nulls[5] = truth_class < 0;
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
}

/*
 * nw_influence(query, truth text, support text, top int, classes text[],
 *				exclude text[])
 * returns table (support_id text, label text, distance float8, weight float8,
 *				  influence float8, effect text)
 */
static Datum
nw_influence(FunctionCallInfo fcinfo, NwQueryForm form)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	NwCall call;
	NwTally *tally;
	int top = nw_top_argument(fcinfo, 3);
	int truth_class;
	text *truth;

	nw_begin_rows(fcinfo);
	if (!nw_call_init(&call, fcinfo, form, 2) || PG_ARGISNULL(1))
		return (Datum) 0;
	truth = PG_GETARG_TEXT_PP(1);
	call.truth.data = VARDATA_ANY(truth);
	call.truth.len = VARSIZE_ANY_EXHDR(truth);
	call.by_truth = true;
	call.top = top;
	nw_call_classes(&call, fcinfo, 4);
	nw_call_exclude(&call, fcinfo, 5);

	tally = nw_call_tally(&call);
	truth_class = nw_labels_find_text(tally->labels, call.truth);
	if (nw_verdict_find(&tally->verdict, truth_class) < 0)
		truth_class = -1;
	put_items(result, tally, &tally->top, truth_class, "helpful");
	put_items(result, tally, &tally->others, truth_class, "harmful");
	return (Datum) 0;
}

NW_QUERY_FUNCTION(nw_influence);
