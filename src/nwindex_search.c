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
 * An upper bound counts every slot in use; a lower bound only rows known to be
 * visible.  Bounds are kept as logarithms.  They are sums of at most 2^32
 * terms in double precision, so a lead of MARGIN outweighs their rounding; at
 * tiny temperatures the logarithms are so large that theirs counts, too.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "pgstat.h"

#include "compat.h"
#include "nwindex_search.h"
#include "simd.h"

#define MARGIN			1e-6
#define ROUNDING		1e-14	/* of a logarithm, relative */

/*
 * Rows are looked up in the heap, to count toward a lower bound, where they
 * weigh no less than exp(-HEAVY) of the heaviest met.
 */
#define HEAVY			12.0

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

/* A sum of exponentials: sum * exp(top). */
typedef struct LogSum
{
	double		top;
	double		sum;
} LogSum;

/* How well a list is known. */
typedef enum UnitState
{
	UNIT_LIST,
	UNIT_CODE,
	UNIT_EXACT
} UnitState;

/* A list with a class of its own. */
typedef struct Unit
{
	int			part;
	uint32		list;
	BlockNumber first_page;
	int32		class;
	uint32		slots;
	UnitState	state;
	double		lower;			/* logarithms of its mass */
	double		upper;
} Unit;

/* What is known of a class. */
typedef struct Class
{
	LogSum		lower;
	LogSum		upper;
	LogSum		common_lower;	/* of its rows in common lists */
	LogSum		common_upper;
	int64		slots;
	LogSum		coded;			/* upper sums of what was coded, */
	LogSum		coded_lower;	/* lower sums, */
	int64		coded_slots;	/* and how many slots that was */
	NwMass		mass;			/* of what was read exactly */
} Class;

typedef struct Search
{
	NwIndexReader *reader;
	const NwQuery *query;
	int			nclasses;
	bool	   *admitted;		/* [nclasses] */
	bool	   *wanted;			/* [nclasses] still contending, */
	int64		wanted_slots;	/* with so many slots in lists of their own */
	Class	   *class;			/* [nclasses] */
	int			nunits;
	Unit	   *unit;			/* [nunits] heaviest first */
	int64		slots;			/* of all units */
	int64		common_slots;
	double		lead;			/* lower bound of the class that leads */
	double		heaviest;		/* upper bound of a row's score so far */
	float	   *t;				/* [dim] */
	float	   *center;			/* [dim] */
	NwIndexPages pages;
	NwSearchWork *work;
} Search;

/* ---- sums of exponentials ---- */

/* Add exp(value). */
static inline void
add_log(LogSum *to, double value)
{
	if (value == -HUGE_VAL || (to->sum != 0 && to->top == HUGE_VAL))
		return;
	if (to->sum == 0 || value == HUGE_VAL)
	{
		to->top = value;
		to->sum = 1;
	}
	else if (value <= to->top)
		to->sum += exp(value - to->top);
	else
	{
		to->sum = to->sum * exp(to->top - value) + 1;
		to->top = value;
	}
}

/* The logarithm of a sum. */
static inline double
log_of(const LogSum *sum)
{
	return sum->sum == 0 ? -HUGE_VAL : sum->top + log(sum->sum);
}

/* The logarithm of the sum of exp(score[i]); scores may be -HUGE_VAL. */
static double
log_sum(double *score, int n)
{
	int			kept = 0;
	double		top;

	for (int i = 0; i < n; i++)
	{
		if (score[i] != -HUGE_VAL)
			score[kept++] = score[i];
	}
	n = kept;
	top = nw_simd->max(score, n);
	if (top == -HUGE_VAL || top == HUGE_VAL)
		return top;
	return top + log(nw_simd->exp_sum(score, n, 1, top));
}

/* ---- lists ---- */

/* Bound the mass of a list by its centre and radius. */
static void
bound_list(Search *search, Unit *unit, const NwListData *data)
{
	double		lower;
	double		upper;

	nw_ball_bounds(search->query, search->center, data->radius, data->norm_min,
				   data->norm_max, &lower, &upper);
	unit->lower = -HUGE_VAL;	/* nothing is known to be visible */
	unit->upper = upper + log(data->bound);
}

/* Take in a list that has a class. */
static void
take_list(Search *search, int number, uint32 list, const NwListData *data,
		  Buffer *centers)
{
	NwIndexPart *part = &search->reader->part[number];
	Unit	   *unit;
	int32		class;

	if (data->bound == 0 || data->class >= (uint32) part->nclasses)
		return;
	class = part->class[data->class];
	if (!search->admitted[class])
		return;
	unit = &search->unit[search->nunits++];
	unit->part = number;
	unit->list = list;
	unit->first_page = data->first_page;
	unit->class = class;
	unit->slots = data->bound;
	unit->state = UNIT_LIST;
	nw_centers_read(part->index, &part->meta, list, search->center, centers);
	bound_list(search, unit, data);
	search->class[class].slots += data->bound;
	search->slots += data->bound;
}

