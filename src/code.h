/*
 * code.h
 *		Vectors in one byte a dimension, and bounds on what they score.
 *
 * A vector is coded against a centre: centre + scale * code, with code in
 * -127 .. 127, is no farther from it than error.  From the code alone follow
 * bounds on the score of the vector; the proof is in code.c.
 *
 * A centre may be NULL everywhere: then it is the zero vector.
 *
 * Pure C: no PostgreSQL, no allocation, no errors.
 */
#ifndef NW_CODE_H
#define NW_CODE_H

#include <stdint.h>

#include "kernel.h"
#include "simd.h"

/* The largest number in a code. */
#define NW_CODE_MAX	127

/* What a row's code needs beside its dim bytes; four arrays on a page. */
typedef struct NwCodeInfo
{
	float		scale;			/* the vector is centre + scale * code, give
								 * or take */
	float		error;			/* at most so far from it, rounded up; may be
								 * +inf */
	float		sqnorm;			/* |scale * code|^2 */
	float		norm;			/* |x|: within a relative 2^-23 of the vector's
								 * length; +inf where that is beyond float */
} NwCodeInfo;

/*
 * Encode x [dim] against center [dim] as code [dim].  A vector too large for
 * the arithmetic has an infinite error, and a code of zeros.
 */
extern void nw_code_encode(const float *x, const float *center, int dim,
						   int8_t *code, NwCodeInfo *info);

/* A query made ready for the codes made against one centre. */
typedef struct NwCodeQuery
{
	NwKernel	kernel;
	int			dim;
	double		factor;			/* 1 / tau */
	const float *t;				/* [dim]: what the codes are multiplied with */
	NwCodeLine	line;			/* what that makes of the products */
	bool		zero;			/* the query is the zero vector */
} NwCodeQuery;

/* Make a query ready; t [dim] must outlive it. */
extern void nw_code_query(NwCodeQuery *cq, const NwQuery *query,
						  const float *center, float *t);

/*
 * lower[i] <= score of row i <= upper[i], the score being what
 * nw_query_measure() + nw_query_score() give for the exact vector (all their
 * rounding included), for n rows: code [n][dim], the infos as four arrays.
 * Never NaN; lower may be -HUGE_VAL, and upper of the dot kernel HUGE_VAL.
 */
extern void nw_code_bounds(const NwCodeQuery *cq, const int8_t *code,
						   const float *scale, const float *error,
						   const float *sqnorm, const float *norm, int n,
						   double *lower, double *upper);

/*
 * The same for a ball: every vector within radius of the centre, with
 * NwCodeInfo's norm between norm_min and norm_max.
 */
extern void nw_ball_bounds(const NwQuery *query, const float *center,
						   double radius, double norm_min, double norm_max,
						   double *lower, double *upper);

/* |x - center|, rounded up: what a ball's radius must not be below */
extern float nw_code_distance_up(const float *x, const float *center, int dim);

#endif							/* NW_CODE_H */
