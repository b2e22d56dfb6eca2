/*
 * index/label_images.c
 *		Byte strings numbered as they are met, in little memory.
 *
 * A string costs its bytes and about 20 more: 2 for its length, 8 for its hash
 * and place, and 6 to 11 for a hash table that has nothing but numbers.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "index/am.h"
#include "index/label_images.h"

#define CHUNK (256 * 1024)
#define STEP 2
#define FIRST_SLOTS 256

/* A full table has so much of its slots in use. */
#define FILL 0.75

NwImages *
nw_images_create(MemoryContext parent)
{
	MemoryContext mcxt = AllocSetContextCreate(parent, "nwhead labels", ALLOCSET_DEFAULT_SIZES);
	NwImages *images = MemoryContextAllocZero(mcxt, sizeof(NwImages));

	images->mcxt = mcxt;
	images->used = CHUNK;
	images->nslots = FIRST_SLOTS;
	images->slot = MemoryContextAllocZero(mcxt, FIRST_SLOTS * sizeof(uint32));
	return images;
}

NwBytes
nw_images_get(const NwImages *images, int number)
{
	Size at = (Size) images->place[number] * STEP;
	const char *stored = images->chunk[at / CHUNK] + at % CHUNK;

	return (NwBytes) {stored + sizeof(uint16), *(const uint16 *) stored};
}

/* The slot of a string: its own, or the free one where it belongs. */
static uint32
find_slot(const NwImages *images, uint32 hash, NwBytes image)
{
	uint32 at = hash & (images->nslots - 1);

	while (images->slot[at] != 0)
	{
		int number = images->slot[at] - 1;

		if (images->hash[number] == hash &&
		    nw_bytes_compare(nw_images_get(images, number), image) == 0)
			break;
		at = (at + 1) & (images->nslots - 1);
	}
	return at;
}

/* Double the table. */
static void
grow_table(NwImages *images)
{
	uint32 nslots = 2 * images->nslots;

	pfree(images->slot);
	images->nslots = nslots;
	images->slot = MemoryContextAllocExtended(images->mcxt, nslots * sizeof(uint32),
	                                          MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (int i = 0; i < images->n; i++)
	{
		uint32 at = images->hash[i] & (nslots - 1);

		while (images->slot[at] != 0)
			at = (at + 1) & (nslots - 1);
		images->slot[at] = i + 1;
	}
}

/* Make an array longer by a part of itself. */
static uint32 *
grow_array(NwImages *images, uint32 *array, int allocated)
{
	return array == NULL ? MemoryContextAllocHuge(images->mcxt, allocated * sizeof(uint32))
	                     : repalloc_huge(array, allocated * sizeof(uint32));
}

/* Copy a string, and return its place. */
static uint32
store(NwImages *images, NwBytes image)
{
	Size size = TYPEALIGN(STEP, sizeof(uint16) + image.len);
	char *stored;

	if (images->used + size > CHUNK)
	{
		if ((uint64) (images->nchunks + 1) * CHUNK / STEP > PG_UINT32_MAX)
			ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			                errmsg("labels take too much memory")));
		if ((images->nchunks & (images->nchunks - 1)) == 0)
		{
			Size room = Max(2 * images->nchunks, 1) * sizeof(char *);

			images->chunk = images->chunk == NULL ? MemoryContextAlloc(images->mcxt, room)
			                                      : repalloc_huge(images->chunk, room);
		}
		images->chunk[images->nchunks++] = MemoryContextAlloc(images->mcxt, CHUNK);
		images->used = 0;
	}
	stored = images->chunk[images->nchunks - 1] + images->used;
	*(uint16 *) stored = (uint16) image.len;
	memcpy(stored + sizeof(uint16), image.data, image.len);
	images->used += size;
	return (uint32) (((Size) images->nchunks * CHUNK - CHUNK + images->used - size) / STEP);
}

int
nw_images_add(NwImages *images, NwBytes image)
{
	uint32 hash = nw_label_hash(image);
	uint32 at = find_slot(images, hash, image);

	if (images->slot[at] != 0)
		return images->slot[at] - 1;
	if (images->n == images->allocated)
	{
		images->allocated += images->allocated / 4 + 64;
		images->hash = grow_array(images, images->hash, images->allocated);
		images->place = grow_array(images, images->place, images->allocated);
	}
	images->hash[images->n] = hash;
	images->place[images->n] = store(images, image);
	images->slot[at] = ++images->n;
	if (images->n > images->nslots * FILL)
		grow_table(images);
	return images->n - 1;
}

Size
nw_images_memory(const NwImages *images)
{
	return MemoryContextMemAllocated(images->mcxt, true);
}
