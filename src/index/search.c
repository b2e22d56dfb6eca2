/*
 * index/search.c
 *		Find the most probable class of a query with the help of bounds.
 *
 * Every list contributes to the mass of its class something between two
 * bounds.  At first these come from its centre, radius and number of slots;
 * codes make them tighter, at a quarter of the bytes, and the exact vectors
 * close them.  Lists whose bounds are the widest are refined until the lower
 * bound of one class is above the upper bounds of all others.  Where exact sums
 * are needed to tell, they are the fixed-point sums of the other engine, so
 * that even ties are decided alike.
 *
 * Bounds are logarithms of sums of at most 2^32 terms in double precision, so a
 * lead of MARGIN outweighs their rounding; at tiny temperatures the logarithms
 * are so large that theirs counts, too.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "index/bounds.h"
#include "index/search.h"
#include "math/verdict.h"

#define MARGIN 1e-6
#define ROUNDING 1e-14 /* of a logarithm, relative */

/* Share of all slots that is coded in the first round, and in later ones. */
#define FIRST_SHARE 0.01
#define LATER_SHARE 0.04

/* Lists that weigh less than exp(-LIGHT) of the leader are left as they are. */
#define LIGHT 16.0

/*
 * Whether codes are vague is judged while the contenders have more than this
 * share of all slots: with fewer, exact vectors are cheap anyway.
 */
#define MANY 0.5

/* Lists are judged anew after exact passes over so many slots for a class. */
#define SLOTS_PER_CLASS 0.25

/* Add the bounds of a list to those of its class. */
static inline void
add_list(NwSearch *search, const NwSearchList *list)
{
	nw_log_sum_add(&search->class[list->class].lower, list->lower);
	nw_log_sum_add(&search->class[list->class].upper, list->upper);
}

/* Begin to add up the bounds of a class. */
static inline void
begin_class(NwSearchClass *class)
{
	class->lower = class->common.lower;
	class->upper = class->common.upper;
}

/* Add up the bounds of each class. */
static void
sum_classes(NwSearch *search)
{
	for (int i = 0; i < search->nclasses; i++)
		begin_class(&search->class[i]);
	for (int i = 0; i < search->nlists; i++)
		add_list(search, &search->list[i]);
}

/* What a class has to reach to contend with one of a lower bound. */
static double
least_beside(double lead)
{
	return isinf(lead) ? lead : lead - MARGIN - ROUNDING * fabs(lead);
}

/*
 * Take those classes in that have rows in common lists only, as far as they may
 * be the answer: of a million there may be a handful.
 */
static void
take_contenders(NwSearch *search)
{
	double lead = -HUGE_VAL;
	double least;

	for (int i = 0; i < search->nall; i++)
		lead = Max(lead, nw_log_sum(&search->common[i].lower));
	least = least_beside(lead);
	for (int i = 0; i < search->nall; i++)
	{
		const NwCommonSums *sums = &search->common[i];
		double upper = nw_log_sum(&sums->upper);

		if (upper > -HUGE_VAL && (search->place[i] >= 0 || upper >= least))
		{
			int place = nw_search_place(search, i);

			search->class[place].common = *sums;
		}
	}
}

/*
 * Find the class that leads, by the bounds of each, and mark those that could
 * still be the answer.  Returns the leader where no other could be, else -1.
 */
static int
judge(NwSearch *search)
{
	double least;
	double highest = -HUGE_VAL;
	int contenders = 0;

	search->leading = search->challenger = -1;
	search->lead = -HUGE_VAL;
	search->wanted_slots = 0;
	for (int i = 0; i < search->nclasses; i++)
	{
		double lower = nw_log_sum(&search->class[i].lower);

		if (lower > search->lead)
		{
			search->lead = lower;
			search->leading = i;
		}
	}
	least = least_beside(search->lead);
	for (int i = 0; i < search->nclasses; i++)
	{
		NwSearchClass *class = &search->class[i];
		double upper = nw_log_sum(&class->upper);

		/* once out, a class stays out, whatever rounding would say */
		search->wanted[class->number] &= upper > -HUGE_VAL && upper >= least;
		if (!nw_search_wants(search, i))
			continue;
		contenders++;
		search->wanted_slots += class->slots;
		if (i != search->leading && upper > highest)
		{
			highest = upper;
			search->challenger = i;
		}
	}
	return search->leading >= 0 && contenders == 1 ? search->leading : -1;
}

