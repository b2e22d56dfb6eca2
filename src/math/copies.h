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
	double step;
	double error; /* no vector is farther from its copy */
} NwCopies;

/* True where a kernel's scores come from distances, which copies bound. */
extern bool nw_copies_serves(NwKernel kernel);

/* The largest magnitude among n numbers. */
extern float nw_copies_magnitude(const float *x, int64_t n);

/*
 * Choose the step for numbers up to a magnitude; false where it would be too
 * small or too large to compute with.
 */
extern bool nw_copies_init(NwCopies *copies, double magnitude);

/*
 * Copy n vectors x [n][dim], each times scale[i] where scale is given, and
 * widen the error to cover them.
 */
extern void nw_copies_copy(NwCopies *copies, const float *x, const double *scale, int dim, int n,
                           int16_t *copy);

/* Make a query ready: t [dim] is q / step. */
extern void nw_copies_query(const NwCopies *copies, const NwQuery *query, float *t);

/* measure[i] of the copies of n vectors, as nw_query_measure() has it, nearly */
extern void nw_copies_measure(const NwCopies *copies, const float *t, const int16_t *copy, int dim,
                              int n, double *measure);

/*
 * How far the score of a copy is from that of its vector, at the most, where
 * no measure of a copy was above max_measure.
 */
extern double nw_copies_score_error(const NwCopies *copies, const NwQuery *query,
                                    double max_measure);

#endif /* NW_MATH_COPIES_H */
