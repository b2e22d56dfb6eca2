/*
 * index/build_labels.h
 *		The labels of an index that is built, numbered as they are met, in little
 *		memory.
 */
#ifndef NW_INDEX_BUILD_LABELS_H
#define NW_INDEX_BUILD_LABELS_H

#include "postgres.h"

#include "sets/text_out.h"

/* A label that was met. */
typedef struct NwBuildLabel
{
	uint32 hash;  /* as nw_label_hash() has it */
	uint32 place; /* in the chunks, in steps of 2 bytes */
} NwBuildLabel;

typedef struct NwBuildLabels
{
	MemoryContext mcxt;
	int n;
	int allocated;
	NwBuildLabel *label; /* [n] */
	char **chunk;        /* [nchunks] lengths, each with the bytes of a label behind it */
	int nchunks;
	int chunk_allocated;
	Size used;     /* bytes of the last chunk */
	uint32 *slot;  /* [nslots] hash table: a number plus 1, or 0 */
	uint32 nslots; /* a power of 2 */
} NwBuildLabels;

extern NwBuildLabels *nw_build_labels_create(MemoryContext parent);
extern int nw_build_labels_add(NwBuildLabels *labels, NwBytes image);
extern NwBytes nw_build_labels_get(const NwBuildLabels *labels, int number);
extern Size nw_build_labels_memory(const NwBuildLabels *labels);

#endif /* NW_INDEX_BUILD_LABELS_H */
