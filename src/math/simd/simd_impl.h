/*
 * math/simd/simd_impl.h
 *		What the implementations of NwSimd have in common.
 */
#ifndef NW_MATH_SIMD_SIMD_IMPL_H
#define NW_MATH_SIMD_SIMD_IMPL_H

#include <stdbool.h>
#include <stdint.h>

#include "math/simd/simd.h"

/* The sums over dimensions; one loop serves all. */
typedef enum SumKind
{
	SUM_SQDIST,
	SUM_SQDIST_SCALED,
	SUM_DOT,
	SUM_SQNORM
} SumKind;

/*
 * Blocks of queries and rows: so many rows, so many dimensions of them at a
 * time, are widened to double in a tile that stays in the nearest cache, and
 * so many queries go over the tile before the next dimensions.
 */
#define NW_TILE_ROWS 8
#define NW_TILE_DIM 256
#define NW_TILE_QUERIES 32

/*
 * The constants of exp_split.
 *
 * exp(score) = 2^(n + f), n = rint(score * log2(e)).  The product is taken
 * with log2(e) in two parts, so f carries no error of n's size.
 *
 * 2^f is 1 + f * P(f), with P of degree 10, the minimax polynomial of the
 * relative error over [-1/2, 1/2].  The coefficients as rounded here are
 * within 4.3e-17 of 2^f, and 2^0 is exactly 1.
 *
 * At |score * log2(e)| >= 2^52 the product is an integer as it stands, and f,
 * what its rounding lost, may have any size.  There f is brought to
 * [0, NW_EXP_F_MAX]: the power of two is then n's alone, which keeps scores in
 * order, and two scores that share n still differ by the sign f had.
 */
#define NW_LOG2E_HI 0x1.71547652b82fep+0
#define NW_LOG2E_LO 0x1.777d0ffda0d24p-56

/* Scores beyond this are taken as this, so that n stays finite. */
#define NW_EXP_SCORE_MAX 1.2e308

#define NW_EXP_INTEGRAL 0x1p52
#define NW_EXP_F_MAX 0.75

#define NW_EXP_P0 0x1.62e42fefa39f3p-1
#define NW_EXP_P1 0x1.ebfbdff82c598p-3
#define NW_EXP_P2 0x1.c6b08d7048f31p-5
#define NW_EXP_P3 0x1.3b2ab6fba1e1cp-7
#define NW_EXP_P4 0x1.5d87fe7bbbe18p-10
#define NW_EXP_P5 0x1.43091309611e8p-13
#define NW_EXP_P6 0x1.ffcbee3b0663ep-17
#define NW_EXP_P7 0x1.62bfd49eb6f70p-20
#define NW_EXP_P8 0x1.b54167a8e6d9ap-24
#define NW_EXP_P9 0x1.e605f9ab2eb67p-28
#define NW_EXP_P10 0x1.c0637aa9b448fp-32

/*
 * The constants of exp_sum and exp_bins, which have 2^f in common.  Adding NW_EXP_ROUND to
 * a number of magnitude below 2^51 rounds it to an integer, which the low bits
 * of the sum hold; arguments below NW_EXP_SUM_MIN count as 0, so that 2^n is
 * never subnormal.
 */
#define NW_EXP_ROUND 0x1.8p52
#define NW_EXP_SUM_MIN (-700.0)

#define NW_MANTISSA_MASK UINT64_C(0x000fffffffffffff)
#define NW_MANTISSA_ONE UINT64_C(0x0010000000000000)

extern double nw_scalar_coarse_copy(const float *x, int dim, double scale, double step,
                                    int16_t *copy);
extern void nw_scalar_coarse_sqdist(const float *t, const int16_t *copy, int dim, int n,
                                    float *out);
extern void nw_scalar_code_query(const double *q, const float *center, int dim, double scale,
                                 float *t);
extern void nw_scalar_code_dot(const float *t, const int8_t *code, int dim, int n, float *out);
extern double nw_scalar_code_middles(const NwCodeLine *line, const float *dot, const float *scale,
                                     const float *more, int n, double *out);
