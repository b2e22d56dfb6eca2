/*
 * math/kmeans_seed.h
 *		The centres that k-means begins with.
 */
#ifndef NW_MATH_KMEANS_SEED_H
#define NW_MATH_KMEANS_SEED_H

#include "math/kmeans_run.h"

extern int nw_kmeans_trials(int k);
extern void nw_kmeans_choose_centres(NwKmeansRun *run);

#endif /* NW_MATH_KMEANS_SEED_H */
