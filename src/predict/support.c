/*
 * predict/support.c
 *		Pack the rows of a set for repeated predictions.
 *
 * Rows are kept in chunks of a few megabytes that never move, so growing
 * copies nothing and the memory in use is the memory needed.
 */
#include "postgres.h"

#include <math.h>
#include <sys/mman.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "grow.h"
#include "math/elementary.h"
#include "predict/route.h"
#include "predict/support.h"

/* The size of a chunk, by its vectors and by its rows. */
#define CHUNK_BYTES (4 * 1024 * 1024)
#define CHUNK_ROWS 8192

/* Ids are allocated together. */
#define ID_BYTES (64 * 1024)

/* A large page of memory, of the usual size. */
#define LARGE_PAGE (2 * 1024 * 1024)

/* Vectors that a processor's caches hold gain nothing from copies. */
#define COPIES_FROM (16 * 1024 * 1024)

/*
 * Make an empty support with the columns that a scan returns.  The labels stay
 * the caller's until nw_support_move().
 */
NwSupport *
nw_support_create(MemoryContext parent, const NwSource *source, int columns, NwLabels *labels)
{
	MemoryContext mcxt = AllocSetContextCreate(parent, "nwhead support", ALLOCSET_DEFAULT_SIZES);
	NwSupport *support = MemoryContextAllocZero(mcxt, sizeof(NwSupport));

	support->mcxt = mcxt;
	support->kernel = source->set->kernel;
	support->tau = source->set->tau;
	support->temper = source->set->temper;
	support->has_weights = nw_source_is_weighted(source) && (columns & NW_SCAN_WEIGHT);
	support->has_ids = (columns & NW_SCAN_ID) != 0;
	support->labels = labels;
	if (support->has_ids)
		nw_text_out_init(&support->id_out, source->id_type, mcxt);
	return support;
}

/* Allocate an array of a chunk, and count it. */
static void *
chunk_array(NwSupport *support, Size width)
{
	Size size = width * support->chunk_rows;

	support->bytes += size;
	return MemoryContextAlloc(support->mcxt, size);
}

/*
 * Allocate the vectors of a chunk, on large pages where the system has them:
 * these spare most of the address translations, which cost a pass over the
 * vectors as much as the memory itself.
 */
static void *
chunk_vectors(NwSupport *support, Size width)
{
	Size size = width * support->chunk_rows;
	char *start;

	if (size < LARGE_PAGE)
		return chunk_array(support, width);
	support->bytes += size;
	start = MemoryContextAllocHuge(support->mcxt, size + LARGE_PAGE);
	start = (char *) TYPEALIGN(LARGE_PAGE, start);
#ifdef MADV_HUGEPAGE
	/* advice only: nothing depends on its being taken */
	(void) madvise(start, size, MADV_HUGEPAGE);
#endif
	return start;
}

static NwChunk *
add_chunk(NwSupport *support)
{
	NwChunk *chunk;
	Size width = sizeof(float) * support->dim;

	NW_RESERVE(support->mcxt, support->chunk, support->allocated, support->nchunks + 1);

	/*
	 * The first chunk is small, for the many sets that are; whole blocks, so
	 * that only the last block of a chunk can be short.
	 */
	if (support->nchunks == 0)
		support->chunk_rows = NW_BLOCK_ROWS;
	else if (support->nchunks == 1)
		support->chunk_rows =
			Min(Max(CHUNK_BYTES / width / NW_BLOCK_ROWS, 1) * NW_BLOCK_ROWS, CHUNK_ROWS);

	chunk = &support->chunk[support->nchunks++];
	memset(chunk, 0, sizeof(NwChunk));
	chunk->x = chunk_vectors(support, width);
	chunk->class = chunk_array(support, sizeof(int32));
	if (nw_kernel_keeps_norms(support->kernel))
		chunk->norm = chunk_array(support, sizeof(double));
	if (support->has_weights)
		chunk->log_weight = chunk_array(support, sizeof(double));
	if (support->has_ids)
		chunk->id = chunk_array(support, sizeof(char *));
	return chunk;
}

/* Copy a row's id as text; one after the other, without headers between. */
static const char *
copy_id(NwSupport *support, const NwRow *row)
{
	NwBytes text;
	Size size;
	char *copy;

	if (row->id_isnull)
		return NULL;
	text = nw_text_out(&support->id_out, row->id);
	size = (Size) text.len + 1;
	if (support->id_room < size)
	{
		support->id_room = Max(size, ID_BYTES);
		support->id_space = MemoryContextAlloc(support->mcxt, support->id_room);
		support->bytes += support->id_room;
	}
	copy = support->id_space;
	support->id_space += size;
	support->id_room -= size;
	memcpy(copy, text.data, text.len);
	copy[text.len] = '\0';
	return copy;
}

