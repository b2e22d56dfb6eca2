/*
 * predict/mixture.c
 *		Put the answers of a mixture's members together.
 *
 * A class is as probable as its members say on average, each with its share.  The
 * products are added up in the order of the members, and the classes in byte order,
 * without underflow: one answer, to the last bit, however the members were asked.
 * The numbers of a member that answers alone are taken as they are, and so the
 * label and the probabilities are that member's own.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"

#include "grow.h"
#include "predict/mixture.h"

/* The classes of a member, numbered among those of all. */
typedef struct Numbers
{
	int *class; /* [allocated] by the member's own number; -1 where not met */
	int allocated;
} Numbers;

/* What is kept from one query to the next. */
struct NwMixture
{
	MemoryContext mcxt;
	const NwSet *set;
	NwLabels *labels; /* of all members */
	Numbers *numbers; /* [set->nmembers] */
	NwScaled *sum;    /* [allocated] by class, of the answer at hand */
	int allocated;
};

/* Make ready for answers of the members of a set. */
NwMixture *
nw_mixture_create(MemoryContext mcxt, const NwSet *set)
{
	NwMixture *mixture = MemoryContextAllocZero(mcxt, sizeof(NwMixture));

	mixture->mcxt = mcxt;
	mixture->set = set;
	mixture->labels = nw_labels_create(mcxt, TEXTOID);
	mixture->numbers = MemoryContextAllocZero(mcxt, set->nmembers * sizeof(Numbers));
	return mixture;
}

/* The number of a member's class among those of all. */
static int
class_of(NwMixture *mixture, int member, const NwLabels *labels, int class)
{
	Numbers *numbers = &mixture->numbers[member];
	int old = numbers->allocated;

	NW_RESERVE(mixture->mcxt, numbers->class, numbers->allocated, class + 1);
	for (int i = old; i < numbers->allocated; i++)
		numbers->class[i] = -1;
	if (numbers->class[class] < 0)
		numbers->class[class] = nw_labels_add_text(mixture->labels, labels->text[class]);
	return numbers->class[class];
}

/* Give the items of a member's list the classes of the mixture. */
static void
number_items(NwMixture *mixture, int member, int place, const NwTally *answer, NwHeaviest *list)
{
	for (int i = 0; i < list->n; i++)
	{
		list->item[i].class = class_of(mixture, member, answer->labels, list->item[i].class);
		list->item[i].member = place;
	}
}

/* Begin an answer that a context holds. */
void
nw_mixture_begin(const NwMixture *mixture, NwTally *tally, MemoryContext mcxt)
{
	memset(tally, 0, sizeof(NwTally));
	tally->labels = mixture->labels;
	tally->temper = mixture->set->temper;
	tally->member = MemoryContextAlloc(mcxt, mixture->set->nmembers * sizeof(NwMember));
}

/*
 * Take the answer of a member, by its place in the set; NULL, or without a class, where it
 * has no support.  Its labels may go then: they can be those of packed rows that another
 * member's take the place of.
 */
void
nw_mixture_take(NwMixture *mixture, NwTally *tally, int i, NwTally *answer, MemoryContext mcxt)
{
	NwMember *member = &tally->member[tally->nmembers];
	int old = mixture->allocated;

	if (answer == NULL || answer->verdict.n == 0)
		return;
	member->name = mixture->set->members[i];
	member->share = nw_scaled_of(mixture->set->shares[i]);
	member->tally = answer;
	member->class = MemoryContextAllocHuge(mcxt, answer->verdict.n * sizeof(int));
	for (int c = 0; c < answer->verdict.n; c++)
		member->class[c] = class_of(mixture, i, answer->labels, answer->verdict.class[c]);
	number_items(mixture, i, tally->nmembers, answer, &answer->heaviest);
	number_items(mixture, i, tally->nmembers, answer, &answer->heaviest_others);
	tally->nmembers++;
	NW_RESERVE(mixture->mcxt, mixture->sum, mixture->allocated, mixture->labels->n);
	for (int c = old; c < mixture->allocated; c++)
		mixture->sum[c] = (NwScaled) {0, 0};
	CHECK_FOR_INTERRUPTS();
}

/* Add what a member says of each class. */
static void
add_member(NwMixture *mixture, const NwMember *member, bool shares)
{
	const NwVerdict *verdict = &member->tally->verdict;

	for (int i = 0; i < verdict->n; i++)
	{
		NwScaled *sum = &mixture->sum[member->class[i]];
		NwScaled both[2] = {
			*sum, nw_scaled_product(member->share, nw_verdict_scaled(verdict, i, shares))};

		*sum = nw_scaled_sum(both, 2);
	}
	CHECK_FOR_INTERRUPTS();
}

