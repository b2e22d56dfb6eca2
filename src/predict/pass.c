/*
 * predict/pass.c
 *		Compare a query with all rows of a set: packed in memory, streaming by, or
 *		on the pages of an index.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "math/elementary.h"
#include "math/simd/simd.h"
#include "predict/pass.h"
#include "predict/statement_cache.h"

/* Measure some rows of a chunk; of their half-size copies where t is given. */
static void
measure_chunk(NwTallying *tallying, const NwSupport *support, const NwChunk *chunk, int from,
              const float *t)
{
	const NwQuery *query = &tallying->tally->query;
	NwBlock *block = &tallying->block;
	Size first = (Size) from * support->dim;

	if (t)
		nw_copies_measure(&support->coarse, t, chunk->copy + first, support->dim, block->n,
		                  block->measure);
	else
		nw_query_measure(query, chunk->x + first, chunk->norm ? chunk->norm + from : NULL, block->n,
		                 block->measure);
	nw_query_score(query, block->measure, block->n, block->score);
	for (int i = 0; chunk->log_weight && i < block->n; i++)
		block->score[i] += chunk->log_weight[from + i];
}

/* Compare the query with packed rows; returns the largest measure of a copy. */
static double
compare_packed(NwTallying *tallying, const NwSupport *support, const float *t)
{
	NwBlock *block = &tallying->block;
	bool ids = nw_call_wants_ids(tallying->call);
	double largest = 0;

	if (support->n > 0)
		nw_tally_check_dim(tallying, support->dim);
	for (int c = 0; c < support->nchunks; c++)
	{
		const NwChunk *chunk = &support->chunk[c];

		for (int from = 0; from < chunk->n; from += NW_BLOCK_ROWS)
		{
			block->n = Min(NW_BLOCK_ROWS, chunk->n - from);
			measure_chunk(tallying, support, chunk, from, t);
			if (t)
				largest = Max(largest, nw_simd->max(block->measure, block->n));
			memcpy(block->class, chunk->class + from, block->n * sizeof(int32));
			if (ids)
				memcpy(block->id, chunk->id + from, block->n * sizeof(char *));
			nw_tally_add_block(tallying);
		}
	}
	return largest;
}

/* Compare the query with packed rows. */
void
nw_pass_packed(NwTallying *tallying, const NwSupport *support)
{
	(void) compare_packed(tallying, support, NULL);
}

/* Compare the query with half-size copies; returns how far a score may be off. */
double
nw_pass_copies(NwTallying *tallying, const NwSupport *support)
{
	const NwQuery *query = &tallying->tally->query;
	float *t;
	double largest;

	nw_tally_check_dim(tallying, support->dim);
	t = palloc(support->dim * sizeof(float));
	nw_copies_query(&support->coarse, query, t);
	largest = compare_packed(tallying, support, t);
	pfree(t);
	return nw_copies_score_error(&support->coarse, query, largest);
}

/* A pass over rows that stream by. */
typedef struct Streaming
{
	NwTallying *tallying;
	const NwSource *source;
	bool any; /* row has been compared */
	bool weighted;
	bool ids;
	NwTextOut id_out;
	MemoryContext id_mcxt; /* ids of the current block */
	NwSupport *packing;    /* NULL where rows are not packed, or no more */
} Streaming;

/* Turn the measures of a streamed block into scores, and add it. */
static void
finish_block(Streaming *streaming)
{
	NwTallying *tallying = streaming->tallying;
	const NwQuery *query = &tallying->tally->query;
	NwBlock *block = &tallying->block;

	/* score[] holds the logarithms of row weights until now */
	if (streaming->weighted)
	{
		double score[NW_BLOCK_ROWS];

		nw_query_score(query, block->measure, block->n, score);
		for (int i = 0; i < block->n; i++)
			block->score[i] += score[i];
	}
	else
		nw_query_score(query, block->measure, block->n, block->score);
	nw_tally_add_block(tallying);
	if (streaming->id_mcxt)
		MemoryContextReset(streaming->id_mcxt);
}

/* Pack a row for later calls, as long as it fits. */
static void
pack_row(Streaming *streaming, const NwRow *row, int class)
{
	NwSupport *support = streaming->packing;
	int chunks = support->nchunks;

	nw_support_append(support, row, class);

	/* measure memory only when a chunk was added, and now and then */
	if ((support->nchunks != chunks || support->n % 4096 == 0) &&
	    !nw_cache_reserve(nw_support_memory(support)))
	{
		streaming->packing = NULL;
		nw_support_free(support);
	}
}