/* Append a row whose dimensions have been checked. */
void
nw_support_append(NwSupport *support, const NwRow *row, int class)
{
	NwChunk *chunk;
	int i;

	if (support->dim == 0)
		support->dim = row->vector.dim;
	Assert(support->dim == row->vector.dim);

	chunk = support->nchunks > 0 ? &support->chunk[support->nchunks - 1] : NULL;
	if (chunk == NULL || chunk->n == support->chunk_rows)
		chunk = add_chunk(support);

	i = chunk->n;
	memcpy(chunk->x + (Size) i * support->dim, row->vector.x, sizeof(float) * support->dim);
	chunk->class[i] = class;
	if (chunk->norm)
		nw_row_norms(support->kernel, row->vector.x, support->dim, 1, &chunk->norm[i]);
	if (chunk->log_weight)
		chunk->log_weight[i] = nw_log(row->weight);
	if (chunk->id)
		chunk->id[i] = copy_id(support, row);
	chunk->n++;
	support->n++;
}

/* What a scan that fills a support passes on. */
typedef struct Reading
{
	const NwSource *source;
	NwSupport *support; /* NULL once it has grown too big */
	Size bound;
} Reading;

/* Append one row of a scan. */
static void
read_row(const NwRow *row, void *arg)
{
	Reading *reading = arg;
	NwSupport *support = reading->support;

	if (support == NULL)
		return;
	if (support->dim != 0 && support->dim != row->vector.dim)
		nw_scan_report_mixed(reading->source, support->dim, row->vector.dim);
	nw_support_append(support, row, nw_labels_add(support->labels, row->label));
	if (support->n % NW_BLOCK_ROWS == 0 && nw_support_memory(support) > reading->bound)
	{
		nw_support_free(support);
		reading->support = NULL;
	}
}

/* Read all labelled rows of a set; NULL where they take more than bound. */
NwSupport *
nw_support_read(const NwSource *source, int columns, Size bound)
{
	NwLabels *labels = nw_labels_create(CurrentMemoryContext, source->label_type);
	Reading reading = {source, NULL, bound};
	NwRoute route;

	reading.support = nw_support_create(CurrentMemoryContext, source, columns, labels);
	nw_route_open(&route, source, columns, false);
	nw_route_read(&route, read_row, &reading);
	nw_route_close(&route);
	return reading.support;
}

/* Complain about a set that has to fit in memory and does not. */
void
nw_support_report_too_big(const NwSource *source)
{
	ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
	                errmsg("set \"%s\" does not fit in nwhead.statement_cache", source->set->name),
	                errhint("Raise nwhead.statement_cache, or distill the set first.")));
}

/* Insist that a set has at least one labelled row. */
void
nw_support_check_rows(const NwSupport *support, const NwSource *source)
{
	if (support->n == 0)
		nw_report_no_support(source->set->name, false);
}

/*
 * What half-size copies of the rows would take, or 0 where there is no point
 * in them.
 */
Size
nw_support_copies_size(const NwSupport *support)
{
	Size size = (Size) support->n * support->dim * sizeof(float);

	if (size < COPIES_FROM || !nw_copies_serves(support->kernel))
		return 0;

	/* chunks are allocated whole */
	return sizeof(int16) * support->dim *
	       ((Size) (support->nchunks - 1) * support->chunk_rows + NW_BLOCK_ROWS);
}

/* Make half-size copies of the rows, where their numbers allow it: see has_copies. */
void
nw_support_make_copies(NwSupport *support)
{
	float magnitude = 0;

	support->has_copies = false;
	if (support->kernel == NW_HYPERSPHERE)
		magnitude = 1;
	else
	{
		for (int c = 0; c < support->nchunks; c++)
		{
			NwChunk *chunk = &support->chunk[c];

			magnitude =
				Max(magnitude, nw_copies_magnitude(chunk->x, (int64) chunk->n * support->dim));
			CHECK_FOR_INTERRUPTS();
		}
	}
	if (!nw_copies_init(&support->coarse, magnitude))
		return;
	for (int c = 0; c < support->nchunks; c++)
	{
		NwChunk *chunk = &support->chunk[c];

		if (chunk->copy == NULL)
			chunk->copy = c == 0 ? MemoryContextAlloc(support->mcxt,
			                                          sizeof(int16) * support->dim * NW_BLOCK_ROWS)
			                     : chunk_vectors(support, sizeof(int16) * support->dim);
		nw_copies_copy(&support->coarse, chunk->x,
		               support->kernel == NW_HYPERSPHERE ? chunk->norm : NULL, support->dim,
		               chunk->n, chunk->copy);
		CHECK_FOR_INTERRUPTS();
	}
	support->has_copies = true;
}

/* Compare two rows of one class by vector, then id, for qsort_arg. */
static int
compare_rows(const void *a, const void *b, void *arg)
{
	const NwSupport *support = arg;
	int i;
	int j;
	const NwChunk *chunk_i = nw_support_locate(support, *(const int64 *) a, &i);
	const NwChunk *chunk_j = nw_support_locate(support, *(const int64 *) b, &j);
	int cmp;

	CHECK_FOR_INTERRUPTS();
	cmp = memcmp(chunk_i->x + (Size) i * support->dim, chunk_j->x + (Size) j * support->dim,
	             sizeof(float) * support->dim);
	if (cmp == 0 && chunk_i->log_weight)
		cmp = (chunk_i->log_weight[i] > chunk_j->log_weight[j]) -
		      (chunk_i->log_weight[i] < chunk_j->log_weight[j]);
	if (cmp == 0 && chunk_i->id)
	{
		const char *id_i = chunk_i->id[i];
		const char *id_j = chunk_j->id[j];

		/* null ids come last: rows equal here differ in nothing at all */
		cmp = id_i && id_j ? strcmp(id_i, id_j) : (id_i == NULL) - (id_j == NULL);
	}
	return cmp;
}

