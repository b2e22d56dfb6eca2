/*
 * support.c
 *		Pack the rows of a set for repeated predictions.
 *
 * Rows are kept in chunks of a few megabytes that never move, so growing
 * copies nothing and the memory in use is the memory needed.
 */
#include "postgres.h"

#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "utils/memutils.h"

#include "support.h"

#define CHUNK_BYTES	(4 * 1024 * 1024)
#define ID_BYTES	(64 * 1024)

NwSupport *
nw_support_create(MemoryContext parent, const NwSource *source, int columns,
				  NwLabels *labels)
{
	MemoryContext mcxt = AllocSetContextCreate(parent, "nwhead support",
											   ALLOCSET_DEFAULT_SIZES);
	NwSupport  *support = MemoryContextAllocZero(mcxt, sizeof(NwSupport));

	support->mcxt = mcxt;
	support->kernel = source->set->kernel;
	support->tau = source->set->tau;
	support->has_weights = source->weighted;
	support->has_ids = (columns & NW_SCAN_ID) != 0;
	support->labels = labels;
	if (support->has_ids)
		nw_textout_init(&support->id_out, source->id_type, mcxt);
	support->allocated = 64;
	support->chunk = MemoryContextAlloc(mcxt, support->allocated *
										sizeof(NwChunk));
	return support;
}

/* Allocate an array of a chunk, and count it. */
static void *
chunk_array(NwSupport *support, Size width)
{
	Size		size = width * support->chunk_rows;

	support->bytes += size;
	return MemoryContextAlloc(support->mcxt, size);
}

/* Ask for large pages, which halve the cost of filling fresh memory. */
static void
prefer_large_pages(void *start, Size size)
{
#ifdef MADV_HUGEPAGE
	uintptr_t	page = (uintptr_t) sysconf(_SC_PAGESIZE);
	uintptr_t	from = ((uintptr_t) start + page - 1) & ~(page - 1);
	uintptr_t	to = ((uintptr_t) start + size) & ~(page - 1);

	/* advice only: nothing depends on its being taken */
	if (to > from)
		(void) madvise((void *) from, to - from, MADV_HUGEPAGE);
#endif
}

/* Start a new chunk. */
static NwChunk *
add_chunk(NwSupport *support)
{
	NwChunk    *chunk;
	Size		width = sizeof(float) * support->dim;

	if (support->nchunks == support->allocated)
	{
		support->allocated *= 2;
		support->chunk = repalloc_huge(support->chunk, support->allocated *
									   sizeof(NwChunk));
	}

	/*
	 * The first chunk is small, for the many sets that are; whole blocks, so
	 * that only the last block of a chunk can be short.
	 */
	if (support->nchunks == 0)
		support->chunk_rows = NW_BLOCK_ROWS;
	else if (support->nchunks == 1)
		support->chunk_rows = Max(CHUNK_BYTES / width / NW_BLOCK_ROWS, 1) *
			NW_BLOCK_ROWS;

	chunk = &support->chunk[support->nchunks++];
	memset(chunk, 0, sizeof(NwChunk));
	chunk->x = chunk_array(support, width);
	prefer_large_pages(chunk->x, width * support->chunk_rows);
	chunk->class = chunk_array(support, sizeof(int32));
	if (nw_kernel_needs_norms(support->kernel))
		chunk->inverse_norm = chunk_array(support, sizeof(double));
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
	NwBytes		text;
	Size		size;
	char	   *copy;

	if (row->id_isnull)
		return NULL;
	text = nw_textout(&support->id_out, row->id);
	size = (Size) text.len + 1;
	if (support->id_room < size)
	{
		support->id_room = Max(size, ID_BYTES);
		support->id_space = MemoryContextAlloc(support->mcxt,
											   support->id_room);
		support->bytes += support->id_room;
	}
	copy = support->id_space;
	support->id_space += size;
	support->id_room -= size;
	memcpy(copy, text.data, text.len);
	copy[text.len] = '\0';
	return copy;
}

void
nw_support_append(NwSupport *support, const NwRow *row, int class)
{
	NwChunk    *chunk;
	int			i;

	if (support->dim == 0)
		support->dim = row->vector.dim;
	Assert(support->dim == row->vector.dim);

	chunk = support->nchunks > 0 ? &support->chunk[support->nchunks - 1] : NULL;
	if (chunk == NULL || chunk->n == support->chunk_rows)
		chunk = add_chunk(support);

	i = chunk->n;
	memcpy(chunk->x + (Size) i * support->dim, row->vector.x,
		   sizeof(float) * support->dim);
	chunk->class[i] = class;
	if (chunk->inverse_norm)
		nw_inverse_norms(row->vector.x, support->dim, 1,
						 &chunk->inverse_norm[i]);
	if (chunk->log_weight)
		chunk->log_weight[i] = log(row->weight);
	if (chunk->id)
		chunk->id[i] = copy_id(support, row);
	chunk->n++;
	support->n++;
}

Size
nw_support_memory(const NwSupport *support)
{
	return support->bytes + nw_labels_memory(support->labels);
}

void
nw_support_move(NwSupport *support, MemoryContext parent)
{
	MemoryContextSetParent(support->labels->mcxt, support->mcxt);
	MemoryContextSetParent(support->mcxt, parent);
}

void
nw_support_free(NwSupport *support)
{
	MemoryContextDelete(support->mcxt);
}
