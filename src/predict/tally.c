/*
 * predict/tally.c
 *		Add up the masses of classes, block by block.
 *
 * Where a block of measured supports comes from is up to the pass: from here on
 * all are treated alike.  Masses do not depend on the order of their terms, so
 * an answer does not tell how its rows were read.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "grow.h"
#include "math/simd/simd.h"
#include "predict/tally.h"

/* Make an answer ready for a set of this kernel, these temperatures and labels. */
NwTallying *
nw_tally_begin(const NwCall *call, NwKernel kernel, double tau, double temper, NwLabels *labels)
{
	NwTallying *tallying = palloc(sizeof(NwTallying));
	NwTally *tally = palloc0(sizeof(NwTally));
	const NwVectorData *query = &call->query;

	/* the block is not worth clearing */
	memset(tallying, 0, offsetof(NwTallying, block));
	tallying->block.n = 0;
	tallying->call = call;
	tallying->mcxt = CurrentMemoryContext;
	tallying->tally = tally;
	tally->temper = temper;
	tally->labels = labels;
	nw_query_init(&tally->query, kernel, tau, query->x, query->dim,
	              palloc(query->dim * sizeof(double)));
	nw_heaviest_init(&tally->heaviest, call->top, labels, tallying->mcxt);
	nw_heaviest_init(&tally->heaviest_others, call->top, labels, tallying->mcxt);
	return tallying;
}

/* Have the nearest supports kept, to be compared with some distances; not where NULL. */
void
nw_tally_seek_nearest(NwTally *tally, const NwTypical *typical, MemoryContext mcxt)
{
	if (typical == NULL)
		return;
	tally->typical = typical;
	nw_nearest_init(&tally->nearest, tally->query.kernel, typical->k,
	                MemoryContextAlloc(mcxt, typical->k * sizeof(double)));
}

/* Complain about a query and a set of different dimensions. */
void
nw_report_dim(int query_dim, const char *set, int dim)
{
	ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
	                errmsg("query has %d dimensions, but set \"%s\" has %d", query_dim, set, dim)));
}

/* Complain about a set without rows to compare with, perhaps since some were left out. */
void
nw_report_no_support(const char *set, bool left_out)
{
	ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
	                errmsg("set \"%s\" has no support", set),
	                left_out ? errdetail("No row with an embedding and a label is left.")
	                         : errdetail("No row with an embedding and a label is visible.")));
}

/* Complain about a class that was asked for and has no support. */
void
nw_report_no_class(const char *set, NwBytes class)
{
	ereport(ERROR,
	        (errcode(ERRCODE_NO_DATA_FOUND),
	         errmsg("class \"%.*s\" has no support in set \"%s\"", class.len, class.data, set)));
}

/* Insist that rows have as many dimensions as the query. */
void
nw_tally_check_dim(const NwTallying *tallying, int dim)
{
	if (dim != tallying->call->query.dim)
		nw_report_dim(tallying->call->query.dim, tallying->call->support, dim);
}

/* Give every label met so far a mass; one that can do without a term where asked for. */
void
nw_tally_reserve(NwTally *tally, MemoryContext mcxt, bool removable)
{
	int old = tally->allocated;
	int allocated = old;

	if (tally->mass && tally->labels->n <= old)
		return;
	if (removable)
	{
		tally->removable =
			nw_grow(mcxt, tally->removable, &allocated, tally->labels->n, sizeof(NwRemovable));
		for (int i = old; i < allocated; i++)
			nw_removable_clear(&tally->removable[i]);
	}
	tally->mass = nw_grow(mcxt, tally->mass, &tally->allocated, tally->labels->n, sizeof(NwMass));
	for (int i = old; i < tally->allocated; i++)
		nw_mass_clear(&tally->mass[i]);
}

/* Say whether a class is among those the caller asked for. */
static bool
class_admitted(NwTallying *tallying, int class)
{
	int old = tallying->admitted_size;
	int8 *known;

	NW_RESERVE(tallying->mcxt, tallying->admitted, tallying->admitted_size, class + 1);
	if (tallying->admitted_size > old)
		memset(tallying->admitted + old, -1, tallying->admitted_size - old);
	known = &tallying->admitted[class];
	if (*known < 0)
		*known =
			nw_byteset_has(tallying->call->filter.admitted, tallying->tally->labels->text[class]);
	return *known != 0;
}

/* Say whether the caller leaves a row of the block out by its id. */
static bool
is_excluded(const NwTallying *tallying, int i)
{
	const NwByteSet *exclude = tallying->call->filter.exclude;
	const char *id;

	if (exclude == NULL)
		return false;
	id = tallying->block.id[i];
	return id && nw_byteset_has(exclude, nw_bytes_of_string(id));
}

