/*
 * math/copies.h
 *		Half-size copies of vectors, and how far their distances can be off.
 *
 * A number x is copied as the nearest multiple k * step with k in
 * -32767 .. 32767; all vectors of a support share the step.  Distances to the
 * copies take half the memory traffic of exact ones and differ from them by no
 * more than a bound that is the same for every vector.  Where the most
 * probable class leads by more than such a difference can account for, it is
 * the exact sum's most probable class too.
 *
 * Pure C: no PostgreSQL, no allocation, no errors.
 */
#ifndef NW_MATH_COPIES_H
#define NW_MATH_COPIES_H

#include <stdbool.h>
#include <stdint.h>

#include "math/kernel.h"

/* What the copies of a support have in common. */
typedef struct NwCopies
{
	double step;  /* a copy of k stands for k * step */
	double error; /* no vector is farther from its copy */
} NwCopies;

extern bool nw_copies_serves(NwKernel kernel);
extern float nw_copies_magnitude(const float *x, int64_t n);
extern bool nw_copies_init(NwCopies *copies, double magnitude);
extern void nw_copies_copy(NwCopies *copies, const float *x, const double *scale, int dim, int n,
                           int16_t *copy);
extern void nw_copies_query(const NwCopies *copies, const NwQuery *query, float *t);
extern void nw_copies_measure(const NwCopies *copies, const float *t, const int16_t *copy, int dim,
                              int n, double *measure);
extern double nw_copies_score_error(const NwCopies *copies, const NwQuery *query,
                                    double max_measure);

#endif /* NW_MATH_COPIES_H */
