/*
 * predict/batch.c
 *		Compare many queries with a support set in one pass.
 *
 * Queries are gathered in blocks, and each block of supports is read once for
 * a block of queries.  A support that fits in memory is packed and sorted by
 * class; a larger one streams through the executor, once for each block of
 * queries.  Masses do not depend on the order of their terms, so neither the
 * way of reading nor the size of a block shows in the answers.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "grow.h"
#include "math/elementary.h"
#include "math/half.h"
#include "math/simd/simd.h"
#include "predict/batch.h"
#include "predict/mixed_batch.h"
#include "predict/route.h"
#include "predict/statement_cache.h"

/* Queries in a block: enough to share the reading, few enough for a cache. */
#define PACKED_QUERIES 128
#define STREAMED_QUERIES 256

/* Bytes that a processor reads at a time. */
#define CACHE_LINE 64

/* Bounds on what a block of queries takes, in bytes. */
#define MASS_BYTES (16 * 1024 * 1024)
#define MEASURE_BYTES (32 * 1024 * 1024)

/* A run of supports of one class within a block. */
typedef struct Run
{
	int start; /* place of its first row in the block */
	int class;
} Run;

/* A pair of one support and one query that is the same row. */
typedef struct Own
{
	int query; /* in the block of queries */
	int place; /* in the block of rows */
} Own;

/* A block of supports, wherever it comes from. */
typedef struct Rows
{
	int n;
	int64 base;               /* position of the first in the support */
	const float *x;           /* [n][dim] */
	const int32 *class;       /* [n] */
	const double *norm;       /* [n] or NULL */
	const double *log_weight; /* [n] or NULL */
	const char *const *id;    /* [n] or NULL */
	bool sorted;              /* by class */
} Rows;

/* Rows of a scan, gathered to a block. */
typedef struct Gathered
{
	float *x; /* [NW_BLOCK_ROWS][dim] */
	int32 class[NW_BLOCK_ROWS];
	double norm[NW_BLOCK_ROWS];
	double log_weight[NW_BLOCK_ROWS];
	const char *id[NW_BLOCK_ROWS];
	int n;
	bool any; /* row has been gathered */
	NwTextOut id_out;
	MemoryContext id_mcxt; /* of the ids */
} Gathered;

/* What a batch keeps from one block of queries to the next. */
typedef struct BatchState
{
	MemoryContext mcxt;       /* lives as long as the batch */
	MemoryContext block_mcxt; /* emptied after each block of queries */
	NwLabels *labels;
	NwKernel kernel;
	double tau;
	double temper;
	int dim;             /* 0 until known */
	int capacity;        /* queries in a block, at most */
	int n;               /* queries in the block at hand */
	NwAnswer *answer;    /* [capacity] */
	double *q;           /* [capacity][dim] */
	double *sqnorm;      /* [capacity] */
	double *measure;     /* [capacity][NW_BLOCK_ROWS] */
	double *kept;        /* [capacity][support->n] where asked for */
	NwLabels *query_ids; /* ids of the block's queries, numbered */
	Own *own;            /* [nown] pairs within the current block of rows */
	int nown;
	int own_allocated;
	bool left_out;      /* there was such a pair */
	Gathered *gathered; /* streaming only */
	int64 *class_count; /* [count_allocated] rows of each class in the pass under way */
	int count_allocated;
	int64 smallest; /* the smallest class of any pass; 0 before */
} BatchState;

/* Say whether the ids of supports matter. */
static bool
needs_ids(const NwBatch *batch)
{
	return batch->leave_one_out || (batch->top > 0 && !batch->unnamed);
}

/* Columns of the support that a batch needs. */
static int
support_columns(const NwBatch *batch)
{
	return NW_SCAN_LABEL | NW_SCAN_WEIGHT | (needs_ids(batch) ? NW_SCAN_ID : 0);
}