/* Take in the lists of one part. */
static void
take_lists(Search *search, int number)
{
	NwIndexPart *part = &search->reader->part[number];
	NwListData *data = palloc(NW_LISTS_PER_PAGE * sizeof(NwListData));
	Buffer		centers = InvalidBuffer;
	uint32		list = 0;

	while (list < part->meta.nlists)
	{
		int			n = nw_lists_read(part->index, &part->meta, list, data);

		for (int i = 0; i < n; i++, list++)
		{
			if (list == NW_COMMON_LIST)
				search->common_slots += data[i].bound;
			else
				take_list(search, number, list, &data[i], &centers);
		}
		CHECK_FOR_INTERRUPTS();
	}
	if (BufferIsValid(centers))
		ReleaseBuffer(centers);
	pfree(data);
}

/* ---- codes ---- */

/* The bounds of one code page's slots. */
typedef struct PageBounds
{
	int			n;
	int32		class[NW_MAX_SLOTS];
	ItemPointerData tid[NW_MAX_SLOTS];
	bool		visible[NW_MAX_SLOTS];
	double		lower[NW_MAX_SLOTS];
	double		upper[NW_MAX_SLOTS];
} PageBounds;

/*
 * Bound the rows of a code page, which is unpinned then.  Returns the next one
 * of its list, pinned, or InvalidBuffer.
 */
static Buffer
bound_page(Search *search, NwIndexPart *part, const NwCodeQuery *query,
		   Buffer buffer, PageBounds *bounds)
{
	Page		page = BufferGetPage(buffer);
	Buffer		next = InvalidBuffer;
	int			n = 0;
	int			kept = 0;
	int			used;
	NwSlots		slots;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	nw_page_check(part->index, buffer, NW_PAGE_CODES);
	used = NwPageGetCodes(page)->used;
	nw_page_slots(page, &part->layout, &slots);
	if (BlockNumberIsValid(NwPageGetTail(page)->next))
	{
		/* it is fetched while this one is worked on */
		next = nw_index_pin(part, NwPageGetTail(page)->next, &part->codes,
							0);
	}
	nw_code_bounds(query, slots.code, slots.scale, slots.error, slots.sqnorm,
				   slots.norm, used, bounds->lower, bounds->upper);
	for (int i = 0; i < used; i++)
	{
		uint32		class = slots.class[i];

		if (!ItemPointerIsValid(&slots.tid[i]) ||
			class >= (uint32) part->nclasses ||
			!search->admitted[part->class[class]])
			continue;
		bounds->class[n] = part->class[class];
		bounds->tid[n] = slots.tid[i];
		bounds->lower[n] = bounds->lower[i];
		bounds->upper[n] = bounds->upper[i];
		bounds->visible[n++] = nw_index_all_visible(part, &slots.tid[i]);
	}
	UnlockReleaseBuffer(buffer);
	search->reader->work.pages++;
	search->heaviest = Max(search->heaviest, nw_simd->max(bounds->upper, n));

	for (int i = 0; i < n; i++)
	{
		double		lower = bounds->lower[i];

		if (!bounds->visible[i])
		{
			if (bounds->upper[i] < search->heaviest - HEAVY)
				lower = -HUGE_VAL;	/* it does not matter whether it counts */
			else if (!nw_index_row_visible(search->reader, part,
										   &bounds->tid[i]))
				continue;
		}
		bounds->class[kept] = bounds->class[i];
		bounds->upper[kept] = bounds->upper[i];
		bounds->lower[kept++] = lower;
	}
	bounds->n = kept;
	CHECK_FOR_INTERRUPTS();
	return next;
}

/* Pin the first code page of a list; InvalidBuffer where it has none. */
static Buffer
first_buffer(NwIndexPart *part, BlockNumber block)
{
	return BlockNumberIsValid(block) ?
		nw_index_pin(part, block, &part->codes, 0) : InvalidBuffer;
}

