/*
 * predict/tally.c
 *		Compare one query with every support and add up the classes' masses.
 *
 * Supports come from one of two places: rows streaming out of a scan, or
 * chunks packed by an earlier call of the statement.  Either way they are
 * measured in blocks, and from there on the code is the same.  Where nothing
 * but the label is wanted, half-size copies of packed rows are tried first.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "index/search.h"
#include "math/elementary.h"
#include "math/simd/simd.h"
#include "predict/cache.h"
#include "predict/prototypes.h"
#include "predict/tally.h"

/* So many ids are looked up one by one, rather than read with all rows. */
#define NAMED_BY_INDEX 1000

/* Where bounds left more than this share of the supports to be read exactly,
 * later calls of the statement pack them. */
#define EXACT_SHARE 0.25

/* An index of fewer blocks: rows packed for a whole statement are faster. */
#define PACKED_BELOW 2048

/* A block of measured supports. */
typedef struct Measured
{
	int n;
	double measure[NW_BLOCK_ROWS];
	double score[NW_BLOCK_ROWS];
	int32 class[NW_BLOCK_ROWS];
	const char *id[NW_BLOCK_ROWS];      /* only where the call wants ids, */
	int part[NW_BLOCK_ROWS];            /* or, where these wait, the place of */
	ItemPointerData tid[NW_BLOCK_ROWS]; /* the row */
} Measured;

/* Everything a sweep over the supports needs. */
typedef struct Sweep
{
	const NwCall *call;
	NwTally *tally;
	MemoryContext mcxt; /* of the answer */
	bool want_ids;
	int8 *admitted; /* [class] 1 yes, 0 no, -1 not yet known */
	int admitted_size;

	/* streaming only */
	bool weighted;
	NwTextOut id_out;
	MemoryContext id_mcxt; /* ids of the current block */
	NwSupport *packing;    /* NULL where rows are not packed, or no more */
	bool too_big;
	const NwSource *source;
	NwIndexReader *index; /* looks up ids when they are needed; NULL
	                       * where rows bring them */

	Measured block; /* last: not worth clearing */
} Sweep;

/* Complain about a query and a support of different dimensions. */
static void
check_dim(const Sweep *sweep, int dim)
{
	if (dim != sweep->call->query.dim)
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
		                errmsg("query has %d dimensions, but set \"%s\" has %d",
		                       sweep->call->query.dim, sweep->call->support, dim)));
}

/* Make an array at least n long, keeping what it holds. */
static void *
grow(MemoryContext mcxt, void *array, int *allocated, int n, Size width)
{
	int wanted = Max(*allocated, 16);

	while (wanted < n)
		wanted *= 2;
	if (array == NULL)
		array = MemoryContextAllocHuge(mcxt, wanted * width);
	else if (wanted > *allocated)
		array = repalloc_huge(array, wanted * width);
	*allocated = wanted;
	return array;
}

/* Give every class met so far a mass. */
static void
ensure_masses(Sweep *sweep)
{
	NwTally *tally = sweep->tally;
	int old = tally->allocated;

	if (tally->labels->n <= old && tally->mass)
		return;
	if (sweep->call->by_truth)
	{
		int allocated = old;

		tally->removable =
			grow(sweep->mcxt, tally->removable, &allocated, tally->labels->n, sizeof(NwRemovable));
		for (int i = old; i < allocated; i++)
			nw_removable_clear(&tally->removable[i]);
	}
	tally->mass =
		grow(sweep->mcxt, tally->mass, &tally->allocated, tally->labels->n, sizeof(NwMass));
	for (int i = old; i < tally->allocated; i++)
		nw_mass_clear(&tally->mass[i]);
}