/* Decide how many queries make a block, and allocate for them. */
static void
size_block(NwBatch *batch)
{
	BatchState *state = batch->state;
	Size capacity = batch->support ? PACKED_QUERIES : STREAMED_QUERIES;

	if (batch->support)
		capacity = Min(capacity, MASS_BYTES / Max(batch->sharers, 1) /
		                             (Max(state->labels->n, 1) * sizeof(NwMass)));
	if (batch->measures)
		capacity = Min(capacity, MEASURE_BYTES / (Max(batch->support->n, 1) * sizeof(double)));
	state->capacity = (int) Max(capacity, 1);
	state->answer = MemoryContextAllocZero(state->mcxt, state->capacity * sizeof(NwAnswer));
	state->sqnorm = MemoryContextAlloc(state->mcxt, state->capacity * sizeof(double));
	state->measure =
		MemoryContextAlloc(state->mcxt, sizeof(double) * state->capacity * NW_BLOCK_ROWS);
	if (batch->measures)
		state->kept = MemoryContextAllocHuge(state->mcxt, sizeof(double) * state->capacity *
		                                                      Max(batch->support->n, 1));
}

static void
init_state(NwBatch *batch, NwKernel kernel, double tau, double temper, NwLabels *labels)
{
	BatchState *state = palloc0(sizeof(BatchState));

	state->mcxt = CurrentMemoryContext;
	state->block_mcxt =
		AllocSetContextCreate(CurrentMemoryContext, "nwhead query block", ALLOCSET_DEFAULT_SIZES);
	state->kernel = kernel;
	state->tau = tau;
	state->temper = temper;
	state->labels = labels;
	batch->state = state;
}

/* Use a support that was packed and sorted before. */
void
nw_batch_open_support(NwBatch *batch, NwSupport *support)
{
	init_state(batch, support->kernel, support->tau, support->temper, support->labels);
	batch->state->dim = support->dim;
	batch->support = support;
	size_block(batch);
}

/*
 * Read the support.  One that does not fit in the bound is streamed once for each block
 * of queries, or (measures) is an error.
 */
void
nw_batch_open(NwBatch *batch, Size bound)
{
	const NwSource *source = batch->source;
	NwSupport *support;

	if (batch->mixture)
	{
		nw_mixed_open(batch, bound);
		return;
	}
	support = nw_support_read(source, support_columns(batch), bound);
	if (support)
	{
		if (batch->sharers == 0)
			nw_support_check_rows(support, source);
		/* what is added up from measures depends on the order of rows */
		nw_support_sort(support, batch->measures);
		nw_batch_open_support(batch, support);
		return;
	}
	if (batch->measures)
		nw_support_report_too_big(source);
	init_state(batch, source->set->kernel, source->set->tau, source->set->temper,
	           nw_labels_create(CurrentMemoryContext, source->label_type));
	size_block(batch);
}

/* Take the next place in the block for a query of a vector. */
static NwAnswer *
next_answer(NwBatch *batch, const float *x, int dim)
{
	BatchState *state = batch->state;
	NwAnswer *answer;

	if (state->dim == 0)
		state->dim = dim;
	if (dim != state->dim)
		nw_report_dim(dim, batch->source->set->name, state->dim);
	if (state->q == NULL)
	{
		/* the loops over a block of queries like whole cache lines */
		char *q = MemoryContextAllocHuge(state->mcxt,
		                                 sizeof(double) * state->capacity * dim + CACHE_LINE);

		state->q = (double *) TYPEALIGN(CACHE_LINE, q);
	}

	answer = &state->answer[state->n];
	memset(answer, 0, sizeof(NwAnswer));
	nw_query_init(&answer->tally.query, state->kernel, state->tau, x, dim,
	              state->q + (Size) state->n * dim);
	state->sqnorm[state->n] = answer->tally.query.sqnorm;
	answer->tally.temper = state->temper;
	answer->tally.labels = state->labels;
	answer->truth_class = -1;
	answer->own_row = -1;
	nw_heaviest_init(&answer->tally.heaviest, batch->top, state->labels, state->block_mcxt);
	nw_heaviest_init(&answer->tally.heaviest_others, batch->top, state->labels, state->block_mcxt);
	nw_tally_seek_nearest(&answer->tally, batch->typical, state->block_mcxt);
	if (state->kept)
		answer->measure = state->kept + (Size) state->n * batch->support->n;
	state->n++;
	return answer;
}