/* Bound the mass of a list by its codes. */
static void
refine_by_code(Search *search, Unit *unit)
{
	NwIndexPart *part = &search->reader->part[unit->part];
	Class	   *class = &search->class[unit->class];
	Buffer		buffer;
	LogSum		lower = {0, 0};
	LogSum		upper = {0, 0};
	NwCodeQuery query;
	PageBounds	bounds;

	nw_center_read(part->index, &part->meta, unit->list, search->center);
	nw_code_query(&query, search->query, search->center, search->t);
	buffer = first_buffer(part, unit->first_page);
	while (BufferIsValid(buffer))
	{
		buffer = bound_page(search, part, &query, buffer, &bounds);
		add_log(&upper, log_sum(bounds.upper, bounds.n));
		add_log(&lower, log_sum(bounds.lower, bounds.n));
	}
	unit->state = UNIT_CODE;
	unit->lower = log_of(&lower);
	unit->upper = log_of(&upper);
	add_log(&class->coded, unit->upper);
	add_log(&class->coded_lower, unit->lower);
	class->coded_slots += unit->slots;
}

/* Bound the rows of the common lists by their codes. */
static void
bound_common(Search *search)
{
	PageBounds	bounds;

	for (int i = 0; i < search->reader->nparts; i++)
	{
		NwIndexPart *part = &search->reader->part[i];
		NwListData	data;
		NwCodeQuery query;
		Buffer		buffer;

		nw_list_read(part->index, &part->meta, NW_COMMON_LIST, &data);
		nw_center_read(part->index, &part->meta, NW_COMMON_LIST,
					   search->center);
		nw_code_query(&query, search->query, search->center, search->t);
		buffer = first_buffer(part, data.first_page);
		while (BufferIsValid(buffer))
		{
			buffer = bound_page(search, part, &query, buffer, &bounds);
			for (int j = 0; j < bounds.n; j++)
			{
				Class	   *class = &search->class[bounds.class[j]];

				add_log(&class->common_upper, bounds.upper[j]);
				add_log(&class->common_lower, bounds.lower[j]);
			}
		}
	}
}

/* ---- exact vectors ---- */

/*
 * Add the exact terms of a list's rows of the classes wanted; all are of one
 * class, where that is given.
 */
static void
add_exact(Search *search, int number, BlockNumber block, NwMass *mass)
{
	NwIndexPart *part = &search->reader->part[number];
	NwPageRows *rows;

	nw_index_first_page(&search->pages, search->reader, part, block,
						search->wanted);
	while ((rows = nw_index_next_page(&search->pages)) != NULL)
	{
		double		score[NW_MAX_SLOTS];
		double		bin[NW_MAX_SLOTS];
		uint64_t	hi[NW_MAX_SLOTS];
		uint64_t	lo[NW_MAX_SLOTS];

		nw_index_measure_page(&search->pages, rows, search->query, score);
		nw_query_score(search->query, score, rows->n, score);
		nw_simd->exp_split(score, rows->n, bin, hi, lo);
		if (mass)
			nw_mass_add_run(mass, rows->n, bin, hi, lo);
		for (int i = 0; i < rows->n && mass == NULL; i++)
			nw_mass_add_split(&search->class[part->class[rows->class[i]]].mass,
							  bin[i], hi[i], lo[i]);
		search->work->exact += rows->n;
	}
}

/* Replace the bounds of a list by its exact mass. */
static void
refine_exactly(Search *search, Unit *unit)
{
	NwMass		mass;

	nw_mass_clear(&mass);
	add_exact(search, unit->part, unit->first_page, &mass);
	unit->state = UNIT_EXACT;
	unit->lower = unit->upper = nw_scaled_log(nw_mass_value(&mass));
	nw_mass_merge(&search->class[unit->class].mass, &mass);
}

/*
 * Replace the bounds of contenders' rows in the common lists by their exact
 * masses.  Nothing else has been read exactly yet.
 */
static void
read_common(Search *search)
{
	for (int i = 0; i < search->reader->nparts; i++)
	{
		NwIndexPart *part = &search->reader->part[i];
		NwListData	data;

		nw_list_read(part->index, &part->meta, NW_COMMON_LIST, &data);
		add_exact(search, i, data.first_page, NULL);
	}
	for (int i = 0; i < search->nclasses; i++)
	{
		Class	   *class = &search->class[i];

		if (search->wanted[i])
		{
			class->common_lower.sum = 0;
			if (!nw_mass_is_empty(&class->mass))
				add_log(&class->common_lower,
						nw_scaled_log(nw_mass_value(&class->mass)));
			class->common_upper = class->common_lower;
		}
	}
}

/* ---- the decision ---- */

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
		const Class *class = &search->class[i];
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
			refine_by_code(search, unit);
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
			refine_by_code(search, unit);
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
		read_common(search);
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
				refine_exactly(search, &search->unit[i]);
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
		bound_common(search);
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
	search->class = palloc_extended(search->nclasses * sizeof(Class),
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
		take_lists(search, i);
	answer = decide(search);
	count_work(search);
	if (answer >= 0 && !classes_have_rows(search, filter))
		return -1;
	return answer;
}
