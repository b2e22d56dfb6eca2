/*
 * data/sampler.h: which images make up a training step.
 */
#ifndef NW_SAMPLER_H
#define NW_SAMPLER_H

#include <stdint.h>

#include "data/batch_spec.h"
#include "data/dataset.h"

typedef struct NwSampler
{
	const NwDataset *dataset;
	NwBatchSpec spec;
	uint64_t seed;
	double smoothing;
	int64_t **member; /* [class]: its images */
	int64_t *n_members;
	int64_t *able; /* images that can be queries: their class has another one */
	int64_t n_able;
} NwSampler;

/* one step's choice */
typedef struct NwChoice
{
	int64_t *image; /* queries, then supports */
	float *targets; /* [queries, slots] */
	float *member;  /* [queries or 1, supports, slots]; NULL for the FC head */
	int *truth;     /* [queries]: the slot of the query's class */
} NwChoice;

int nw_usual_shared_supports(const NwDataset *dataset, int least);
NwSampler *nw_sampler_new(const NwDataset *dataset, const NwBatchSpec *spec, double smoothing,
                          uint64_t seed);
void nw_sampler_free(NwSampler *s);
void nw_choice_init(NwChoice *c, const NwBatchSpec *spec);
void nw_choice_free(NwChoice *c);
char *nw_sampler_draw(const NwSampler *s, int64_t step, NwChoice *c);

#endif