/* Count a block of rows by class. */
static void
count_rows(BatchState *state, const Rows *rows)
{
	int old = state->count_allocated;

	NW_RESERVE(state->mcxt, state->class_count, state->count_allocated, state->labels->n);
	if (state->count_allocated > old)
		memset(state->class_count + old, 0, (state->count_allocated - old) * sizeof(int64));
	for (int i = 0; i < rows->n; i++)
		state->class_count[rows->class[i]]++;
}

/*
 * Note the smallest class of a pass that has ended, and make ready for the
 * next.  A support that is read anew may have other rows then, and classes not
 * met before: a view can do as it likes.
 */
static void
finish_counts(BatchState *state)
{
	for (int i = 0; i < state->count_allocated; i++)
	{
		int64 count = state->class_count[i];

		if (count > 0 && (state->smallest == 0 || count < state->smallest))
			state->smallest = count;
		state->class_count[i] = 0;
	}
}

/* The rows of the smallest class, once a block has been answered. */
int64
nw_batch_smallest_class(const NwBatch *batch)
{
	return batch->state->smallest;
}

/* Say whether any query was a row of the support, and left it out. */
bool
nw_batch_left_out(const NwBatch *batch)
{
	for (int i = 0; batch->mixture && i < batch->mixture->nmembers; i++)
	{
		if (nw_batch_left_out(&batch->member[i]))
			return true;
	}
	return batch->state && batch->state->left_out;
}

/* Note that a query and a row of the current block are one. */
static void
add_own(BatchState *state, int query, int place)
{
	NW_RESERVE(state->mcxt, state->own, state->own_allocated, state->nown + 1);
	state->own[state->nown].query = query;
	state->own[state->nown++].place = place;
	state->left_out = true;
}

/*
 * Say whether a query is a row of the support itself, which it leaves out: known by
 * its place where the support was asked about its own rows, else by its id.
 */
static bool
is_own(const NwBatch *batch, const NwAnswer *answer, int64 row, const char *id, const float *x)
{
	if (answer->own_row >= 0)
		return row == answer->own_row;
	if (!batch->leave_one_out || !id || !answer->query_id || strcmp(id, answer->query_id) != 0)
		return false;
	return answer->vector == NULL || nw_half_same(x, answer->vector, batch->state->dim);
}

/* Find the pairs to leave out of a block of rows. */
static void
find_own(NwBatch *batch, const Rows *rows)
{
	BatchState *state = batch->state;

	state->nown = 0;
	if (!batch->leave_one_out)
		return;
	for (int i = 0; i < state->n; i++)
	{
		int64 place = state->answer[i].own_row - rows->base;

		if (state->answer[i].own_row >= 0 && place >= 0 && place < rows->n)
			add_own(state, i, (int) place);
	}
	for (int j = 0; state->query_ids && j < rows->n; j++)
	{
		const char *id = rows->id[j];

		/* few rows are queries of this block */
		if (id == NULL || nw_labels_find_text(state->query_ids, nw_bytes_of_string(id)) < 0)
			continue;
		for (int i = 0; i < state->n; i++)
		{
			if (is_own(batch, &state->answer[i], rows->base + j, id,
			           rows->x + (Size) j * state->dim))
				add_own(state, i, j);
		}
	}
}

/*
 * The scores [support->n] of a query against the rows of a packed support, out of the
 * measures that were kept: at a temperature (0 for the query's own), with row weights
 * where weighted, and none in place of the score of a row that the query itself is.
 */
