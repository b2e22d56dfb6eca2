/*
 * index/bounds.c
 *		Bound the mass of a list: by its ball, its codes, its exact vectors.
 *
 * An upper bound counts every slot in use; a lower bound only rows known to be
 * visible.  Bounds are kept as logarithms.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"

#include "index/bounds.h"
#include "index/damage.h"
#include "math/code_sum.h"
#include "math/simd/simd.h"

/*
 * Rows are looked up in the heap, to count toward a lower bound, where they
 * weigh no less than exp(-HEAVY) of the heaviest met.
 */
#define HEAVY 12.0

/* The logarithm of the sum of exp(score[i]); scores may be -HUGE_VAL. */
static double
log_of_scores(double *score, int n)
{
	int kept = 0;
	double top;

	for (int i = 0; i < n; i++)
	{
		if (score[i] != -HUGE_VAL)
			score[kept++] = score[i];
	}
	n = kept;
	top = nw_simd->max(score, n);
	if (top == -HUGE_VAL || top == HUGE_VAL)
		return top;
	return top + nw_log(nw_simd->exp_sum(score, n, 1, top));
}

/* ---- lists ---- */

/* Bound the mass of a list by its centre and radius. */
static void
bound_list(NwSearch *search, NwSearchList *list, const NwListData *data, const float *centre)
{
	double lower;
	double upper;

	nw_ball_bounds(search->query, centre, data->radius, data->norm_min, data->norm_max, &lower,
	               &upper);
	list->lower = -HUGE_VAL; /* nothing is known to be visible */
	list->upper = upper + nw_log(data->bound);
}

/* Take in a list that has a class. */
static void
take_list(NwSearch *search, int which, uint32 number, const NwListData *data, Buffer *centres)
{
	NwIndexPart *part = &search->reader->part[which];
	NwSearchList *list;
	int reader_class;
	int32 class;

	nw_list_check_class(part->index, number, data, part->nclasses);
	if (data->bound == 0)
		return;
	reader_class = nw_index_class(part, data->class);
	if (search->admitted && !search->admitted[reader_class])
		return;
	class = nw_search_place(search, reader_class);
	list = &search->list[search->nlists++];
	list->part = which;
	list->first = nw_list_start(number, data);
	list->class = class;
	list->slots = data->bound;
	list->radius = data->radius;
	list->spread = data->spread;
	list->error = data->error;
	list->norm_min = data->norm_min;
	list->by = NW_BY_BALL;
	bound_list(search, list, data,
	           nw_centres_read(part->index, &part->meta, number, search->centre, centres));
	search->class[class].slots += data->bound;
	search->slots += data->bound;
}

/* Take in the lists of one part. */
void
nw_bounds_take_lists(NwSearch *search, int number)
{
	NwIndexPart *part = &search->reader->part[number];
	NwListData *data = palloc(NW_LISTS_PER_PAGE * sizeof(NwListData));
	Buffer centres = InvalidBuffer;
	uint32 list = 0;

	while (list < part->meta.nlists)
	{
		int n = nw_lists_read(part->index, &part->meta, list, data);

		for (int i = 0; i < n; i++, list++)
		{
			if (list == NW_COMMON_LIST)
				search->common_slots += data[i].bound;
			else
				take_list(search, number, list, &data[i], &centres);
		}
		CHECK_FOR_INTERRUPTS();
	}
	if (BufferIsValid(centres))
		ReleaseBuffer(centres);
	pfree(data);
}

/* ---- codes ---- */

StaticAssertDecl(NW_MAX_SLOTS <= NW_CODE_SUM_MAX, "a page has more rows than a sum takes at once");

/* Rows of a code page: what is stored of each, beside the code. */
typedef struct PageCodes
{
	int n;
	float dot[NW_MAX_SLOTS];
	float scale[NW_MAX_SLOTS];
	float error[NW_MAX_SLOTS];
	float sqnorm[NW_MAX_SLOTS];
	float norm[NW_MAX_SLOTS];
} PageCodes;