/* Take the classes that were added, in byte order, and forget the sums. */
static void
take_sums(NwMixture *mixture, NwVerdict *verdict)
{
	const int *order = nw_labels_order(mixture->labels);

	for (int i = 0; i < mixture->labels->n; i++)
	{
		NwScaled *sum = &mixture->sum[order[i]];

		if (sum->fraction == 0)
			continue;
		verdict->class[verdict->n] = order[i];
		verdict->value[verdict->n++] = *sum;
		*sum = (NwScaled) {0, 0};
	}
	verdict->total = nw_scaled_sum(verdict->value, verdict->n);
}

/* Take the answer of the only member that has one, as it is. */
static void
take_member(const NwMember *member, NwVerdict *verdict)
{
	const NwVerdict *from = &member->tally->verdict;

	verdict->n = from->n;
	verdict->total = from->total;
	memcpy(verdict->class, member->class, from->n * sizeof(int));
	memcpy(verdict->value, from->value, from->n * sizeof(NwScaled));
}

/*
 * Put the answers that were taken together; false where there are none.  shares leaves the
 * members' tempers out.
 */
bool
nw_mixture_close(NwMixture *mixture, NwTally *tally, bool shares, MemoryContext mcxt)
{
	NwVerdict *verdict = &tally->verdict;
	double temper = tally->temper;
	Size n = (Size) mixture->labels->n;

	if (tally->nmembers == 0)
		return false;
	verdict->class = MemoryContextAllocHuge(mcxt, n * sizeof(int));
	verdict->value = MemoryContextAllocHuge(mcxt, n * sizeof(NwScaled));
	if (tally->nmembers == 1)
	{
		take_member(&tally->member[0], verdict);
		temper *= tally->member[0].tally->temper;
	}
	else
	{
		for (int i = 0; i < tally->nmembers; i++)
			add_member(mixture, &tally->member[i], shares);
		take_sums(mixture, verdict);
	}
	nw_verdict_temper(verdict, temper);
	return true;
}

/* Lists of the members' heaviest supports, each with the heaviest first. */
typedef struct Merging
{
	const NwTally *tally;
	bool others; /* those not of the truth's class */
	int *next;   /* [nmembers] the first of each list that was not taken */
} Merging;

static const NwHeaviest *
list_of(const Merging *merging, int member)
{
	const NwTally *tally = merging->tally->member[member].tally;

	return merging->others ? &tally->heaviest_others : &tally->heaviest;
}

/*
 * Say whether an item comes before another, of an earlier member: of weights that are
 * too small for a double, the logarithms decide, then the labels.
 */
static bool
comes_before(const NwTally *tally, const NwHeavy *item, const NwHeavy *earlier)
{
	const NwHeavy *both[2] = {item, earlier};
	double weight[2];
	double log[2];

	for (int i = 0; i < 2; i++)
	{
		const NwMember *member = &tally->member[both[i]->member];

		weight[i] = nw_tally_weight(tally, both[i]);
		log[i] = nw_scaled_log_ratio(nw_scaled_exp(both[i]->score), member->tally->verdict.total) +
		         nw_scaled_log(member->share);
	}
	if (weight[0] != weight[1])
		return weight[0] > weight[1];
	if (weight[0] == 0 && log[0] != log[1])
		return log[0] > log[1];
	return nw_bytes_compare(tally->labels->text[item->class], tally->labels->text[earlier->class]) <
	       0;
}

/* Merge the members' lists of one kind, up to a number of items. */
static void
merge(NwTally *tally, NwHeaviest *heaviest, bool others, int limit)
{
	Merging merging = {.tally = tally, .others = others};

	merging.next = palloc0(tally->nmembers * sizeof(int));
	nw_heaviest_init(heaviest, limit, tally->labels, CurrentMemoryContext);
	while (heaviest->n < limit)
	{
		NwHeavy best = {.member = -1};

		for (int i = 0; i < tally->nmembers; i++)
		{
			const NwHeaviest *list = list_of(&merging, i);
			const NwHeavy *item = &list->item[merging.next[i]];

			if (merging.next[i] < list->n && (best.member < 0 || comes_before(tally, item, &best)))
				best = *item;
		}
		if (best.member < 0)
			break;
		merging.next[best.member]++;
		NW_RESERVE(heaviest->mcxt, heaviest->item, heaviest->allocated, heaviest->n + 1);
		heaviest->item[heaviest->n++] = best;
		CHECK_FOR_INTERRUPTS();
	}
	pfree(merging.next);
}

/*
 * List the heaviest supports of all members, so many; all that the members list where the
 * caller has an order of its own.
 */
void
nw_mixture_merge(NwTally *tally, int top, bool all)
{
	int limit = all ? PG_INT32_MAX : top;

	merge(tally, &tally->heaviest, false, limit);
	merge(tally, &tally->heaviest_others, true, limit);
}
