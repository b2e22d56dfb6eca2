/*
 * index/label_images.h
 *		Byte strings numbered as they are met, in little memory: the labels of an
 *		index that is built.
 */
#ifndef NW_INDEX_LABEL_IMAGES_H
#define NW_INDEX_LABEL_IMAGES_H

#include "postgres.h"

#include "sets/text_out.h"

typedef struct NwImages
{
	MemoryContext mcxt;
	int n;
	int allocated;
	uint32 *hash;  /* [n] as nw_label_hash() has it */
	uint32 *place; /* [n] in the chunks, in steps of 2 bytes */
	char **chunk;  /* lengths, each with its bytes behind it */
	int nchunks;
	Size used;     /* of the last chunk */
	uint32 *slot;  /* [nslots] a number plus 1, or 0 */
	uint32 nslots; /* a power of 2 */
} NwImages;

/* Begin, in a context of its own. */
extern NwImages *nw_images_create(MemoryContext parent);

/* The number of a byte string of at most 65,535 bytes. */
extern int nw_images_add(NwImages *images, NwBytes image);

/* The byte string of a number. */
extern NwBytes nw_images_get(const NwImages *images, int number);

/* Bytes allocated. */
extern Size nw_images_memory(const NwImages *images);

#endif /* NW_INDEX_LABEL_IMAGES_H */
