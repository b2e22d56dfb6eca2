/*
 * index/build_labels.c
 *		The labels of an index that is built, numbered as they are met.
 *
 * A label costs its bytes and about 20 more: 2 for its length, 8 for its hash
 * and place, and 6 to 11 for a hash table that has nothing but numbers.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "grow.h"
#include "index/build_labels.h"
#include "index/label_lookup.h"

#define CHUNK (256 * 1024)
#define STEP 2
#define FIRST_SLOTS 256

/* A full table has so much of its slots in use. */
#define FILL 0.75

/* Begin, in a context of its own. */
NwBuildLabels *
nw_build_labels_create(MemoryContext parent)
{
	MemoryContext mcxt = AllocSetContextCreate(parent, "nwhead labels", ALLOCSET_DEFAULT_SIZES);
	NwBuildLabels *labels = MemoryContextAllocZero(mcxt, sizeof(NwBuildLabels));

	labels->mcxt = mcxt;
	labels->used = CHUNK;
	labels->nslots = FIRST_SLOTS;
	labels->slot = MemoryContextAllocZero(mcxt, FIRST_SLOTS * sizeof(uint32));
	return labels;
}

/* The image of a number. */
NwBytes
nw_build_labels_get(const NwBuildLabels *labels, int number)
{
	Size at = (Size) labels->label[number].place * STEP;
	const char *stored = labels->chunk[at / CHUNK] + at % CHUNK;

	return (NwBytes) {stored + sizeof(uint16), *(const uint16 *) stored};
}

/* The slot of an image: its own, or the free one where it belongs. */
static uint32
find_slot(const NwBuildLabels *labels, uint32 hash, NwBytes image)
{
	uint32 at = hash & (labels->nslots - 1);

	while (labels->slot[at] != 0)
	{
		int number = labels->slot[at] - 1;

		if (labels->label[number].hash == hash &&
		    nw_bytes_compare(nw_build_labels_get(labels, number), image) == 0)
			break;
		at = (at + 1) & (labels->nslots - 1);
	}
	return at;
}

/* Double the table. */
static void
grow_table(NwBuildLabels *labels)
{
	uint32 nslots = 2 * labels->nslots;

	pfree(labels->slot);
	labels->nslots = nslots;
	labels->slot = MemoryContextAllocExtended(labels->mcxt, nslots * sizeof(uint32),
	                                          MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (int i = 0; i < labels->n; i++)
	{
		uint32 at = labels->label[i].hash & (nslots - 1);

		while (labels->slot[at] != 0)
			at = (at + 1) & (nslots - 1);
		labels->slot[at] = i + 1;
	}
}

/* Copy an image, and return its place. */
static uint32
store(NwBuildLabels *labels, NwBytes image)
{
	Size size = TYPEALIGN(STEP, sizeof(uint16) + image.len);
	char *stored;

	if (labels->used + size > CHUNK)
	{
		if ((uint64) (labels->nchunks + 1) * CHUNK / STEP > PG_UINT32_MAX)
			ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			                errmsg("labels take too much memory")));
		NW_RESERVE(labels->mcxt, labels->chunk, labels->chunk_allocated, labels->nchunks + 1);
		labels->chunk[labels->nchunks++] = MemoryContextAlloc(labels->mcxt, CHUNK);
		labels->used = 0;
	}
	stored = labels->chunk[labels->nchunks - 1] + labels->used;
	*(uint16 *) stored = (uint16) image.len;
	memcpy(stored + sizeof(uint16), image.data, image.len);
	labels->used += size;
	return (uint32) (((Size) labels->nchunks * CHUNK - CHUNK + labels->used - size) / STEP);
}

/* The number of an image of at most 65,535 bytes: a new one where it is new. */
int
nw_build_labels_add(NwBuildLabels *labels, NwBytes image)
{
	uint32 hash = nw_label_hash(image);
	uint32 at = find_slot(labels, hash, image);

	if (labels->slot[at] != 0)
		return labels->slot[at] - 1;
	if (labels->n == labels->allocated)
		labels->label = nw_grow_little(labels->mcxt, labels->label, &labels->allocated,
		                               (int64) labels->n + 1, sizeof(NwBuildLabel));
	labels->label[labels->n] = (NwBuildLabel) {hash, store(labels, image)};
	labels->slot[at] = ++labels->n;
	if (labels->n > labels->nslots * FILL)
		grow_table(labels);
	return labels->n - 1;
}

/* Bytes allocated. */
Size
nw_build_labels_memory(const NwBuildLabels *labels)
{
	return MemoryContextMemAllocated(labels->mcxt, true);
}
