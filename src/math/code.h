/*
 * math/code.h
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

extern void nw_code_encode(const float *x, const float *centre, int dim, int8_t *code,
                           NwCodeInfo *info);
extern double nw_code_residual(const float *x, const float *centre, int dim, const int8_t *code,
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

extern void nw_code_query(NwCodeQuery *cq, const NwQuery *query, const float *centre, float *t);

/* True where scores come from distances of vectors as they are. */
static inline bool
nw_code_is_distance(NwKernel kernel)
{
	return kernel == NW_EUCLIDEAN || kernel == NW_GAUSSIAN;
}

extern void nw_code_dots(const NwCodeQuery *cq, const int8_t *code, int n, float *dot);
extern void nw_code_bounds(const NwCodeQuery *cq, const float *dot, const float *scale,
                           const float *error, const float *sqnorm, const float *norm, int n,
                           double *lower, double *upper);
extern void nw_ball_bounds(const NwQuery *query, const float *centre, double radius,
                           double norm_min, double norm_max, double *lower, double *upper);

/*
 * Cover rounding in double, here and in kernel.c: relative, and absolute for
 * cosines; see code.c.
 */
#define NW_CODE_WIDE 1e-9
#define NW_CODE_NEAR 1e-10

extern float nw_round_up(double value);
extern float nw_code_distance_up(const float *x, const float *centre, int dim);

#endif /* NW_MATH_CODE_H */
