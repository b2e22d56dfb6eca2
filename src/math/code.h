/*
 * math/code.h
 *		Vectors in one byte a dimension, and bounds on what they score.
 *
 * A vector is coded against a centre: centre + scale * code, with code in
 * -127 .. 127, is no farther from it than error.  From the code alone follow
 * bounds on the score of the vector; the proof is in code.c.
 *
 * The rows of a list have more to tell together than one by one.  What codes
 * miss goes in all directions, so over many rows most of it cancels out, and
 * how much does not is bounded by one number for all of them (spectral.h).
 *
 * A centre may be NULL everywhere: then it is the zero vector.
 *
 * Pure C: no PostgreSQL, no allocation, no errors.
 */
#ifndef NW_MATH_CODE_H
#define NW_MATH_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "math/kernel.h"
#include "math/simd/simd.h"

/* The largest number in a code. */
#define NW_CODE_MAX 127

/* What a row's code needs beside its dim bytes; four arrays on a page. */
typedef struct NwCodeInfo
{
	float scale;  /* the vector is centre + scale * code, give
	               * or take */
	float error;  /* at most so far from it, rounded up; may be
	               * +inf */
	float sqnorm; /* |x - centre|^2; 0 where error is +inf */
	float norm;   /* |x|: within a relative 2^-23 of the vector's
	               * length; +inf where that is beyond float */
} NwCodeInfo;

/*
 * Encode x [dim] against center [dim] as code [dim].  A vector too large for
 * the arithmetic has an infinite error, and a code of zeros.
 */
extern void nw_code_encode(const float *x, const float *center, int dim, int8_t *code,
                           NwCodeInfo *info);

/*
 * What a code misses, x - center - scale * code, as rest [dim].  Returns by how
 * much that may be off; it is of no use where error is +inf.
 */
extern double nw_code_residual(const float *x, const float *center, int dim, const int8_t *code,
                               const NwCodeInfo *info, float *rest);

/* A query made ready for the codes made against one centre. */
typedef struct NwCodeQuery
{
	NwKernel kernel;
	int dim;
	double factor;   /* 1 / tau */
	const float *t;  /* [dim]: what the codes are multiplied with */
	NwCodeLine line; /* what that makes of the products */
	double length;   /* of what is multiplied with them, at most */
	bool zero;       /* the query is the zero vector */
} NwCodeQuery;

/* Make a query ready; t [dim] must outlive it. */
extern void nw_code_query(NwCodeQuery *cq, const NwQuery *query, const float *center, float *t);

/* True where scores come from distances of vectors as they are. */
static inline bool
nw_code_is_distance(NwKernel kernel)
{
	return kernel == NW_EUCLIDEAN || kernel == NW_GAUSSIAN;
}

/* dot [n]: the inner products that all bounds begin with; code [n][dim] */
extern void nw_code_dots(const NwCodeQuery *cq, const int8_t *code, int n, float *dot);

/*
 * lower[i] <= score of row i <= upper[i], the score being what
 * nw_query_measure() + nw_query_score() give for the exact vector (all their
 * rounding included), for n rows: their inner products, and the infos as four
 * arrays.  Never NaN; lower may be -HUGE_VAL, and upper of the dot kernel
 * HUGE_VAL.
 */
extern void nw_code_bounds(const NwCodeQuery *cq, const float *dot, const float *scale,
                           const float *error, const float *sqnorm, const float *norm, int n,
                           double *lower, double *upper);

/*
 * The same for a ball: every vector within radius of the centre, with
 * NwCodeInfo's norm between norm_min and norm_max.
 */
extern void nw_ball_bounds(const NwQuery *query, const float *center, double radius,
                           double norm_min, double norm_max, double *lower, double *upper);

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

/*
 * Begin a sum over rows no farther from the centre than radius, with errors up
 * to error and norms from norm on.
 */
extern void nw_code_sum_init(NwCodeSum *sum, const NwCodeQuery *cq, double radius, double error,
                             double norm);

/*
 * Add n rows, at most NW_CODE_SUM_MAX; false where their codes are too vague
 * for it, and nothing is added.
 */
#define NW_CODE_SUM_MAX 512
extern bool nw_code_sum_add(NwCodeSum *sum, const NwCodeQuery *cq, const float *dot,
                            const float *scale, const float *error, const float *sqnorm,
                            const float *norm, int n);

/*
 * Bound the logarithm of the sum: the rows' residuals x - centre - scale * code
 * have, as a matrix, a norm of at most spread (HUGE_VAL where none is known).
 */
extern void nw_code_sum_bounds(const NwCodeSum *sum, const NwCodeQuery *cq, double spread,
                               double *lower, double *upper);

/*
 * Cover rounding in double, here and in kernel.c: relative, and absolute for
 * cosines; see code.c.
 */
#define NW_CODE_WIDE 1e-9
#define NW_CODE_NEAR 1e-10

/* Round to a float not below; +inf where there is none. */
extern float nw_round_up(double value);

/* |x - center|, rounded up: what a ball's radius must not be below */
extern float nw_code_distance_up(const float *x, const float *center, int dim);

#endif /* NW_MATH_CODE_H */
