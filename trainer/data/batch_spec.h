/*
 * data/batch_spec.h: what the batch of a training step is made of.
 */
#ifndef NW_BATCH_SPEC_H
#define NW_BATCH_SPEC_H

#include <stdbool.h>

/* what is added to the scores of supports of another slot: it is below all scores */
#define NW_NOT_A_MEMBER (-1e38f)

typedef struct NwBatchSpec
{
	int queries;  /* N_b */
	int supports; /* N_s; 0 for the FC head */
	bool shared;  /* one support set for all queries */
	int slots;    /* classes a query can tell apart in its supports */
} NwBatchSpec;

static inline int
nw_batch_images(const NwBatchSpec *b)
{
	return b->queries + (b->shared ? b->supports : b->queries * b->supports);
}

#endif