/* Rows of a code page that are bounded one by one. */
typedef struct PageRest
{
	PageCodes codes;
	int32 class[NW_MAX_SLOTS];
	ItemPointerData tid[NW_MAX_SLOTS];
	bool visible[NW_MAX_SLOTS];
	double lower[NW_MAX_SLOTS];
	double upper[NW_MAX_SLOTS];
} PageRest;

/* Copy what is stored of a slot. */
static inline void
copy_slot(PageCodes *codes, const NwSlots *slots, const float *dot, int slot)
{
	int n = codes->n++;

	codes->dot[n] = dot[slot];
	codes->scale[n] = slots->scale[slot];
	codes->error[n] = fabsf(slots->error[slot]);
	codes->sqnorm[n] = slots->sqnorm[slot];
	codes->norm[n] = slots->norm[slot];
}

/* Leave a slot to be bounded by itself. */
static inline void
leave_slot(PageRest *rest, const NwSlots *slots, const float *dot, int slot, int32 class,
           bool visible)
{
	int n = rest->codes.n;

	rest->class[n] = class;
	rest->tid[n] = slots->tid[slot];
	rest->visible[n] = visible;
	copy_slot(&rest->codes, slots, dot, slot);
}

/*
 * Add the rows of a page to a sum, as far as that covers them and they are
 * visible to everyone; the others, and all where the sum cannot take them, are
 * left.
 */
static void
sum_page(NwIndexPart *part, int32 class, const NwCodeQuery *query, const NwSlots *slots,
         const float *dot, int used, NwCodeSum *sum, PageRest *rest)
{
	int16 taken[NW_MAX_SLOTS];
	int n = 0;

	for (int i = 0; i < used; i++)
	{
		bool visible;

		if (!ItemPointerIsValid(&slots->tid[i]))
			continue;
		visible = nw_index_all_visible(part, &slots->tid[i]);
		if (visible && nw_slot_is_covered(slots->error[i]))
			taken[n++] = i;
		else
			leave_slot(rest, slots, dot, i, class, visible);
	}
	if (n == used)
	{
		if (nw_code_sum_add(sum, query, dot, slots->scale, slots->error, slots->sqnorm, slots->norm,
		                    n))
			return;
	}
	else
	{
		PageCodes codes;

		codes.n = 0;
		for (int i = 0; i < n; i++)
			copy_slot(&codes, slots, dot, taken[i]);
		if (nw_code_sum_add(sum, query, codes.dot, codes.scale, codes.error, codes.sqnorm,
		                    codes.norm, n))
			return;
	}
	for (int i = 0; i < n; i++)
		leave_slot(rest, slots, dot, taken[i], class, true);
}

/*
 * Leave the rows of a page that may be of any class.  A class not known yet
 * belongs to rows too new to be seen: that is checked where they are bounded.
 */
static void
leave_page(NwSearch *search, NwIndexPart *part, const NwSlots *slots, const float *dot, int used,
           PageRest *rest)
{
	for (int i = 0; i < used; i++)
	{
		uint32 number = slots->class[i];
		int32 class = number < (uint32) part->nclasses ? nw_index_class(part, number) : -1;

		if (ItemPointerIsValid(&slots->tid[i]) &&
		    (class < 0 || search->admitted == NULL || search->admitted[class]))
			leave_slot(rest, slots, dot, i, class, nw_index_all_visible(part, &slots->tid[i]));
	}
}

