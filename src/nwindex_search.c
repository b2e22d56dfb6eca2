/*
 * nwindex_search.c
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

#include "nwindex_search_impl.h"

#define MARGIN			1e-6
#define ROUNDING		1e-14	/* of a logarithm, relative */

/* Share of all slots that is coded in the first round, and in later ones. */
#define FIRST_SHARE		0.01
#define LATER_SHARE		0.04

/* Lists that weigh less than exp(-LIGHT) of the leader are left as they are. */
#define LIGHT			16.0

/*
 * Whether codes are vague is judged while the contenders have more than this
 * share of all slots: with fewer, exact vectors are cheap anyway.
 */
#define MANY			0.5

/* So many times wider than the lead: codes have no chance. */
#define VAGUE			3.0

/* Add up the bounds of each class. */
static void
sum_classes(Search *search)
{
	for (int i = 0; i < search->nclasses; i++)
	{
		search->class[i].lower = search->class[i].common_lower;
		search->class[i].upper = search->class[i].common_upper;
	}
	for (int i = 0; i < search->nunits; i++)
	{
		const Unit *unit = &search->unit[i];

		add_log(&search->class[unit->class].lower, unit->lower);
		add_log(&search->class[unit->class].upper, unit->upper);
	}
}

/*
 * Find the class that leads, and mark those that could still be the answer.
 * Returns the leader where no other could be, else -1.
 */
static int
find_leader(Search *search)
{
	int			leader = -1;
	double		lead = -HUGE_VAL;
	double		least;
	int			contenders = 0;

	sum_classes(search);
	search->wanted_slots = 0;
	for (int i = 0; i < search->nclasses; i++)
	{
		double		lower = log_of(&search->class[i].lower);

		if (lower > lead)
		{
			lead = lower;
			leader = i;
		}
	}
	least = isinf(lead) ? lead : lead - MARGIN - ROUNDING * fabs(lead);
	for (int i = 0; i < search->nclasses; i++)
	{
		double		upper = log_of(&search->class[i].upper);

		/* once out, a class stays out, whatever rounding would say */
		search->wanted[i] &= upper > -HUGE_VAL && upper >= least;
		contenders += search->wanted[i];
		if (search->wanted[i])
			search->wanted_slots += search->class[i].slots;
	}
	search->lead = lead;
	return leader >= 0 && contenders == 1 ? leader : -1;
}

/*
 * Say whether codes will not tell the contenders apart, as far as lists of
 * each that are about as near show: the bounds on their mean weight of a row
 * are much wider than the lead of the first class over the second.
 */
static bool
codes_are_vague(const Search *search)
{
	double		first = -HUGE_VAL;
	double		second = -HUGE_VAL;
	double		width = HUGE_VAL;

	if (search->wanted_slots < search->slots * MANY)
		return false;
	for (int i = 0; i < search->nclasses; i++)
	{
		const SearchClass *class = &search->class[i];
		double		mean;

		if (!search->wanted[i] || class->coded_slots == 0)
			continue;
		mean = log_of(&class->coded) - log((double) class->coded_slots);
		if (mean > first)
		{
			second = first;
			first = mean;
		}
		else if (mean > second)
			second = mean;
		width = Min(width, log_of(&class->coded) -
					log_of(&class->coded_lower));
	}
	return second > -HUGE_VAL && width > VAGUE * (first - second);
}

/* Say whether a list is worth refining by its codes. */
static bool
is_refinable(const Search *search, const Unit *unit)
{
	return unit->state == UNIT_LIST && search->wanted[unit->class] &&
		unit->upper >= search->lead - LIGHT;
}

/*
 * Refine lists of contenders by their codes, heaviest first, so many slots of
 * them.  Returns false where there are none.
 */
static bool
refine_heaviest(Search *search, int64 slots)
{
	bool		any = false;

	for (int i = 0; i < search->nunits && slots > 0; i++)
	{
		Unit	   *unit = &search->unit[i];

		if (is_refinable(search, unit))
		{
			nw_bounds_refine_by_code(search, unit);
			slots -= unit->slots;
			any = true;
		}
	}
	return any;
}

/* Refine the heaviest list of each contender. */
static void
refine_one_each(Search *search)
{
	bool	   *done = palloc0(search->nclasses);

	for (int i = 0; i < search->nunits; i++)
	{
		Unit	   *unit = &search->unit[i];

		if (!done[unit->class] && is_refinable(search, unit))
			nw_bounds_refine_by_code(search, unit);
		done[unit->class] = true;
	}
	pfree(done);
}

/* Order lists by what they weigh at the most, heaviest first. */
static int
compare_units(const void *a, const void *b)
{
	double		x = ((const Unit *) a)->upper;
	double		y = ((const Unit *) b)->upper;

	return (x < y) - (x > y);
}

/*
 * Read lists of the contenders exactly, heaviest first, until one class leads
 * for certain or all is read.
 */
static int
settle_exactly(Search *search)
{
	int			batch = 1;
	int			leader = -1;

	/* those in the common lists come first: they have no lists to choose */
	if (search->common_slots > 0)
	{
		nw_bounds_read_common(search);
		leader = find_leader(search);
		if (leader >= 0)
			return leader;
	}

	qsort(search->unit, search->nunits, sizeof(Unit), compare_units);
	for (int i = 0; i < search->nunits;)
	{
		for (int k = 0; k < batch && i < search->nunits; i++)
		{
			if (search->wanted[search->unit[i].class])
			{
				nw_bounds_refine_exactly(search, &search->unit[i]);
				k++;
			}
		}
		batch += batch / 4 + 1;
		leader = find_leader(search);
		if (leader >= 0)
			return leader;
	}
	return -1;
}