extern void nw_scalar_code_ranges(const NwCodeLine *line, const float *dot, const float *scale,
                                  const float *more, int n, double *low, double *high);
extern void nw_scalar_code_scores(const float *error, int n, bool square, double near, double far,
                                  double *low, double *high);
extern void nw_scalar_code_cosines(const float *norm, int n, float least, double share,
                                   double slack, double *low, double *high);

#if defined(__x86_64__)

/* The parts of an implementation that have a file of their own. */
extern void nw_avx2_sqdist_block(const double *q, int nq, const float *x, int dim, int n,
                                 double *out);
extern void nw_avx2_sqdist_scaled_block(const double *q, int nq, const float *x,
                                        const double *scale, int dim, int n, double *out);
extern void nw_avx2_dot_block(const double *q, int nq, const float *x, int dim, int n, double *out);
extern double nw_avx2_coarse_copy(const float *x, int dim, double scale, double step,
                                  int16_t *copy);
extern void nw_avx2_coarse_sqdist(const float *t, const int16_t *copy, int dim, int n, float *out);
extern void nw_avx2_code_query(const double *q, const float *center, int dim, double scale,
                               float *t);
extern void nw_avx2_code_dot(const float *t, const int8_t *code, int dim, int n, float *out);
extern double nw_avx2_code_middles(const NwCodeLine *line, const float *dot, const float *scale,
                                   const float *more, int n, double *out);
extern void nw_avx2_code_ranges(const NwCodeLine *line, const float *dot, const float *scale,
                                const float *more, int n, double *low, double *high);
extern void nw_avx2_code_scores(const float *error, int n, bool square, double near, double far,
                                double *low, double *high);
extern void nw_avx2_code_cosines(const float *norm, int n, float least, double share, double slack,
                                 double *low, double *high);
extern double nw_avx2_exp_sum(const double *score, int n, double factor, double shift);
extern void nw_avx2_exp_moments(const double *score, int n, double shift, bool over_scores,
                                NwMoments *out);
extern double nw_avx2_max(const double *value, int n);
extern void nw_avx2_bin_sum(double top, int n, const double *bin, const uint64_t *hi,
                            const uint64_t *lo, uint64_t *low, uint64_t *high);

extern void nw_avx512_sqdist_block(const double *q, int nq, const float *x, int dim, int n,
                                   double *out);
extern void nw_avx512_sqdist_scaled_block(const double *q, int nq, const float *x,
                                          const double *scale, int dim, int n, double *out);
extern void nw_avx512_dot_block(const double *q, int nq, const float *x, int dim, int n,
                                double *out);
extern double nw_avx512_coarse_copy(const float *x, int dim, double scale, double step,
                                    int16_t *copy);
extern void nw_avx512_coarse_sqdist(const float *t, const int16_t *copy, int dim, int n,
                                    float *out);
extern void nw_avx512_code_query(const double *q, const float *center, int dim, double scale,
                                 float *t);
extern void nw_avx512_code_dot(const float *t, const int8_t *code, int dim, int n, float *out);
extern double nw_avx512_code_middles(const NwCodeLine *line, const float *dot, const float *scale,
                                     const float *more, int n, double *out);
extern void nw_avx512_code_ranges(const NwCodeLine *line, const float *dot, const float *scale,
                                  const float *more, int n, double *low, double *high);
extern void nw_avx512_code_scores(const float *error, int n, bool square, double near, double far,
                                  double *low, double *high);
extern void nw_avx512_code_cosines(const float *norm, int n, float least, double share,
                                   double slack, double *low, double *high);
extern double nw_avx512_exp_sum(const double *score, int n, double factor, double shift);
extern void nw_avx512_exp_moments(const double *score, int n, double shift, bool over_scores,
                                  NwMoments *out);
extern double nw_avx512_max(const double *value, int n);
extern void nw_avx512_bin_sum(double top, int n, const double *bin, const uint64_t *hi,
                              const uint64_t *lo, uint64_t *low, uint64_t *high);
extern void nw_avx512_exp_bins(double top, int n, const double *score, uint64_t *low,
                               uint64_t *high);

#endif /* __x86_64__ */

#endif /* NW_MATH_SIMD_SIMD_IMPL_H */
