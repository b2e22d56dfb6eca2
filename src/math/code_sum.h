/*
 * math/code_sum.h
 *		Bound a sum over many rows by their codes.
 *
 * The rows of a list have more to tell together than one by one.  What codes
 * miss goes in all directions, so over many rows most of it cancels out, and
 * how much does not is bounded by one number for all of them (spectral.h).
 *
 * Pure C: no PostgreSQL, no allocation, no errors.
 */
#ifndef NW_MATH_CODE_SUM_H
#define NW_MATH_CODE_SUM_H

#include <stdbool.h>

#include "math/code.h"

/* What codes tell of the sum of exp(score) over rows of a list. */
typedef struct NwCodeSum
{
	/* known of all rows */
	double half;   /* what is computed of a row is off by no more */
	double missed; /* no row is farther from its code */
	double far;    /* no distance is longer */
	double slope;  /* of scores, by what codes miss */

	/* known of the rows added */
	double top;        /* the sums are relative to exp(top) */
	NwMoments moments; /* of the middles */
	double reach;      /* no score is farther from its middle */
	double blur;       /* no middle is farther from the computed one */
	double least;      /* the least magnitude of a middle */
	double more;       /* factor of the slope */
} NwCodeSum;

extern void nw_code_sum_init(NwCodeSum *sum, const NwCodeQuery *cq, double radius, double error,
                             double norm);

/* Rows added at a time, at the most. */
#define NW_CODE_SUM_MAX 512

extern bool nw_code_sum_add(NwCodeSum *sum, const NwCodeQuery *cq, const float *dot,
                            const float *scale, const float *error, const float *sqnorm,
                            const float *norm, int n);
extern void nw_code_sum_bounds(const NwCodeSum *sum, const NwCodeQuery *cq, double spread,
                               double *lower, double *upper);

#endif /* NW_MATH_CODE_SUM_H */