/* Of classes read to the last row, take the first of the heaviest. */
static int
compare_masses(Search *search)
{
	const int  *order = nw_labels_order(search->reader->labels);
	int			best = -1;
	NwScaled	most = {0, 0};

	for (int i = 0; i < search->nclasses; i++)
	{
		int			class = order[i];
		NwScaled	value;

		if (!search->wanted[class] ||
			nw_mass_is_empty(&search->class[class].mass))
			continue;
		value = nw_mass_value(&search->class[class].mass);
		if (best < 0 || nw_scaled_compare(value, most) > 0)
		{
			best = class;
			most = value;
		}
	}
	return best;
}

/* Note which classes the caller admits; false where one is not known. */
static bool
admit_classes(Search *search, const NwFilter *filter)
{
	NwLabels   *labels = search->reader->labels;

	for (int i = 0; i < search->nclasses; i++)
		search->admitted[i] = filter->classes == NULL;
	for (int i = 0; i < filter->nclasses; i++)
	{
		int			class = nw_labels_find_text(labels, filter->classes[i]);

		if (class < 0)
			return false;
		search->admitted[class] = true;
	}
	return true;
}

/*
 * Look for a visible row of every class asked for; false where one has none.
 * Bounds may have settled the answer without looking into a class at all.
 */
static bool
classes_have_rows(Search *search, const NwFilter *filter)
{
	if (filter->classes == NULL)
		return true;
	for (int c = 0; c < search->nclasses; c++)
	{
		bool		found = search->class[c].lower.sum > 0;

		if (!search->admitted[c] || found)
			continue;
		memset(search->wanted, 0, search->nclasses * sizeof(bool));
		search->wanted[c] = true;
		for (int i = -search->reader->nparts; i < search->nunits && !found; i++)
		{
			int			number = i < 0 ? -i - 1 : search->unit[i].part;
			NwIndexPart *part = &search->reader->part[number];
			BlockNumber block;
			NwListData	data;

			if (i >= 0 && search->unit[i].class != c)
				continue;
			nw_list_read(part->index, &part->meta,
						 i < 0 ? NW_COMMON_LIST : search->unit[i].list, &data);
			block = data.first_page;
			while (BlockNumberIsValid(block) && !found)
			{
				NwPageRows *rows = &search->pages.rows[0];

				nw_index_read_page(search->reader, part, block, search->wanted,
								   rows);
				found = rows->n > 0;
				block = rows->next;
			}
		}
		if (!found)
			return false;
	}
	return true;
}

/* Decide. */
static int
decide(Search *search)
{
	int64		slots = (int64) (search->slots * FIRST_SHARE) + 1;
	int			leader;

	if (search->common_slots > 0)
		nw_bounds_take_common(search);
	qsort(search->unit, search->nunits, sizeof(Unit), compare_units);
	for (int round = 0;; round++)
	{
		leader = find_leader(search);
		if (leader >= 0)
			return leader;
		if (round == 1)
			refine_one_each(search);
		else if ((round > 1 && codes_are_vague(search)) ||
				 !refine_heaviest(search, slots))
			break;
		else
			slots = Max(2 * slots, (int64) (search->slots * LATER_SHARE));
	}
	leader = settle_exactly(search);
	return leader >= 0 ? leader : compare_masses(search);
}

/* Add up what the search has cost. */
static void
count_work(Search *search)
{
	NwSearchWork *work = search->work;

	for (int i = 0; i < search->nunits; i++)
	{
		const Unit *unit = &search->unit[i];

		work->lists++;
		work->supports += unit->slots;
		if (unit->state == UNIT_LIST)
		{
			work->lists_pruned++;
			work->by_list += unit->slots;
		}
	}
	work->supports += search->common_slots;
	work->by_code = Max(0, work->supports - work->by_list - work->exact);
	work->reading = search->reader->work;
}

int
nw_index_search(NwIndexReader *reader, const NwQuery *query,
				const NwFilter *filter, NwSearchWork *work)
{
	Search	   *search = palloc0(sizeof(Search));
	uint64		lists = 0;
	int			answer;

	memset(work, 0, sizeof(NwSearchWork));
	search->reader = reader;
	search->query = query;
	search->work = work;
	search->heaviest = -HUGE_VAL;
	search->nclasses = reader->labels->n;
	if (search->nclasses == 0)
		return -1;
	for (int i = 0; i < reader->nparts; i++)
		lists += reader->part[i].meta.nlists;
	search->admitted = palloc0(search->nclasses);
	search->wanted = palloc0(search->nclasses);
	search->class = palloc_extended(search->nclasses * sizeof(SearchClass),
									MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (int i = 0; i < search->nclasses; i++)
		nw_mass_clear(&search->class[i].mass);
	search->unit = palloc_extended(lists * sizeof(Unit), MCXT_ALLOC_HUGE);
	search->t = palloc(query->dim * sizeof(float));
	search->center = palloc(query->dim * sizeof(float));
	if (!admit_classes(search, filter))
		return -1;
	memcpy(search->wanted, search->admitted, search->nclasses);

	for (int i = 0; i < reader->nparts; i++)
		nw_bounds_take_lists(search, i);
	answer = decide(search);
	count_work(search);
	if (answer >= 0 && !classes_have_rows(search, filter))
		return -1;
	return answer;
}