void
nw_answer_scores(const NwBatch *batch, const NwAnswer *answer, double tau, bool weighted,
                 double none, double *score)
{
	const NwSupport *support = batch->support;
	NwQuery query = answer->tally.query;
	int64 base = 0;

	if (tau > 0)
		nw_query_set_tau(&query, tau);
	for (int c = 0; c < support->nchunks; c++)
	{
		const NwChunk *chunk = &support->chunk[c];

		nw_query_score(&query, answer->measure + base, chunk->n, score + base);
		for (int i = 0; weighted && chunk->log_weight && i < chunk->n; i++)
			score[base + i] += chunk->log_weight[i];
		base += chunk->n;
	}
	for (int i = 0; i < answer->nleft_out; i++)
		score[answer->left_out[i]] = none;
}

/* Offer a query's scores to its lists of the heaviest supports. */
static void
offer_heaviest(NwBatch *batch, NwAnswer *answer, const Rows *rows, const double *measure,
               const double *score)
{
	for (int j = 0; j < rows->n; j++)
	{
		NwHeaviest *list = &answer->tally.heaviest;

		if (batch->by_truth && rows->class[j] != answer->truth_class)
			list = &answer->tally.heaviest_others;
		if (score[j] == -HUGE_VAL || (list->n == list->limit && score[j] < list->item[0].score))
			continue;
		nw_heaviest_offer(list, &(NwHeavy) {.score = score[j],
		                                    .measure = measure[j],
		                                    .class = rows->class[j],
		                                    .id = rows->id ? rows->id[j] : NULL});
	}
}

/* Offer a query's measures to its list of the nearest supports. */
static void
offer_nearest(NwNearest *nearest, const double *measure, const double *score, int n)
{
	for (int j = 0; j < n; j++)
	{
		/* a row that is left out has that score */
		if (nw_nearest_admits(nearest, measure[j]) && score[j] != -HUGE_VAL)
			nw_nearest_add(nearest, measure[j]);
	}
}

/* Add a query's scores to the masses of classes in any order. */
static void
scatter_scores(NwTally *tally, const Rows *rows, const double *score)
{
	double bin[NW_BLOCK_ROWS];
	uint64_t hi[NW_BLOCK_ROWS];
	uint64_t lo[NW_BLOCK_ROWS];

	nw_mass_split(score, rows->n, bin, hi, lo);
	nw_mass_scatter(tally->mass, rows->class, rows->n, bin, hi, lo);
}

/* Compare all queries of the block with a block of rows. */
static void
compare_rows(NwBatch *batch, const Rows *rows)
{
	BatchState *state = batch->state;
	double score[NW_BLOCK_ROWS];
	Run run[NW_BLOCK_ROWS + 1];
	int nruns = 0;
	const Own *own;

	nw_query_measure_block(state->kernel, state->q, state->sqnorm, state->n, state->dim, rows->x,
	                       rows->norm, rows->n, state->measure);
	find_own(batch, rows);
	own = state->own;
	count_rows(state, rows);

	if (rows->sorted)
	{
		for (int j = 0; j < rows->n; j++)
		{
			if (nruns == 0 || run[nruns - 1].class != rows->class[j])
				run[nruns++] = (Run) {j, rows->class[j]};
		}
	}
	run[nruns].start = rows->n;

	for (int i = 0; i < state->n; i++)
	{
		NwAnswer *answer = &state->answer[i];
		NwTally *tally = &answer->tally;
		const double *measure = state->measure + (Size) i * rows->n;

		nw_query_score(&tally->query, measure, rows->n, score);
		if (rows->log_weight)
		{
			for (int j = 0; j < rows->n; j++)
				score[j] += rows->log_weight[j];
		}

		/* a score of -infinity adds nothing */
		for (int k = 0; k < state->nown; k++)
		{
			if (own[k].query != i)
				continue;
			score[own[k].place] = -HUGE_VAL;
			if (state->kept)
			{
				NW_RESERVE(state->block_mcxt, answer->left_out, answer->left_out_allocated,
				           answer->nleft_out + 1);
				answer->left_out[answer->nleft_out++] = rows->base + own[k].place;
			}
		}

		nw_tally_reserve(tally, state->block_mcxt, false);
		if (rows->sorted)
		{
			for (int r = 0; r < nruns; r++)
				nw_mass_add_scores(&tally->mass[run[r].class], run[r + 1].start - run[r].start,
				                   score + run[r].start);
		}
		else
			scatter_scores(tally, rows, score);
		if (batch->top > 0)
			offer_heaviest(batch, answer, rows, measure, score);
		if (tally->nearest.k > 0)
			offer_nearest(&tally->nearest, measure, score, rows->n);
		if (state->kept)
			memcpy(unconstify(double *, answer->measure) + rows->base, measure,
			       rows->n * sizeof(double));
	}
	CHECK_FOR_INTERRUPTS();
}

