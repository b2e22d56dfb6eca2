/*
 * math/code_sum.h
 *		Bounds on the sum over many rows that have codes.
 *
 * Pure C: no PostgreSQL, no allocation, no errors.
 */
#ifndef NW_MATH_CODE_SUM_H
#define NW_MATH_CODE_SUM_H

#include "math/code.h"

/* So many rows are added at a time, at most. */
#define NW_CODE_SUM_MAX 512

/* What codes tell of the sum of exp(score) over rows of a list. */
typedef struct NwCodeSum
{
	/* of all rows */
	double half;   /* what is computed is off by no more, */
	double missed; /* nor is anything from its code, */
	double far;    /* nor is a distance longer */
	double slope;  /* of scores, by what codes miss */

	/* of the rows added */
	double top; /* the sums are relative to exp(top) */
	NwMoments moments;
	double reach; /* no score is farther from its middle */
	double blur;  /* nor is a middle from what is computed */
	double least; /* magnitude of a middle */
	double more;  /* factor of the slope */
} NwCodeSum;

extern void nw_code_sum_init(NwCodeSum *sum, const NwCodeQuery *cq, double radius, double error,
                             double norm);
extern bool nw_code_sum_add(NwCodeSum *sum, const NwCodeQuery *cq, const float *dot,
                            const float *scale, const float *error, const float *sqnorm,
                            const float *norm, int n);
extern void nw_code_sum_bounds(const NwCodeSum *sum, const NwCodeQuery *cq, double spread,
                               double *lower, double *upper);

#endif /* NW_MATH_CODE_SUM_H */