static void
copy_row(const NwSupport *support, const NwChunk *to, int i, const NwChunk *from, int j)
{
	memcpy(to->x + (Size) i * support->dim, from->x + (Size) j * support->dim,
	       sizeof(float) * support->dim);
	to->class[i] = from->class[j];
	if (to->norm)
		to->norm[i] = from->norm[j];
	if (to->log_weight)
		to->log_weight[i] = from->log_weight[j];
	if (to->id)
		to->id[i] = from->id[j];
}

/*
 * Move the rows so that row i is what row order[i] was.  Follows the cycles of
 * the permutation with one row of spare memory; order is used up.
 */
static void
permute_rows(NwSupport *support, int64 *order)
{
	double norm;
	double log_weight;
	const char *id;
	int32 class;
	NwChunk spare = {.class = &class};

	if (support->n == 0)
		return;
	spare.x = palloc(sizeof(float) * support->dim);
	spare.norm = support->chunk[0].norm ? &norm : NULL;
	spare.log_weight = support->chunk[0].log_weight ? &log_weight : NULL;
	spare.id = support->chunk[0].id ? &id : NULL;

	for (int64 start = 0; start < support->n; start++)
	{
		const NwChunk *to;
		int64 row = start;
		int i;

		if (start % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
		if (order[start] == start)
			continue;
		to = nw_support_locate(support, start, &i);
		copy_row(support, &spare, 0, to, i);
		for (;;)
		{
			int64 next = order[row];
			int j;
			const NwChunk *from;

			order[row] = row;
			if (next == start)
				break;
			from = nw_support_locate(support, next, &j);
			copy_row(support, to, i, from, j);
			row = next;
			to = from;
			i = j;
		}
		copy_row(support, to, i, &spare, 0);
	}
	pfree(spare.x);
}

/*
 * Put the rows in byte order of their labels; canonical also orders the rows
 * of a class by their vectors, weights and ids, so that nothing is left of the
 * order in which they were read.
 */
void
nw_support_sort(NwSupport *support, bool canonical)
{
	NwLabels *labels = support->labels;
	const int *order = nw_labels_order(labels);
	int64 *start;
	int64 *next;
	int64 *rows;
	int64 sum = 0;
	int64 row = 0;

	/* count the rows of each class */
	start = MemoryContextAllocZero(support->mcxt, (labels->n + 1) * sizeof(int64));
	next = palloc0((labels->n + 1) * sizeof(int64));
	for (int c = 0; c < support->nchunks; c++)
	{
		for (int i = 0; i < support->chunk[c].n; i++)
			next[support->chunk[c].class[i]]++;
	}
	for (int i = 0; i < labels->n; i++)
	{
		int64 count = next[order[i]];

		start[i] = sum;
		next[order[i]] = sum;
		sum += count;
	}
	start[labels->n] = sum;

	/* say which row goes where */
	rows = palloc_extended(Max(support->n, 1) * sizeof(int64), MCXT_ALLOC_HUGE);
	for (int c = 0; c < support->nchunks; c++)
	{
		for (int i = 0; i < support->chunk[c].n; i++)
			rows[next[support->chunk[c].class[i]]++] = row++;
	}
	if (canonical)
	{
		for (int i = 0; i < labels->n; i++)
			qsort_arg(rows + start[i], start[i + 1] - start[i], sizeof(int64), compare_rows,
			          support);
	}
	permute_rows(support, rows);
	support->class_start = start;
	pfree(rows);
	pfree(next);
}

/*
 * Read all labelled rows of a set, of which there is at least one and which take no
 * more than bound, and put them in canonical order.
 */
NwSupport *
nw_support_read_sorted(const NwSource *source, int columns, Size bound)
{
	NwSupport *support = nw_support_read(source, columns, bound);

	if (support == NULL)
		nw_support_report_too_big(source);
	nw_support_check_rows(support, source);
	nw_support_sort(support, true);
	return support;
}

/* Bytes allocated in all. */
Size
nw_support_memory(const NwSupport *support)
{
	return support->bytes + nw_labels_memory(support->labels);
}

/* Make a support and its labels live as long as a context. */
void
nw_support_move(NwSupport *support, MemoryContext parent)
{
	MemoryContextSetParent(support->labels->mcxt, support->mcxt);
	MemoryContextSetParent(support->mcxt, parent);
}

/* Free the rows; the labels, unless moved, stay. */
void
nw_support_free(NwSupport *support)
{
	MemoryContextDelete(support->mcxt);
}