/* Compare the block of queries with a packed support. */
static void
compare_packed(NwBatch *batch)
{
	const NwSupport *support = batch->support;
	int64 base = 0;

	for (int c = 0; c < support->nchunks; c++)
	{
		const NwChunk *chunk = &support->chunk[c];

		for (int from = 0; from < chunk->n; from += NW_BLOCK_ROWS)
		{
			Rows rows = {.n = Min(NW_BLOCK_ROWS, chunk->n - from),
			             .base = base + from,
			             .x = chunk->x + (Size) from * support->dim,
			             .class = chunk->class + from,
			             .norm = chunk->norm ? chunk->norm + from : NULL,
			             .log_weight = chunk->log_weight ? chunk->log_weight + from : NULL,
			             .id = chunk->id ? chunk->id + from : NULL,
			             .sorted = true};

			compare_rows(batch, &rows);
		}
		base += chunk->n;
	}
}

/* Compare the block of queries with the rows gathered so far. */
static void
flush_gathered(NwBatch *batch)
{
	Gathered *gathered = batch->state->gathered;
	Rows rows = {.n = gathered->n,
	             .x = gathered->x,
	             .class = gathered->class,
	             .norm = gathered->norm,
	             .log_weight = nw_source_is_weighted(batch->source) ? gathered->log_weight : NULL,
	             .id = gathered->id};

	if (gathered->n > 0)
		compare_rows(batch, &rows);
	gathered->n = 0;
	MemoryContextReset(gathered->id_mcxt);
}

/* Gather one row of a streaming support. */
static void
gather_row(const NwRow *row, void *arg)
{
	NwBatch *batch = arg;
	BatchState *state = batch->state;
	Gathered *gathered = state->gathered;
	int i = gathered->n++;

	if (row->vector.dim != state->dim)
	{
		if (gathered->any)
			nw_scan_report_mixed(batch->source, state->dim, row->vector.dim);
		nw_report_dim(state->dim, batch->source->set->name, row->vector.dim);
	}
	gathered->any = true;
	memcpy(gathered->x + (Size) i * state->dim, row->vector.x, sizeof(float) * state->dim);
	gathered->class[i] = nw_labels_add(state->labels, row->label);
	if (nw_kernel_keeps_norms(state->kernel))
		nw_row_norms(state->kernel, row->vector.x, state->dim, 1, &gathered->norm[i]);
	gathered->log_weight[i] = nw_log(row->weight);
	gathered->id[i] = NULL;
	if (needs_ids(batch) && !row->id_isnull)
		gathered->id[i] = nw_bytes_copy(gathered->id_mcxt, nw_text_out(&gathered->id_out, row->id));
	if (gathered->n == NW_BLOCK_ROWS)
		flush_gathered(batch);
}