/* Say whether a class is among those the caller asked for. */
static bool
class_admitted(Sweep *sweep, int class)
{
	const NwFilter *filter = &sweep->call->filter;
	int8 *known;

	if (class >= sweep->admitted_size)
	{
		int old = sweep->admitted_size;

		sweep->admitted =
			grow(sweep->mcxt, sweep->admitted, &sweep->admitted_size, class + 1, sizeof(int8));
		memset(sweep->admitted + old, -1, sweep->admitted_size - old);
	}
	known = &sweep->admitted[class];
	if (*known < 0)
		*known = nw_byteset_has(filter->admitted, sweep->tally->labels->text[class]);
	return *known != 0;
}

/* Leave out of a block what the caller's filter leaves out. */
static void
filter_block(Sweep *sweep)
{
	const NwFilter *filter = &sweep->call->filter;
	Measured *block = &sweep->block;
	int kept = 0;

	if (filter->classes == NULL && filter->exclude == NULL)
		return;
	for (int i = 0; i < block->n; i++)
	{
		if (filter->classes && !class_admitted(sweep, block->class[i]))
			continue;
		if (filter->exclude && block->id[i])
		{
			NwBytes id = {block->id[i], strlen(block->id[i])};

			if (nw_byteset_has(filter->exclude, id))
				continue;
		}
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

/* Say whether a support belongs to the list of other classes. */
static bool
is_other(const Sweep *sweep, int class)
{
	return sweep->call->by_truth &&
	       nw_bytes_compare(sweep->tally->labels->text[class], sweep->call->truth) != 0;
}

/* Add a filtered block to the answer, and make the block empty. */
static void
finish_block(Sweep *sweep)
{
	NwTally *tally = sweep->tally;
	Measured *block = &sweep->block;
	double bin[NW_BLOCK_ROWS];
	uint64_t hi[NW_BLOCK_ROWS];
	uint64_t lo[NW_BLOCK_ROWS];

	filter_block(sweep);
	ensure_masses(sweep);
	nw_simd->exp_split(block->score, block->n, bin, hi, lo);
	if (tally->removable)
	{
		for (int i = 0; i < block->n; i++)
			nw_removable_add_run(&tally->removable[block->class[i]], 1, bin + i, hi + i, lo + i);
	}
	else
		nw_mass_scatter(tally->mass, block->class, block->n, bin, hi, lo);
	if (sweep->call->top > 0)
	{
		for (int i = 0; i < block->n; i++)
		{
			NwTopItem item = {.score = block->score[i],
			                  .measure = block->measure[i],
			                  .class = block->class[i],
			                  .id = block->id[i],
			                  .unnamed = sweep->index != NULL};

			if (item.unnamed)
			{
				item.part = block->part[i];
				item.tid = block->tid[i];
			}

			nw_top_offer(is_other(sweep, block->class[i]) ? &tally->others : &tally->top, &item);
		}
	}
	block->n = 0;
	CHECK_FOR_INTERRUPTS();
}

/*
 * Compare the query with rows packed earlier; with their half-size copies
 * where t, the query made ready for these, is given.  Returns the largest
 * measure of a copy.
 */
static double
sweep_packed(Sweep *sweep, const NwSupport *support, const float *t)
{
	NwQuery *query = &sweep->tally->query;
	Measured *block = &sweep->block;
	double largest = 0;

	check_dim(sweep, support->dim);
	for (int c = 0; c < support->nchunks; c++)
	{
		const NwChunk *chunk = &support->chunk[c];

		for (int from = 0; from < chunk->n; from += NW_BLOCK_ROWS)
		{
			Size first = (Size) from * support->dim;

			block->n = Min(NW_BLOCK_ROWS, chunk->n - from);
			if (t)
			{
				nw_copies_measure(&support->coarse, t, chunk->copy + first, support->dim, block->n,
				                  block->measure);
				largest = Max(largest, nw_simd->max(block->measure, block->n));
			}
			else
				nw_query_measure(query, chunk->x + first, chunk->norm ? chunk->norm + from : NULL,
				                 block->n, block->measure);
			nw_query_score(query, block->measure, block->n, block->score);
			if (chunk->log_weight)
			{
				for (int i = 0; i < block->n; i++)
					block->score[i] += chunk->log_weight[from + i];
			}
			memcpy(block->class, chunk->class + from, block->n * sizeof(int32));
			if (sweep->want_ids)
				memcpy(block->id, chunk->id + from, block->n * sizeof(char *));
			finish_block(sweep);
		}
	}
	return largest;
}

/* Turn the measures of a streamed block into scores, and finish it. */
static void
finish_streamed(Sweep *sweep)
{
	Measured *block = &sweep->block;

	/* score[] holds the logarithms of row weights until now */
	if (sweep->weighted)
	{
		double score[NW_BLOCK_ROWS];

		nw_query_score(&sweep->tally->query, block->measure, block->n, score);
		for (int i = 0; i < block->n; i++)
			block->score[i] += score[i];
	}
	else
		nw_query_score(&sweep->tally->query, block->measure, block->n, block->score);
	finish_block(sweep);
	if (sweep->id_mcxt)
		MemoryContextReset(sweep->id_mcxt);
}

/* Pack a row for later calls, as long as it fits. */
static void
pack_row(Sweep *sweep, const NwRow *row, int class)
{
	NwSupport *support = sweep->packing;
	int chunks = support->nchunks;

	nw_support_append(support, row, class);

	/* measure memory only when a chunk was added, and now and then */
	if ((support->nchunks != chunks || support->n % 4096 == 0) &&
	    !nw_cache_reserve(nw_support_memory(support)))
	{
		sweep->packing = NULL;
		sweep->too_big = true;
		nw_support_free(support);
	}
}

/* Compare the query with a row as it streams by. */
static void
receive_support(const NwRow *row, void *arg)
{
	Sweep *sweep = arg;
	NwTally *tally = sweep->tally;
	Measured *block = &sweep->block;
	int i = block->n;
	double norm;

	check_dim(sweep, row->vector.dim);
	if (nw_kernel_needs_norms(tally->query.kernel))
		nw_inverse_norms(row->vector.x, row->vector.dim, 1, &norm);
	nw_query_measure(&tally->query, row->vector.x,
	                 nw_kernel_needs_norms(tally->query.kernel) ? &norm : NULL, 1,
	                 &block->measure[i]);
	if (sweep->weighted)
		block->score[i] = nw_log(row->weight);
	block->class[i] = nw_labels_add(tally->labels, row->label);
	if (sweep->want_ids)
		block->id[i] = row->id_isnull
		                   ? NULL
		                   : nw_bytes_copy(sweep->id_mcxt, nw_textout(&sweep->id_out, row->id));
	if (sweep->packing)
		pack_row(sweep, row, block->class[i]);
	if (++block->n == NW_BLOCK_ROWS)
		finish_streamed(sweep);
}

/* Compare the query with the rows of a scan, packing them where it may help. */
static void
sweep_scan(Sweep *sweep, const NwSource *source, const NwCacheKey *key, bool pack)
{
	int columns = NW_SCAN_LABEL | NW_SCAN_WEIGHT | (sweep->want_ids ? NW_SCAN_ID : 0);
	NwScan *scan = nw_scan_plan(source, columns, 0);
	bool keep = nw_cache_may_keep(key, scan);

	sweep->weighted = source->weight != NULL;
	if (sweep->want_ids)
	{
		nw_textout_init(&sweep->id_out, source->id_type, sweep->mcxt);
		sweep->id_mcxt =
			AllocSetContextCreate(sweep->mcxt, "nwhead block ids", ALLOCSET_DEFAULT_SIZES);
	}
	if (keep && pack)
		sweep->packing = nw_support_create(sweep->mcxt, source, columns, sweep->tally->labels);
	nw_scan_run(scan, receive_support, sweep);
	finish_streamed(sweep);
	if (keep)
		nw_cache_keep(key, scan, sweep->packing, sweep->too_big);
}

/* Look up the id of a row that came out of an index. */
static char *
name_row(const NwTopItem *item, void *arg)
{
	Sweep *sweep = arg;
	ItemPointerData tid = item->tid;

	return nw_index_fetch_id(sweep->index, sweep->source, &sweep->id_out, item->part, &tid);
}

/* Compare the query with the rows of one page of an index. */
static void
sweep_page(Sweep *sweep, NwIndexPages *pages, NwPageRows *rows)
{
	const NwQuery *query = &sweep->tally->query;
	Measured *block = &sweep->block;
	int part = pages->part - sweep->index->part;
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
		finish_block(sweep);
	}
}

/*
 * Compare the query with the rows of an index, looking up only the ids of the
 * heaviest; false where no index serves.
 */
static bool
sweep_index(Sweep *sweep, const NwSource *source)
{
	const NwCall *call = sweep->call;
	NwTally *tally = sweep->tally;
	NwIndexPages *pages;

	if (call->top > NAMED_BY_INDEX || call->filter.exclude)
		return false;
	sweep->index = nw_index_find(source, call->top > 0);
	if (sweep->index == NULL)
		return false;
	sweep->source = source;
	if (call->top > 0)
		nw_textout_init(&sweep->id_out, source->id_type, sweep->mcxt);
	tally->top.namer = tally->others.namer = name_row;
	tally->top.namer_arg = tally->others.namer_arg = sweep;

	nw_index_begin(sweep->index, tally->labels);
	if (!nw_index_has_dim(sweep->index, call->query.dim))
	{
		/* the other engine says so */
		nw_index_end(sweep->index);
		sweep->index = NULL;
		return false;
	}
	pages = palloc0(sizeof(NwIndexPages));
	for (int i = 0; i < sweep->index->nparts; i++)
	{
		NwIndexPart *part = &sweep->index->part[i];

		for (uint32 list = 0; list < part->meta.nlists; list++)
		{
			NwListData data;
			NwPageRows *rows;

			nw_list_read(part->index, &part->meta, list, &data);
			nw_index_first_page(pages, sweep->index, part, nw_list_start(list, &data), NULL);
			while ((rows = nw_index_next_page(pages)) != NULL)
				sweep_page(sweep, pages, rows);
		}
	}
	ensure_masses(sweep);
	nw_top_sort(&tally->top);
	nw_top_sort(&tally->others);
	nw_index_end(sweep->index);
	return true;
}

/*
 * Answer with nothing but a label, from the bounds that an index has; false
 * where none serves, or where an error is to be reported.
 */
static bool
predict_by_index(Sweep *sweep, const NwSource *source, const NwCacheKey *key)
{
	NwTally *tally = sweep->tally;
	NwSearchWork work;
	NwScan *scan;
	int class;

	if (!sweep->call->label_only || sweep->want_ids)
		return false;
	scan = nw_scan_plan_index(source);
	if (scan == NULL)
		return false;
	if (!sweep->call->once && nw_engine == NW_ENGINE_AUTO &&
	    nw_index_blocks(scan->index) < PACKED_BELOW)
	{
		nw_index_end(scan->index);
		return false;
	}
	nw_index_begin_search(scan->index, tally->labels, sweep->call->filter.classes != NULL);
	class = !nw_index_has_dim(scan->index, sweep->call->query.dim)
	            ? -1
	            : nw_index_search(scan->index, &tally->query, &sweep->call->filter, &work);
	nw_index_end(scan->index);
	if (class < 0)
		return false;

	/* bounds that settle little are worth less than packed rows */
	if (work.exact > work.supports * EXACT_SHARE && nw_cache_may_keep(key, scan))
		nw_cache_keep(key, scan, NULL, false);
	tally->nclasses = 1;
	tally->class = palloc(sizeof(int));
	tally->class[0] = class;
	tally->value = palloc(sizeof(NwScaled));
	tally->value[0] = tally->total = (NwScaled) {1, 0};
	return true;
}

/* Make the query ready, for a support's kernel and temperature. */
static void
start_answer(Sweep *sweep, NwKernel kernel, double tau, NwLabels *labels)
{
	NwTally *tally = sweep->tally;
	const NwVectorData *query = &sweep->call->query;

	tally->labels = labels;
	nw_query_init(&tally->query, kernel, tau, query->x, query->dim,
	              palloc(query->dim * sizeof(double)));
	nw_top_init(&tally->top, sweep->call->top, labels, sweep->mcxt);
	nw_top_init(&tally->others, sweep->call->top, labels, sweep->mcxt);
}

/* Insist that every class asked for has support. */
static void
check_classes(const Sweep *sweep)
{
	const NwFilter *filter = &sweep->call->filter;
	const NwTally *tally = sweep->tally;

	for (int i = 0; i < filter->nclasses; i++)
	{
		NwBytes text = filter->classes[i];
		int class = nw_labels_find_text(tally->labels, text);

		if (class < 0 || nw_mass_is_empty(&tally->mass[class]))
			ereport(ERROR, (errcode(ERRCODE_NO_DATA_FOUND),
			                errmsg("class \"%.*s\" has no support in set \"%s\"", text.len,
			                       text.data, sweep->call->support)));
		CHECK_FOR_INTERRUPTS();
	}
}

bool
nw_tally_close(NwTally *tally, MemoryContext mcxt)
{
	NwLabels *labels = tally->labels;
	const int *order = nw_labels_order(labels);

	tally->nclasses = 0;
	tally->class = MemoryContextAllocHuge(mcxt, Max(labels->n, 1) * sizeof(int));
	tally->value = MemoryContextAllocHuge(mcxt, Max(labels->n, 1) * sizeof(NwScaled));
	for (int i = 0; i < labels->n; i++)
	{
		const NwMass *mass = &tally->mass[order[i]];

		if (!nw_mass_is_empty(mass))
		{
			tally->class[tally->nclasses] = order[i];
			tally->value[tally->nclasses++] = nw_mass_value(mass);
		}
	}
	if (tally->nclasses == 0)
		return false;
	tally->total = nw_scaled_sum(tally->value, tally->nclasses);
	return true;
}

/* Complete the answer, or say that there is none. */
static void
finish_answer(Sweep *sweep)
{
	NwTally *tally = sweep->tally;

	if (tally->removable)
	{
		for (int i = 0; i < tally->labels->n; i++)
			nw_removable_mass(&tally->removable[i], &tally->mass[i]);
	}
	check_classes(sweep);
	if (!nw_tally_close(tally, sweep->mcxt))
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
		                errmsg("set \"%s\" has no support", sweep->call->support),
		                sweep->call->filter.exclude
		                    ? errdetail("No row with an embedding and a label is left.")
		                    : errdetail("No row with an embedding and a label is visible.")));
	nw_top_sort(&tally->top);
	nw_top_sort(&tally->others);
}

