/*
 * predict/mixture.h
 *		Put the answers of a mixture's members together.
 */
#ifndef NW_PREDICT_MIXTURE_H
#define NW_PREDICT_MIXTURE_H

#include "postgres.h"

#include "predict/tally.h"
#include "sets/registry.h"

typedef struct NwMixture NwMixture;

extern NwMixture *nw_mixture_create(MemoryContext mcxt, const NwSet *set);
extern void nw_mixture_begin(const NwMixture *mixture, NwTally *tally, MemoryContext mcxt);
extern void nw_mixture_take(NwMixture *mixture, NwTally *tally, int i, NwTally *answer,
                            MemoryContext mcxt);
extern bool nw_mixture_close(NwMixture *mixture, NwTally *tally, bool shares, MemoryContext mcxt);
extern void nw_mixture_merge(NwTally *tally, int top, bool all);

#endif /* NW_PREDICT_MIXTURE_H */