/* Compare the block of queries with a support that is read anew. */
static void
compare_streamed(NwBatch *batch)
{
	BatchState *state = batch->state;
	NwRoute route;

	if (state->gathered == NULL)
	{
		Gathered *gathered = MemoryContextAllocZero(state->mcxt, sizeof(Gathered));

		gathered->x = MemoryContextAlloc(state->mcxt, sizeof(float) * NW_BLOCK_ROWS * state->dim);
		gathered->id_mcxt =
			AllocSetContextCreate(state->mcxt, "nwhead block ids", ALLOCSET_DEFAULT_SIZES);
		nw_text_out_init(&gathered->id_out, batch->source->id_type, state->mcxt);
		state->gathered = gathered;
	}
	nw_route_open(&route, batch->source, support_columns(batch), false);
	nw_route_read(&route, gather_row, batch);
	nw_route_close(&route);
	flush_gathered(batch);
}

/* How many queries a block has at most. */
int
nw_batch_capacity(const NwBatch *batch)
{
	return batch->state->capacity;
}

/* Answer the queries of the block: [n].  They stay until it is cleared. */
NwAnswer *
nw_batch_answer(NwBatch *batch, int *n)
{
	BatchState *state = batch->state;
	MemoryContext caller = MemoryContextSwitchTo(state->block_mcxt);

	if (state->n > 0)
	{
		if (batch->support)
			compare_packed(batch);
		else
			compare_streamed(batch);
		finish_counts(state);
	}
	for (int i = 0; i < state->n; i++)
	{
		NwAnswer *answer = &state->answer[i];

		/* no row may have come by, though earlier blocks met some */
		nw_tally_reserve(&answer->tally, state->block_mcxt, false);

		/* only now are all labels known */
		if (answer->labelled)
			answer->truth_class = nw_labels_find_text(state->labels, answer->truth);
		if (!nw_tally_close(&answer->tally, state->block_mcxt) && answer->own_row < 0 &&
		    batch->sharers == 0)
			nw_report_no_support(batch->source->set->name, batch->leave_one_out);
		nw_heaviest_sort(&answer->tally.heaviest);
		nw_heaviest_sort(&answer->tally.heaviest_others);
		CHECK_FOR_INTERRUPTS();
	}
	MemoryContextSwitchTo(caller);
	*n = state->n;
	return state->answer;
}

/* Empty the block. */
void
nw_batch_clear(NwBatch *batch)
{
	BatchState *state = batch->state;

	MemoryContextReset(state->block_mcxt);
	state->n = 0;
	state->query_ids = NULL;
}

/* Answer the queries of the block, hand the answers out, and empty it. */
static void
flush_queries(NwBatch *batch)
{
	int n;
	const NwAnswer *answer = nw_batch_answer(batch, &n);
	MemoryContext caller = MemoryContextSwitchTo(batch->state->block_mcxt);

	for (int i = 0; i < n; i++)
	{
		batch->callback(&answer[i], batch->arg);
		CHECK_FOR_INTERRUPTS();
	}
	MemoryContextSwitchTo(caller);
	nw_batch_clear(batch);
}

/*
 * Ask about a vector; id and truth (data NULL where unlabelled) are copied.
 */
void
nw_batch_ask(NwBatch *batch, NwVectorData vector, const char *id, NwBytes truth)
{
	BatchState *state = batch->state;
	NwAnswer *answer;

	if (batch->mixture)
	{
		nw_mixed_ask(batch, vector, id, truth);
		return;
	}
	answer = next_answer(batch, vector.x, vector.dim);
	if (id)
		answer->query_id = MemoryContextStrdup(state->block_mcxt, id);
	if (truth.data)
	{
		answer->labelled = true;
		answer->truth.data = nw_bytes_copy(state->block_mcxt, truth);
		answer->truth.len = truth.len;
		answer->truth_class = nw_labels_find_text(state->labels, answer->truth);
	}
	if (batch->same_vector)
		answer->vector = memcpy(MemoryContextAlloc(state->block_mcxt, sizeof(float) * vector.dim),
		                        vector.x, sizeof(float) * vector.dim);
	if (batch->leave_one_out)
	{
		if (state->query_ids == NULL)
			state->query_ids = nw_labels_create(state->block_mcxt, TEXTOID);
		if (id)
			(void) nw_labels_add_text(state->query_ids, nw_bytes_of_string(id));
	}
	if (state->n == state->capacity && batch->sharers == 0)
		flush_queries(batch);
}

