/*
 * math/simd/blocks_avx2.h
 *		Many queries against many rows in AVX2 with FMA.
 */
#ifndef NW_MATH_SIMD_BLOCKS_AVX2_H
#define NW_MATH_SIMD_BLOCKS_AVX2_H

extern void nw_avx2_sqdist_block(const double *q, int nq, const float *x, int dim, int n,
                                 double *out);
extern void nw_avx2_sqdist_scaled_block(const double *q, int nq, const float *x,
                                        const double *scale, int dim, int n, double *out);
extern void nw_avx2_dot_block(const double *q, int nq, const float *x, int dim, int n, double *out);

#endif /* NW_MATH_SIMD_BLOCKS_AVX2_H */