/* Bound rows one by one, those visible from below, too. */
static void
bound_rest(NwSearch *search, NwIndexPart *part, const NwCodeQuery *query, PageRest *rest)
{
	PageCodes *codes = &rest->codes;
	int kept = 0;

	nw_code_bounds(query, codes->dot, codes->scale, codes->error, codes->sqnorm, codes->norm,
	               codes->n, rest->lower, rest->upper);
	search->heaviest = Max(search->heaviest, nw_simd->max(rest->upper, codes->n));
	for (int i = 0; i < codes->n; i++)
	{
		double lower = rest->lower[i];

		if (rest->class[i] < 0)
		{
			if (rest->visible[i] || nw_index_row_visible(search->reader, part, &rest->tid[i]))
				nw_report_wrong_class(part->index, &rest->tid[i]);
			continue;
		}
		if (!rest->visible[i])
		{
			if (rest->upper[i] < search->heaviest - HEAVY)
				lower = -HUGE_VAL; /* it does not matter whether it counts */
			else if (!nw_index_row_visible(search->reader, part, &rest->tid[i]))
				continue;
		}
		rest->class[kept] = rest->class[i];
		rest->upper[kept] = rest->upper[i];
		rest->lower[kept++] = lower;
	}
	codes->n = kept;
}

/*
 * Read the nth code page of a list, which is unpinned then.  Its rows are added
 * to the sum of their class, where there is one, or bounded one by one.  Returns
 * the next page of the list, pinned, or InvalidBuffer.
 */
static Buffer
read_codes(NwSearch *search, NwIndexPart *part, const NwCodeQuery *query, Buffer buffer,
           uint32 list, uint32 nth, int32 class, NwCodeSum *sum, PageRest *rest)
{
	Page page = BufferGetPage(buffer);
	Buffer next = InvalidBuffer;
	float dot[NW_MAX_SLOTS];
	int used;
	NwSlots slots;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	nw_codes_check(part->index, &part->meta, &part->layout, buffer, list, nth);
	used = NwPageGetCodes(page)->used;
	nw_page_slots(page, &part->layout, &slots);
	if (BlockNumberIsValid(NwPageGetTail(page)->next))
	{
		/* it is fetched while this one is worked on */
		next =
			nw_index_pin(part, NwPageGetTail(page)->next, &part->codes, part->layout.scale, true);
	}
	nw_index_ahead(&part->codes);
	nw_code_dots(query, slots.code, used, dot);
	nw_index_ahead_end();
	rest->codes.n = 0;
	if (sum)
		sum_page(part, class, query, &slots, dot, used, sum, rest);
	else
		leave_page(search, part, &slots, dot, used, rest);
	UnlockReleaseBuffer(buffer);
	search->reader->work.pages++;
	if (rest->codes.n > 0)
		bound_rest(search, part, query, rest);
	CHECK_FOR_INTERRUPTS();
	return next;
}

/* Pin the first code page of a list; InvalidBuffer where it has none. */
static Buffer
first_buffer(NwIndexPart *part, BlockNumber block)
{
	return BlockNumberIsValid(block) ? nw_index_pin(part, block, &part->codes, 0, false)
	                                 : InvalidBuffer;
}

/* Bound the mass of a list by its codes. */
void
nw_bounds_refine_by_code(NwSearch *search, NwSearchList *list)
{
	NwIndexPart *part = &search->reader->part[list->part];
	NwSearchClass *class = &search->class[list->class];
	Buffer buffer;
	NwLogSum lower = {0, 0};
	NwLogSum upper = {0, 0};
	double low;
	double high;
	NwCodeQuery query;
	NwCodeSum sum;
	PageRest rest;

	nw_centre_read(part->index, &part->meta, list->first.list, search->centre);
	nw_code_query(&query, search->query, search->centre, search->t);
	nw_code_sum_init(&sum, &query, list->radius, list->error, list->norm_min);
	buffer = first_buffer(part, list->first.block);
	for (uint32 nth = 0; BufferIsValid(buffer); nth++)
	{
		buffer = read_codes(search, part, &query, buffer, list->first.list, nth, list->class, &sum,
		                    &rest);
		nw_log_sum_add(&upper, log_of_scores(rest.upper, rest.codes.n));
		nw_log_sum_add(&lower, log_of_scores(rest.lower, rest.codes.n));
	}
	search->heaviest = Max(search->heaviest, sum.top);
	nw_code_sum_bounds(&sum, &query, list->spread, &low, &high);
	nw_log_sum_add(&upper, high);
	nw_log_sum_add(&lower, low);
	list->by = NW_BY_CODES;
	list->lower = nw_log_sum(&lower);
	list->upper = nw_log_sum(&upper);
	nw_log_sum_add(&class->coded, list->upper);
	nw_log_sum_add(&class->coded_lower, list->lower);
	class->coded_slots += list->slots;
}