/*
 * Say whether the half-size copies of a packed support may settle this call,
 * making them where that is likely to pay.
 */
static bool
copies_may_settle(const Sweep *sweep, NwSupport *support)
{
	Size size;

	if (!sweep->call->label_only || sweep->want_ids || support->shared)
		return false;
	support->labels_asked++;
	if (support->has_copies)
		return support->labels_unsure * 4 <= support->labels_asked;

	/* the second call after packing: probably not the last */
	if (support->labels_asked != 2)
		return false;
	size = nw_support_copies_size(support);
	if (size == 0 || !nw_cache_reserve_more(support, size))
		return false;
	nw_support_make_copies(support);
	return support->has_copies;
}

/*
 * Answer from half-size copies; false where the most probable class leads by
 * no more than their errors can account for.
 */
static bool
settle_by_copies(Sweep *sweep, NwSupport *support)
{
	NwTally *tally = sweep->tally;
	float *t;
	double largest;
	double error;
	int best;
	bool settled = true;

	check_dim(sweep, support->dim);
	t = palloc(support->dim * sizeof(float));
	nw_copies_query(&support->coarse, &tally->query, t);
	largest = sweep_packed(sweep, support, t);
	pfree(t);
	finish_answer(sweep);

	/* the best class has lost as much as another may have gained */
	error = nw_copies_score_error(&support->coarse, &tally->query, largest);
	best = nw_tally_best(tally);
	for (int i = 0; i < tally->nclasses; i++)
	{
		if (i != best && nw_scaled_log_ratio(tally->value[best], tally->value[i]) <= 2 * error)
			settled = false;
	}
	if (settled)
		return true;
	support->labels_unsure++;
	for (int i = 0; i < tally->allocated; i++)
		nw_mass_clear(&tally->mass[i]);
	return false;
}