/* The same, where the bounds of any list have changed. */
static int
find_leader(NwSearch *search)
{
	sum_classes(search);
	return judge(search);
}

/* Order numbers, the largest first. */
static int
compare_numbers(const void *a, const void *b)
{
	double x = *(const double *) a;
	double y = *(const double *) b;

	return (x < y) - (x > y);
}

/*
 * Say whether codes will tell hardly any of the contenders apart, as far as
 * lists of each that are about as near show: the bounds on their mean weight of
 * a row are wider than the lead of the first class over one in the middle.
 */
static bool
codes_are_vague(const NwSearch *search)
{
	double *mean;
	double width = HUGE_VAL;
	int n = 0;
	bool vague;

	if (search->wanted_slots < search->slots * MANY)
		return false;
	mean = palloc_extended(Max(search->nclasses, 1) * sizeof(double), MCXT_ALLOC_HUGE);
	for (int i = 0; i < search->nclasses; i++)
	{
		const NwSearchClass *class = &search->class[i];
		double upper;

		if (!nw_search_wants(search, i) || class->coded_slots == 0)
			continue;
		upper = nw_log_sum(&class->coded);
		mean[n++] = upper - nw_log((double) class->coded_slots);
		width = Min(width, upper - nw_log_sum(&class->coded_lower));
	}
	qsort(mean, n, sizeof(double), compare_numbers);
	vague = n > 1 && width > mean[0] - mean[n / 2];
	pfree(mean);
	return vague;
}

/* Say whether a list is worth refining by its codes. */
static bool
is_refinable(const NwSearch *search, const NwSearchList *list)
{
	return list->by == NW_BY_BALL && nw_search_wants(search, list->class) &&
	       list->upper >= search->lead - LIGHT;
}

/*
 * Refine lists of contenders by their codes, heaviest first, so many slots of
 * them.  Returns false where there are none.  Whatever is passed over stays so:
 * classes do not come back, and the lead only grows.
 */
static bool
refine_heaviest(NwSearch *search, int64 slots)
{
	bool any = false;

	while (slots > 0 && !binaryheap_empty(search->heaviest_first))
	{
		NwSearchList *list =
			(NwSearchList *) DatumGetPointer(binaryheap_remove_first(search->heaviest_first));

		if (is_refinable(search, list))
		{
			nw_bounds_refine_by_code(search, list);
			slots -= list->slots;
			any = true;
		}
	}
	return any;
}