/* Bound the rows of the common lists by their codes. */
void
nw_bounds_take_common(NwSearch *search)
{
	PageRest rest;

	for (int i = 0; i < search->reader->nparts; i++)
	{
		NwIndexPart *part = &search->reader->part[i];
		NwListData data;
		NwCodeQuery query;
		Buffer buffer;

		nw_list_read(part->index, &part->meta, NW_COMMON_LIST, &data);
		nw_centre_read(part->index, &part->meta, NW_COMMON_LIST, search->centre);
		nw_code_query(&query, search->query, search->centre, search->t);
		buffer = first_buffer(part, data.first_page);
		for (uint32 nth = 0; BufferIsValid(buffer); nth++)
		{
			buffer = read_codes(search, part, &query, buffer, NW_COMMON_LIST, nth, -1, NULL, &rest);
			for (int j = 0; j < rest.codes.n; j++)
			{
				NwCommonSums *sums = &search->common[rest.class[j]];

				nw_log_sum_add(&sums->upper, rest.upper[j]);
				nw_log_sum_add(&sums->lower, rest.lower[j]);
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
add_exact(NwSearch *search, int which, NwPageAt first, NwMass *mass)
{
	NwIndexPart *part = &search->reader->part[which];
	NwPageRows *rows;

	nw_index_first_page(&search->pages, search->reader, part, first, search->wanted);
	while ((rows = nw_index_next_page(&search->pages)) != NULL)
	{
		double score[NW_MAX_SLOTS];
		double bin[NW_MAX_SLOTS];
		uint64_t hi[NW_MAX_SLOTS];
		uint64_t lo[NW_MAX_SLOTS];

		nw_index_measure_page(&search->pages, rows, search->query, score);
		nw_query_score(search->query, score, rows->n, score);
		nw_simd->exp_split(score, rows->n, bin, hi, lo);
		if (mass)
			nw_mass_add_run(mass, rows->n, bin, hi, lo);
		for (int i = 0; i < rows->n && mass == NULL; i++)
		{
			int number = nw_index_class(part, rows->class[i]);

			nw_mass_add_split(&search->class[search->place[number]].mass, bin[i], hi[i], lo[i]);
		}
		search->work->exact += rows->n;
	}
}

/* Replace the bounds of a list by its exact mass. */
void
nw_bounds_refine_exactly(NwSearch *search, NwSearchList *list)
{
	NwMass mass;

	nw_mass_clear(&mass);
	add_exact(search, list->part, list->first, &mass);
	list->by = NW_BY_VECTORS;
	list->lower = list->upper = nw_scaled_log(nw_mass_value(&mass));
	nw_mass_merge(&search->class[list->class].mass, &mass);
}

/*
 * Replace the bounds of contenders' rows in the common lists by their exact
 * masses.  Nothing else has been read exactly yet.
 */
void
nw_bounds_read_common(NwSearch *search)
{
	for (int i = 0; i < search->reader->nparts; i++)
	{
		NwIndexPart *part = &search->reader->part[i];
		NwListData data;

		nw_list_read(part->index, &part->meta, NW_COMMON_LIST, &data);
		add_exact(search, i, nw_list_start(NW_COMMON_LIST, &data), NULL);
	}
	for (int i = 0; i < search->nclasses; i++)
	{
		NwSearchClass *class = &search->class[i];

		if (nw_search_wants(search, i))
		{
			class->common.lower.sum = 0;
			if (!nw_mass_is_empty(&class->mass))
				nw_log_sum_add(&class->common.lower, nw_scaled_log(nw_mass_value(&class->mass)));
			class->common.upper = class->common.lower;
		}
	}
}