NwTally *
nw_tally(const NwCall *call)
{
	Sweep sweep;
	NwCacheKey key;
	NwCacheState state;
	NwSupport *support;
	bool pack;

	memset(&sweep, 0, offsetof(Sweep, block));
	sweep.block.n = 0;
	sweep.call = call;
	sweep.mcxt = CurrentMemoryContext;
	sweep.want_ids = call->top > 0 || call->filter.exclude != NULL;
	sweep.tally = palloc0(sizeof(NwTally));

	nw_cache_key(&key, call->schema, call->support, call->caller);
	state = nw_cache_find(&key, sweep.want_ids, &support);
	if (state == NW_CACHE_PACKED)
	{
		start_answer(&sweep, support->kernel, support->tau, support->labels);
		if (copies_may_settle(&sweep, support) && settle_by_copies(&sweep, support))
			return sweep.tally;
		sweep_packed(&sweep, support, NULL);
	}
	else
	{
		NwSet *set = nw_set_get(call->schema, call->support);
		NwSource *source = nw_source_resolve(call->schema, set);

		support = nw_prototypes_find(source);
		if (support)
		{
			NwScan none = {.steady = true, .relids = list_make1_oid(source->relid)};

			start_answer(&sweep, support->kernel, support->tau, support->labels);
			sweep_packed(&sweep, support, NULL);
			if (!call->once && nw_cache_may_keep(&key, &none) &&
			    (support->shared || nw_cache_reserve(nw_support_memory(support))))
				nw_cache_keep(&key, &none, support, false);
			finish_answer(&sweep);
			return sweep.tally;
		}
		nw_source_check_labelled(source);
		start_answer(&sweep, set->kernel, set->tau,
		             nw_labels_create(sweep.mcxt, source->label_type));

		if (state != NW_CACHE_SEEN && predict_by_index(&sweep, source, &key))
			return sweep.tally;

		/*
		 * Packing pays from the second call on.  A query that is the same for
		 * all rows will probably not be asked again; one met before in this
		 * statement will.
		 */
		pack = state == NW_CACHE_SEEN || (state == NW_CACHE_NEW && !call->once);
		if (pack || !sweep_index(&sweep, source))
			sweep_scan(&sweep, source, &key, pack);
	}
	finish_answer(&sweep);
	return sweep.tally;
}

double
nw_tally_probability(const NwTally *tally, int i)
{
	return nw_scaled_ratio(tally->value[i], tally->total);
}

int
nw_tally_position(const NwTally *tally, int class)
{
	for (int i = 0; class >= 0 && i < tally->nclasses; i++)
	{
		if (tally->class[i] == class)
			return i;
	}
	return -1;
}

int
nw_tally_best(const NwTally *tally)
{
	int best = 0;

	for (int i = 1; i < tally->nclasses; i++)
	{
		if (nw_scaled_compare(tally->value[i], tally->value[best]) > 0)
			best = i;
	}
	return best;
}

NwBytes
nw_tally_label(const NwTally *tally, int i)
{
	return tally->labels->text[tally->class[i]];
}
