/*
 * math/nearest.h
 *		How far a query's k-th neighbour is.
 *
 * Of all measures offered the k nearest are kept: the smallest, or the largest where
 * the kernel's measure grows with likeness.  Which these are does not depend on the
 * order of offers, nor do the bits of the farthest of them.
 *
 * Pure C: no PostgreSQL, no allocation, no errors.
 */
#ifndef NW_MATH_NEAREST_H
#define NW_MATH_NEAREST_H

#include <stdbool.h>

#include "math/kernel.h"

/* A heap with the farthest at its root. */
typedef struct NwNearest
{
	int k;       /* how many to keep; 0 where none are wanted */
	int n;       /* how many there are */
	double sign; /* of a measure that is the larger, the farther: 1 or -1 */
	double *far; /* [k] measures with that sign */
} NwNearest;

extern void nw_nearest_init(NwNearest *nearest, NwKernel kernel, int k, double *space);
extern void nw_nearest_add(NwNearest *nearest, double measure);
extern double nw_nearest_distance(const NwNearest *nearest, const NwQuery *query);

/* Say whether a measure is among the nearest so far. */
static inline bool
nw_nearest_admits(const NwNearest *nearest, double measure)
{
	return nearest->n < nearest->k || measure * nearest->sign < nearest->far[0];
}

#endif /* NW_MATH_NEAREST_H */
