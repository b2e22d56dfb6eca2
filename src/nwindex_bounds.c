/*
 * nwindex_bounds.c
 *		Bound the mass of a list: by its ball, its codes, its exact vectors.
 *
 * An upper bound counts every slot in use; a lower bound only rows known to be
 * visible.  Bounds are kept as logarithms.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"

#include "compat.h"
#include "nwindex_search_impl.h"
#include "simd.h"

/*
 * Rows are looked up in the heap, to count toward a lower bound, where they
 * weigh no less than exp(-HEAVY) of the heaviest met.
 */
#define HEAVY			12.0

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

void
nw_bounds_take_lists(Search *search, int number)
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

void
nw_bounds_refine_by_code(Search *search, Unit *unit)
{
	NwIndexPart *part = &search->reader->part[unit->part];
	SearchClass *class = &search->class[unit->class];
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

void
nw_bounds_take_common(Search *search)
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
				SearchClass *class = &search->class[bounds.class[j]];

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

void
nw_bounds_refine_exactly(Search *search, Unit *unit)
{
	NwMass		mass;

	nw_mass_clear(&mass);
	add_exact(search, unit->part, unit->first_page, &mass);
	unit->state = UNIT_EXACT;
	unit->lower = unit->upper = nw_scaled_log(nw_mass_value(&mass));
	nw_mass_merge(&search->class[unit->class].mass, &mass);
}

void
nw_bounds_read_common(Search *search)
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
		SearchClass *class = &search->class[i];

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
