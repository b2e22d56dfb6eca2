/*
 * sql/influence.c
 *		Name the supports that helped and harmed a prediction: nw_influence.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "math/simd/simd.h"
#include "rows.h"
#include "sql/args.h"
#include "sql/influence.h"
#include "sql/shared_rows.h"

PG_FUNCTION_INFO_V1(nw_influence);

/* The mass of all classes of an answer but the one of a number. */
static NwScaled
mass_of_others(const NwTally *tally, int class)
{
	NwScaled others = {0, 0};

	for (int i = 0; i < tally->verdict.n; i++)
	{
		if (tally->verdict.class[i] != class)
		{
			NwScaled both[2] = {others, tally->verdict.value[i]};

			others = nw_scaled_sum(both, 2);
		}
	}
	return others;
}

/* The mass of a support's class, by its number in the answer, without it. */
static NwScaled
mass_without(const NwTally *tally, const NwHeavy *item, int class)
{
	double bin;
	uint64_t hi;
	uint64_t lo;

	nw_simd->exp_split(&item->score, 1, &bin, &hi, &lo);
	return nw_removable_without(&tally->removable[class], bin, hi, lo);
}

/* The number that a class of a mixture has in a member's answer, or -1. */
static int
class_in_member(const NwMember *member, int class)
{
	for (int i = 0; i < member->tally->verdict.n; i++)
	{
		if (member->class[i] == class)
			return member->tally->verdict.class[i];
	}
	return -1;
}

/* Add what a member, times its share, says of the truth and of all else. */
static void
add_member(NwInMixture *in, const NwMember *member, int truth_class)
{
	const NwTally *tally = member->tally;
	int class = class_in_member(member, truth_class);
	int place = nw_verdict_find(&tally->verdict, class);
	NwScaled doubt[2] = {in->doubt};
	NwScaled truth[2] = {in->truth};

	doubt[1] = nw_scaled_product(
		member->share, nw_scaled_quotient(mass_of_others(tally, class), tally->verdict.total));
	in->doubt = nw_scaled_sum(doubt, 2);
	if (place < 0)
		return;
	truth[1] = nw_scaled_product(
		member->share, nw_scaled_quotient(tally->verdict.value[place], tally->verdict.total));
	in->truth = nw_scaled_sum(truth, 2);
}

/* The same as below for a support of a mixture, where the truth has support in a member. */
static double
mixed_influence(const NwTally *tally, const NwHeavy *item, int truth_class)
{
	const NwMember *own = &tally->member[item->member];
	int class = class_in_member(own, item->class);
	int place = nw_verdict_find(&own->tally->verdict, class_in_member(own, truth_class));
	NwScaled truth = {0, 0};
	NwInMixture in = {.share = own->share};

	for (int i = 0; i < tally->nmembers; i++)
	{
		if (i != item->member)
			add_member(&in, &tally->member[i], truth_class);
	}
	if (place >= 0)
		truth = own->tally->verdict.value[place];
	return nw_influence_mixed(item->class == truth_class, nw_scaled_exp(item->score),
	                          mass_without(own->tally, item, class),
	                          mass_of_others(own->tally, class), truth, &in);
}

/*
 * How much the loss of a query would grow without a support.  The tally keeps
 * removable masses, and truth_class has support.
 */
double
nw_item_influence(const NwTally *tally, const NwHeavy *item, int truth_class)
{
	if (tally->nmembers > 0)
		return mixed_influence(tally, item, truth_class);
	return nw_influence_log(item->class == truth_class, nw_scaled_exp(item->score),
	                        mass_without(tally, item, item->class),
	                        mass_of_others(tally, item->class));
}

/* A support, and how much it matters. */
typedef struct Ranked
{
	const NwHeavy *heavy;
	double influence;
	int place; /* among the heaviest */
} Ranked;

/* Put what matters most first, equals as they were, for qsort. */
static int
compare_items(const void *a, const void *b)
{
	const Ranked *x = a;
	const Ranked *y = b;

	if (fabs(x->influence) != fabs(y->influence))
		return fabs(x->influence) > fabs(y->influence) ? -1 : 1;
	return x->place - y->place;
}

/*
 * The items of a list, most influential first.  These are the heaviest of a set, but not of
 * a mixture: the members have different truths.
 */
static Ranked *
rank_items(const NwTally *tally, const NwHeaviest *list, int truth_class)
{
	Ranked *items = palloc_extended(Max(list->n, 1) * sizeof(Ranked), MCXT_ALLOC_HUGE);

	for (int i = 0; i < list->n; i++)
	{
		const NwHeavy *heavy = &list->item[i];

		items[i] = (Ranked) {heavy, 0, i};
		if (truth_class >= 0)
			items[i].influence = nw_item_influence(tally, heavy, truth_class);
		CHECK_FOR_INTERRUPTS();
	}
	if (tally->nmembers > 0)
		qsort(items, list->n, sizeof(Ranked), compare_items);
	return items;
}

/* Return the supports of one list, most influential first. */
static void
put_items(ReturnSetInfo *rows, const NwCall *call, const NwTally *tally, const NwHeaviest *list,
          int truth_class, const char *effect)
{
	Ranked *items = rank_items(tally, list, truth_class);

	for (int i = 0; i < list->n && i < call->top; i++)
	{
		const NwHeavy *item = items[i].heavy;
		bool nulls[8] = {false};
		Datum values[8] = {nw_text_or_null(item->id, &nulls[0]),
		                   nw_bytes_datum(tally->labels->text[item->class]),
		                   Float8GetDatum(nw_tally_distance(tally, item)),
		                   Float8GetDatum(nw_tally_weight(tally, item)),
		                   Float8GetDatum(items[i].influence),
		                   CStringGetTextDatum(effect),
		                   Int32GetDatum(i + 1),
		                   nw_text_or_null(nw_tally_member(tally, item), &nulls[7])};

		/* a truth without support has no loss to change */
		nulls[4] = nulls[5] = truth_class < 0;
		nw_rows_put(rows, values, nulls);
	}
	pfree(items);
}

/*
 * nw_influence(query, truth text, support text, top int, classes, exclude,
 *				empty_ok boolean)
 * returns table (support_id text, label text, distance float8, weight float8,
 *				  influence float8, effect text, rank int, member text)
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
	call.shares = true;
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
	put_items(rows, &call, tally, &tally->heaviest, truth_class, "helpful");
	put_items(rows, &call, tally, &tally->heaviest_others, truth_class, "harmful");
	return (Datum) 0;
}