/* Ask about a row of a packed set of queries. */
void
nw_batch_ask_row(NwBatch *batch, const NwSupport *queries, int64 row)
{
	int place;
	const NwChunk *chunk = nw_support_locate(queries, row, &place);
	NwVectorData vector = {chunk->x + (Size) place * queries->dim, queries->dim};

	nw_batch_ask(batch, vector, chunk->id ? chunk->id[place] : NULL,
	             queries->labels->text[chunk->class[place]]);
}

/* Ask about a row of the packed support, without that row. */
void
nw_batch_ask_own(NwBatch *batch, int64 row)
{
	BatchState *state = batch->state;
	int place;
	const NwChunk *chunk = nw_support_locate(batch->support, row, &place);
	NwAnswer *answer;

	answer = next_answer(batch, chunk->x + (Size) place * batch->support->dim, batch->support->dim);
	answer->query_id = chunk->id ? chunk->id[place] : NULL;
	answer->labelled = true;
	answer->truth_class = chunk->class[place];
	answer->truth = state->labels->text[answer->truth_class];
	answer->own_row = row;
	if (state->n == state->capacity)
		flush_queries(batch);
}

/* False where queries were to leave themselves out, and none was found in the support. */
bool
nw_batch_left_as_asked(const NwBatch *batch)
{
	return !batch->same_vector || batch->state->left_out || batch->state->dim == 0;
}

/* Complain about queries that were to leave themselves out of a set that has none. */
void
nw_batch_report_nothing_left_out(const char *set)
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
	                errmsg("leave_one_out has nothing to leave out"),
	                errdetail("No query has id and embedding of a row of set \"%s\".", set)));
}

/* Answer what is still open. */
void
nw_batch_finish(NwBatch *batch)
{
	if (batch->mixture)
	{
		nw_mixed_finish(batch);
		return;
	}
	flush_queries(batch);
	if (!nw_batch_left_as_asked(batch))
		nw_batch_report_nothing_left_out(batch->source->set->name);
}

/* What a scan of queries passes on. */
typedef struct QueryScan
{
	NwBatch *batch;
	NwTextOut id_out;
	NwTextOut truth_out;
} QueryScan;

/* Ask about one row of a set of queries. */
static void
ask_row(const NwRow *row, void *arg)
{
	QueryScan *scan = arg;
	NwBytes truth = {NULL, 0};
	char *id = NULL;

	if (!row->id_isnull)
	{
		NwBytes text = nw_text_out(&scan->id_out, row->id);

		id = pnstrdup(text.data, text.len);
	}
	if (!row->label_isnull)
		truth = nw_text_out(&scan->truth_out, row->label);
	nw_batch_ask(scan->batch, row->vector, id, truth);
}

/* Ask about all rows of a set. */
void
nw_batch_ask_set(NwBatch *batch, const NwSource *queries)
{
	QueryScan scan = {.batch = batch};

	nw_text_out_init(&scan.id_out, queries->id_type, CurrentMemoryContext);
	if (OidIsValid(queries->label_type))
		nw_text_out_init(&scan.truth_out, queries->label_type, CurrentMemoryContext);
	nw_scan_run(nw_scan_plan(queries, NW_SCAN_TRUTH | NW_SCAN_ID, 0), ask_row, &scan);
}

/* Read the support, ask about all rows of a set, and answer. */
void
nw_batch_run(NwBatch *batch, const NwSource *queries)
{
	nw_batch_open(batch, nw_cache_bound());
	nw_batch_ask_set(batch, queries);
	nw_batch_finish(batch);
}
