/*
 * math/simd/blocks_avx512.h
 *		Many queries against many rows in AVX-512.
 */
#ifndef NW_MATH_SIMD_BLOCKS_AVX512_H
#define NW_MATH_SIMD_BLOCKS_AVX512_H

extern void nw_avx512_sqdist_block(const double *q, int nq, const float *x, int dim, int n,
                                   double *out);
extern void nw_avx512_sqdist_scaled_block(const double *q, int nq, const float *x,
                                          const double *scale, int dim, int n, double *out);
extern void nw_avx512_dot_block(const double *q, int nq, const float *x, int dim, int n,
                                double *out);

#endif /* NW_MATH_SIMD_BLOCKS_AVX512_H */