/*
 * Offer the supports of the block to the list of the nearest: those of all classes, since
 * it is everything known that a query may be far from, not what was asked for.
 */
static void
offer_nearest(const NwTallying *tallying)
{
	const NwBlock *block = &tallying->block;
	NwNearest *nearest = &tallying->tally->nearest;

	for (int i = 0; i < block->n; i++)
	{
		if (nw_nearest_admits(nearest, block->measure[i]) && !is_excluded(tallying, i))
			nw_nearest_add(nearest, block->measure[i]);
	}
}

/* Leave out of the block what the caller's filter leaves out. */
static void
filter_block(NwTallying *tallying)
{
	const NwFilter *filter = &tallying->call->filter;
	NwBlock *block = &tallying->block;
	int kept = 0;

	if (filter->classes == NULL && filter->exclude == NULL)
		return;
	for (int i = 0; i < block->n; i++)
	{
		if (filter->classes && !class_admitted(tallying, block->class[i]))
			continue;
		if (is_excluded(tallying, i))
			continue;
		block->measure[kept] = block->measure[i];
		block->score[kept] = block->score[i];
		block->class[kept] = block->class[i];
		block->id[kept] = block->id[i];
		block->part[kept] = block->part[i];
		block->tid[kept] = block->tid[i];
		kept++;
	}
	block->n = kept;
}

/* Offer the supports of the block to the lists of the heaviest. */
static void
offer_heaviest(const NwTallying *tallying)
{
	const NwCall *call = tallying->call;
	const NwBlock *block = &tallying->block;
	NwTally *tally = tallying->tally;

	for (int i = 0; i < block->n; i++)
	{
		NwHeavy item = {.score = block->score[i],
		                .measure = block->measure[i],
		                .class = block->class[i],
		                .id = block->id[i],
		                .unnamed = tally->heaviest.namer != NULL};
		bool other = call->by_truth &&
		             nw_bytes_compare(tally->labels->text[block->class[i]], call->truth) != 0;

		if (item.unnamed)
		{
			item.part = block->part[i];
			item.tid = block->tid[i];
		}
		nw_heaviest_offer(other ? &tally->heaviest_others : &tally->heaviest, &item);
	}
}

/* Add the block to the answer, and make it empty. */
void
nw_tally_add_block(NwTallying *tallying)
{
	NwTally *tally = tallying->tally;
	NwBlock *block = &tallying->block;
	double bin[NW_BLOCK_ROWS];
	uint64_t hi[NW_BLOCK_ROWS];
	uint64_t lo[NW_BLOCK_ROWS];

	if (tally->nearest.k > 0)
		offer_nearest(tallying);
	filter_block(tallying);
	nw_tally_reserve(tally, tallying->mcxt, tallying->call->by_truth);
	nw_simd->exp_split(block->score, block->n, bin, hi, lo);
	if (tally->removable)
	{
		for (int i = 0; i < block->n; i++)
			nw_removable_add_run(&tally->removable[block->class[i]], 1, bin + i, hi + i, lo + i);
	}
	else
		nw_mass_scatter(tally->mass, block->class, block->n, bin, hi, lo);
	if (tallying->call->top > 0)
		offer_heaviest(tallying);
	block->n = 0;
	CHECK_FOR_INTERRUPTS();
}

/* Forget what was added. */
void
nw_tally_clear(NwTallying *tallying)
{
	for (int i = 0; i < tallying->tally->allocated; i++)
		nw_mass_clear(&tallying->tally->mass[i]);
}

/* Insist that every class asked for has support, unless none is needed. */
static void
check_classes(const NwTallying *tallying)
{
	const NwFilter *filter = &tallying->call->filter;
	const NwTally *tally = tallying->tally;

	for (int i = 0; i < filter->nclasses && !tallying->call->empty_ok; i++)
	{
		NwBytes text = filter->classes[i];
		int class = nw_labels_find_text(tally->labels, text);

		if (class < 0 || nw_mass_is_empty(&tally->mass[class]))
			nw_report_no_class(tallying->call->support, text);
		CHECK_FOR_INTERRUPTS();
	}
}

/* Insist that every class of a filter has a place in an answer that is closed. */
void
nw_tally_check_classes(const NwTally *tally, const NwFilter *filter, const char *set)
{
	for (int i = 0; i < filter->nclasses; i++)
	{
		NwBytes text = filter->classes[i];

		if (nw_verdict_find(&tally->verdict, nw_labels_find_text(tally->labels, text)) < 0)
			nw_report_no_class(set, text);
		CHECK_FOR_INTERRUPTS();
	}
}