/* Compare the query with a row as it streams by. */
static void
receive_row(const NwRow *row, void *arg)
{
	Streaming *streaming = arg;
	NwTallying *tallying = streaming->tallying;
	const NwQuery *query = &tallying->tally->query;
	NwBlock *block = &tallying->block;
	int i = block->n;
	double norm;

	if (streaming->any && row->vector.dim != tallying->call->query.dim)
		nw_scan_report_mixed(streaming->source, tallying->call->query.dim, row->vector.dim);
	nw_tally_check_dim(tallying, row->vector.dim);
	streaming->any = true;
	if (nw_kernel_needs_norms(query->kernel))
		nw_inverse_norms(row->vector.x, row->vector.dim, 1, &norm);
	nw_query_measure(query, row->vector.x, nw_kernel_needs_norms(query->kernel) ? &norm : NULL, 1,
	                 &block->measure[i]);
	if (streaming->weighted)
		block->score[i] = nw_log(row->weight);
	block->class[i] = nw_labels_add(tallying->tally->labels, row->label);
	if (streaming->ids)
		block->id[i] = row->id_isnull ? NULL
		                              : nw_bytes_copy(streaming->id_mcxt,
		                                              nw_text_out(&streaming->id_out, row->id));
	if (streaming->packing)
		pack_row(streaming, row, block->class[i]);
	if (++block->n == NW_BLOCK_ROWS)
		finish_block(streaming);
}

/*
 * Compare the query with rows as they stream by, packing them where a support is given;
 * false where they did not fit, and it has been freed.
 */
bool
nw_pass_rows(NwTallying *tallying, NwRoute *route, NwSupport *packing)
{
	Streaming streaming = {.tallying = tallying,
	                       .source = route->source,
	                       .weighted = nw_source_is_weighted(route->source),
	                       .ids = (route->columns & NW_SCAN_ID) != 0,
	                       .packing = packing};

	if (streaming.ids)
	{
		nw_text_out_init(&streaming.id_out, route->source->id_type, tallying->mcxt);
		streaming.id_mcxt =
			AllocSetContextCreate(tallying->mcxt, "nwhead block ids", ALLOCSET_DEFAULT_SIZES);
	}
	nw_route_read(route, receive_row, &streaming);
	finish_block(&streaming);
	return streaming.packing == packing;
}

/* What it takes to look up the id of a row that came out of an index. */
typedef struct Naming
{
	NwIndexReader *index;
	const NwSource *source;
	NwTextOut id_out;
} Naming;

/* Look up the id of a row that came out of an index. */
static char *
name_row(const NwHeavy *item, void *arg)
{
	Naming *naming = arg;
	ItemPointerData tid = item->tid;

	return nw_index_fetch_id(naming->index, naming->source, &naming->id_out, item->part, &tid);
}

/* Leave the ids of the heaviest supports to be looked up when they are needed. */
static void
name_later(NwTallying *tallying, const NwRoute *route)
{
	NwTally *tally = tallying->tally;
	Naming *naming = palloc0(sizeof(Naming));

	naming->index = route->index;
	naming->source = route->source;
	if (tallying->call->top > 0)
		nw_text_out_init(&naming->id_out, route->source->id_type, tallying->mcxt);
	tally->heaviest.namer = tally->heaviest_others.namer = name_row;
	tally->heaviest.namer_arg = tally->heaviest_others.namer_arg = naming;
}

/* Compare the query with the rows of one page of an index. */
static void
compare_page(NwTallying *tallying, NwIndexPages *pages, NwPageRows *rows)
{
	const NwQuery *query = &tallying->tally->query;
	NwBlock *block = &tallying->block;
	int part = pages->part - pages->reader->part;
	double measure[NW_MAX_SLOTS];

	nw_index_measure_page(pages, rows, query, measure);
	for (int from = 0; from < rows->n; from += NW_BLOCK_ROWS)
	{
		block->n = Min(NW_BLOCK_ROWS, rows->n - from);
		memcpy(block->measure, measure + from, block->n * sizeof(double));
		nw_query_score(query, block->measure, block->n, block->score);
		for (int i = 0; i < block->n; i++)
		{
			block->class[i] = nw_index_class(pages->part, rows->class[from + i]);
			block->id[i] = NULL;
			block->part[i] = part;
			block->tid[i] = rows->tid[from + i];
		}
		nw_tally_add_block(tallying);
	}
}

/*
 * Compare the query with the rows of an index where they lie, looking up only the ids
 * of the heaviest.  False where the route has no index, or not of the query's
 * dimensions: whether that is an error depends on the rows there are.
 */
bool
nw_pass_index(NwTallying *tallying, NwRoute *route)
{
	NwIndexWalk *walk;
	NwPageRows *rows;

	if (route->index == NULL)
		return false;
	nw_index_begin(route->index, tallying->tally->labels);
	if (!nw_index_has_dim(route->index, tallying->call->query.dim))
	{
		if (route->columns & NW_SCAN_ID)
			nw_route_leave_index(route);
		return false;
	}
	name_later(tallying, route);
	walk = palloc0(sizeof(NwIndexWalk));
	while ((rows = nw_index_walk(route->index, walk)) != NULL)
		compare_page(tallying, &walk->pages, rows);
	pfree(walk);
	return true;
}