/* Refine the heaviest list of each contender of which nothing is coded yet. */
static void
refine_one_each(NwSearch *search)
{
	NwSearchList **heaviest = palloc_extended(Max(search->nclasses, 1) * sizeof(NwSearchList *),
	                                          MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	for (int i = 0; i < search->nlists; i++)
	{
		NwSearchList *list = &search->list[i];
		NwSearchList **best = &heaviest[list->class];

		if (search->class[list->class].coded_slots == 0 && is_refinable(search, list) &&
		    (*best == NULL || list->upper > (*best)->upper))
			*best = list;
	}
	for (int i = 0; i < search->nclasses; i++)
	{
		if (heaviest[i])
			nw_bounds_refine_by_code(search, heaviest[i]);
	}
	pfree(heaviest);
}

/* Order lists by what they weighed at the most, heaviest first. */
static int
compare_weights(Datum a, Datum b, void *arg)
{
	double x = ((const NwSearchList *) DatumGetPointer(a))->weight;
	double y = ((const NwSearchList *) DatumGetPointer(b))->weight;

	(void) arg;
	return (x > y) - (x < y);
}

/* Have the heaviest lists at hand; few of them may be wanted. */
static void
order_by_weight(NwSearch *search)
{
	search->heaviest_first = binaryheap_allocate(Max(search->nlists, 1), compare_weights, NULL);
	for (int i = 0; i < search->nlists; i++)
	{
		search->list[i].weight = search->list[i].upper;
		binaryheap_add_unordered(search->heaviest_first, PointerGetDatum(&search->list[i]));
	}
	binaryheap_build(search->heaviest_first);
}

/* Order lists by class, and by what reading them exactly would tell. */
static int
compare_gains(const void *a, const void *b)
{
	const NwSearchList *x = *(NwSearchList *const *) a;
	const NwSearchList *y = *(NwSearchList *const *) b;

	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	return (x->gain < y->gain) - (x->gain > y->gain);
}

/* Put the lists of each class in the order in which they are read exactly. */
static void
order_by_gain(NwSearch *search)
{
	double top = -HUGE_VAL;

	search->order =
		palloc_extended(Max(search->nlists, 1) * sizeof(NwSearchList *), MCXT_ALLOC_HUGE);
	for (int i = 0; i < search->nlists; i++)
	{
		search->order[i] = &search->list[i];
		top = Max(top, search->list[i].upper);
	}
	for (int i = 0; i < search->nlists; i++)
	{
		NwSearchList *list = &search->list[i];

		list->gain = (nw_exp(list->upper - top) - nw_exp(list->lower - top)) / list->slots;
		if (isnan(list->gain)) /* nothing is known, of any */
			list->gain = HUGE_VAL;
	}
	qsort(search->order, search->nlists, sizeof(NwSearchList *), compare_gains);
	for (int i = 0; i < search->nlists; i++)
	{
		NwSearchClass *class = &search->class[search->order[i]->class];

		if (i == 0 || search->order[i]->class != search->order[i - 1]->class)
			class->first_list = class->next_list = i;
		class->end_list = i + 1;
	}
}

/* What the next list of a class would tell; -1 where all are read. */
static double
next_gain(const NwSearch *search, int number)
{
	const NwSearchClass *class;

	if (number < 0)
		return -1;
	class = &search->class[number];
	return class->next_list < class->end_list ? search->order[class->next_list]->gain : -1;
}

/*
 * Choose the class to read more of: the one that leads or the one that comes
 * next to it, whichever a list tells more about; of others, where both are read,
 * any that is still wanted.  Returns -1 where all are read.
 */
static int
choose_class(const NwSearch *search)
{
	double leading = next_gain(search, search->leading);
	double challenger = next_gain(search, search->challenger);

	if (leading >= 0 || challenger >= 0)
		return leading >= challenger ? search->leading : search->challenger;
	for (int i = 0; i < search->nclasses; i++)
	{
		if (nw_search_wants(search, i) && next_gain(search, i) >= 0)
			return i;
	}
	return -1;
}

/* Read some of a class exactly, and add up its bounds again. */
static void
read_class(NwSearch *search, int number, int64 slots)
{
	NwSearchClass *class = &search->class[number];

	while (slots > 0 && class->next_list < class->end_list)
	{
		NwSearchList *list = search->order[class->next_list++];

		nw_bounds_refine_exactly(search, list);
		slots -= list->slots;
	}
	begin_class(class);
	for (int i = class->first_list; i < class->end_list; i++)
		add_list(search, search->order[i]);
}

/*
 * Read lists exactly until one class leads for certain, or those of all
 * contenders are read.
 */
static int
settle_exactly(NwSearch *search)
{
	int64 slots = (int64) (search->nclasses * SLOTS_PER_CLASS) + 1;
	int leader;
	int class;

	/* those in the common lists come first: they have no lists to choose */
	if (search->common_slots > 0)
		nw_bounds_read_common(search);
	order_by_gain(search);
	for (leader = find_leader(search); leader < 0; leader = judge(search))
	{
		class = choose_class(search);
		if (class < 0)
			break;
		read_class(search, class, slots);
	}
	return leader;
}

/* The label of a class, copied. */
static NwBytes
class_text(const NwSearch *search, int class, MemoryContext mcxt)
{
	NwBytes text = nw_index_class_text(search->reader, search->class[class].number);

	return (NwBytes) {nw_bytes_copy(mcxt, text), text.len};
}

/*
 * Of classes read to the last row, take the heaviest; of equals, the first by label.
 * Their labels are read only where that is to be told.
 */
static int
compare_masses(NwSearch *search)
{
	Size n = Max(search->nclasses, 1);
	NwVerdict verdict = {.class = palloc_extended(n * sizeof(int), MCXT_ALLOC_HUGE),
	                     .value = palloc_extended(n * sizeof(NwScaled), MCXT_ALLOC_HUGE)};
	NwBytes first = {NULL, 0};
	MemoryContext text_mcxt;
	int best;

	for (int i = 0; i < search->nclasses; i++)
	{
		const NwSearchClass *class = &search->class[i];

		if (!nw_search_wants(search, i) || nw_mass_is_empty(&class->mass))
			continue;
		verdict.class[verdict.n] = i;
		verdict.value[verdict.n++] = nw_mass_value(&class->mass);
	}
	best = nw_verdict_winner(&verdict);
	text_mcxt = AllocSetContextCreate(CurrentMemoryContext, "nwhead label", ALLOCSET_DEFAULT_SIZES);
	for (int i = best + 1, heaviest = best; i < verdict.n; i++)
	{
		NwBytes text;
		MemoryContext old;

		if (nw_scaled_compare(verdict.value[i], verdict.value[heaviest]) != 0)
			continue;
		old = MemoryContextSwitchTo(text_mcxt);
		if (first.data == NULL)
			first = class_text(search, verdict.class[heaviest], old);
		text = class_text(search, verdict.class[i], text_mcxt);
		MemoryContextSwitchTo(old);
		if (nw_bytes_compare(text, first) < 0)
		{
			first = (NwBytes) {nw_bytes_copy(old, text), text.len};
			best = i;
		}
		MemoryContextReset(text_mcxt);
		CHECK_FOR_INTERRUPTS();
	}
	MemoryContextDelete(text_mcxt);
	return best < 0 ? -1 : verdict.class[best];
}

/* Note which classes the caller admits; false where one is not known. */
static bool
admit_classes(NwSearch *search, const NwFilter *filter)
{
	if (filter->classes == NULL)
		return true;
	search->admitted = palloc_extended(search->nall, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	search->asked = palloc_extended(filter->nclasses * sizeof(int), MCXT_ALLOC_HUGE);
	for (int i = 0; i < filter->nclasses; i++)
	{
		int class = nw_index_find_class(search->reader, filter->classes[i]);

		if (class < 0)
			return false;
		if (!search->admitted[class])
			search->asked[search->nasked++] = class;
		search->admitted[class] = true;
		CHECK_FOR_INTERRUPTS();
	}
	return true;
}

/* Look for a visible row of a class. */
static bool
has_row(NwSearch *search, int number)
{
	int place = search->place[number];
	bool found = false;

	if ((search->common && search->common[number].lower.sum > 0) ||
	    (place >= 0 && search->class[place].lower.sum > 0))
		return true;
	search->wanted[number] = true;
	for (int i = -search->reader->nparts; i < search->nlists && !found; i++)
	{
		int which = i < 0 ? -i - 1 : search->list[i].part;
		NwIndexPart *part = &search->reader->part[which];
		uint32 list_number = i < 0 ? NW_COMMON_LIST : search->list[i].first.list;
		NwPageAt at;
		NwListData data;

		if (i >= 0 && search->list[i].class != place)
			continue;
		nw_list_read(part->index, &part->meta, list_number, &data);
		at = nw_list_start(list_number, &data);
		while (BlockNumberIsValid(at.block) && !found)
		{
			NwPageRows *rows = &search->pages.rows[0];

			nw_index_read_page(search->reader, part, &at, search->wanted, rows);
			found = rows->n > 0;
		}
	}
	search->wanted[number] = false;
	return found;
}

/*
 * Look for a visible row of every class asked for; false where one has none.
 * Bounds may have settled the answer without looking into a class at all.
 */
static bool
classes_have_rows(NwSearch *search)
{
	if (search->nasked > 0)
		memset(search->wanted, 0, search->nall);
	for (int i = 0; i < search->nasked; i++)
	{
		if (!has_row(search, search->asked[i]))
			return false;
	}
	return true;
}

/*
 * Find the heaviest class, by bounds as long as these tell more, then exactly; -1 where
 * none has any mass.
 */
static int
decide(NwSearch *search)
{
	int64 slots = (int64) (search->slots * FIRST_SHARE) + 1;
	int leader;

	if (search->common_slots > 0)
	{
		search->common =
			palloc_extended(search->nall * sizeof(NwCommonSums), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
		nw_bounds_take_common(search);
		take_contenders(search);
	}
	order_by_weight(search);
	for (int round = 0;; round++)
	{
		leader = find_leader(search);
		if (leader >= 0)
			return leader;
		if (round == 1)
			refine_one_each(search);
		else if ((round > 1 && codes_are_vague(search)) || !refine_heaviest(search, slots))
			break;
		else
			slots = Max(2 * slots, (int64) (search->slots * LATER_SHARE));
	}
	leader = settle_exactly(search);
	return leader >= 0 ? leader : compare_masses(search);
}

/* Add up what the search has cost. */
static void
count_work(NwSearch *search)
{
	NwSearchWork *work = search->work;

	for (int i = 0; i < search->nlists; i++)
	{
		const NwSearchList *list = &search->list[i];

		work->lists++;
		work->supports += list->slots;
		if (list->by == NW_BY_BALL)
		{
			work->lists_pruned++;
			work->by_list += list->slots;
		}
	}
	work->supports += search->common_slots;
	work->by_code = Max(0, work->supports - work->by_list - work->exact);
	work->reading = search->reader->work;
}

/*
 * Find the label of the class that has the most mass, among those admitted; false
 * where the bounds leave open whether a class asked for has any support, which is
 * then for an exact pass to say.  The answer is that of an exact pass, ties included.
 */
bool
nw_index_search(NwIndexReader *reader, const NwQuery *query, const NwFilter *filter,
                NwSearchWork *work, NwBytes *label)
{
	NwSearch *search = palloc0(sizeof(NwSearch));
	uint64 nlists = 0;
	int answer;

	memset(work, 0, sizeof(NwSearchWork));
	search->reader = reader;
	search->query = query;
	search->work = work;
	search->heaviest = -HUGE_VAL;
	search->nall = reader->nclasses;
	if (search->nall == 0)
		return false;
	for (int i = 0; i < reader->nparts; i++)
		nlists += reader->part[i].meta.nlists;
	search->wanted = palloc_extended(search->nall, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	search->place = palloc_extended(search->nall * sizeof(int32), MCXT_ALLOC_HUGE);
	memset(search->place, -1, search->nall * sizeof(int32));
	search->list = palloc_extended(nlists * sizeof(NwSearchList), MCXT_ALLOC_HUGE);
	search->t = palloc(query->dim * sizeof(float));
	search->centre = palloc(query->dim * sizeof(float));
	if (!admit_classes(search, filter))
		return false;
	for (int i = 0; i < reader->nparts; i++)
		nw_bounds_take_lists(search, i);
	answer = decide(search);
	count_work(search);
	if (answer < 0 || !classes_have_rows(search))
		return false;
	*label = class_text(search, answer, CurrentMemoryContext);
	return true;
}