/*
 * Put the classes that have mass in byte order and add them up; false where there are
 * none.
 */
bool
nw_tally_close(NwTally *tally, MemoryContext mcxt)
{
	NwLabels *labels = tally->labels;
	int n = Max(labels->n, 1);

	tally->verdict.class = MemoryContextAllocHuge(mcxt, n * sizeof(int));
	tally->verdict.value = MemoryContextAllocHuge(mcxt, n * sizeof(NwScaled));
	if (!nw_verdict_close(&tally->verdict, tally->mass, nw_labels_order(labels), labels->n))
		return false;
	nw_verdict_temper(&tally->verdict, tally->temper);
	return true;
}

/* Complete the answer; NULL where there is none and the call allows that. */
NwTally *
nw_tally_end(NwTallying *tallying)
{
	NwTally *tally = tallying->tally;

	nw_tally_reserve(tally, tallying->mcxt, tallying->call->by_truth);
	for (int i = 0; tally->removable && i < tally->labels->n; i++)
		nw_removable_mass(&tally->removable[i], &tally->mass[i]);
	check_classes(tallying);
	if (!nw_tally_close(tally, tallying->mcxt))
	{
		if (tallying->call->empty_ok)
			return NULL;
		nw_report_no_support(tallying->call->support, tallying->call->filter.exclude != NULL);
	}
	nw_heaviest_sort(&tally->heaviest);
	nw_heaviest_sort(&tally->heaviest_others);
	return tally;
}

/* The label of the class at a place of the verdict. */
NwBytes
nw_tally_label(const NwTally *tally, int place)
{
	return tally->labels->text[tally->verdict.class[place]];
}

/* Put the more probable class first, equals in byte order, for qsort_arg. */
static int
compare_probability(const void *a, const void *b, void *arg)
{
	return nw_verdict_rank(arg, *(const int *) a, *(const int *) b);
}

/* The places of the verdict, [verdict.n], the most probable class first. */
int *
nw_tally_ranking(NwTally *tally)
{
	NwVerdict *verdict = &tally->verdict;
	int *ranking = palloc_extended(Max(verdict->n, 1) * sizeof(int), MCXT_ALLOC_HUGE);

	for (int i = 0; i < verdict->n; i++)
		ranking[i] = i;
	qsort_arg(ranking, verdict->n, sizeof(int), compare_probability, verdict);
	return ranking;
}

/* The answer that one of the heaviest supports is in: a member's, where there are any. */
const NwTally *
nw_tally_of_item(const NwTally *tally, const NwHeavy *item)
{
	return tally->nmembers > 0 ? tally->member[item->member].tally : tally;
}

/* The member of a mixture that a support is in; NULL for any other set. */
const char *
nw_tally_member(const NwTally *tally, const NwHeavy *item)
{
	return tally->nmembers > 0 ? tally->member[item->member].name : NULL;
}

/* All shares of a mixture's members. */
static NwScaled
all_shares(const NwTally *tally)
{
	NwScaled all = {0, 0};

	for (int i = 0; i < tally->nmembers; i++)
	{
		NwScaled both[2] = {all, tally->member[i].share};

		all = nw_scaled_sum(both, 2);
	}
	return all;
}

/* What a member has of the prediction of a mixture. */
double
nw_tally_share(const NwTally *tally, int member)
{
	return nw_scaled_ratio(tally->member[member].share, all_shares(tally));
}

/* The share of the prediction that one of the heaviest supports has. */
double
nw_tally_weight(const NwTally *tally, const NwHeavy *item)
{
	NwScaled total = nw_tally_of_item(tally, item)->verdict.total;
	NwScaled term = nw_scaled_exp(item->score);

	if (tally->nmembers <= 1)
		return nw_scaled_ratio(term, total);
	term = nw_scaled_product(nw_scaled_quotient(term, total), tally->member[item->member].share);
	return nw_scaled_ratio(term, all_shares(tally));
}

/* The distance between the query and one of the heaviest supports. */
double
nw_tally_distance(const NwTally *tally, const NwHeavy *item)
{
	return nw_query_distance(&nw_tally_of_item(tally, item)->query, item->measure);
}

/* The rank of the query's distance among those that it is compared with. */
int
nw_tally_rank(const NwTally *tally)
{
	return nw_typical_rank(tally->typical, nw_nearest_distance(&tally->nearest, &tally->query));
}

/* The typicality of the query, which there is something to compare with for. */
double
nw_tally_typicality(const NwTally *tally)
{
	return nw_typicality(nw_tally_rank(tally), tally->typical->n);
}
