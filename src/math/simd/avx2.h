/*
 * math/simd/avx2.h
 *		The inner loops in AVX2 with FMA and F16C.
 */
#ifndef NW_MATH_SIMD_AVX2_H
#define NW_MATH_SIMD_AVX2_H

#include "math/simd/simd.h"

#if defined(__x86_64__)
extern const NwSimd nw_simd_avx2;
#endif

#endif /* NW_MATH_SIMD_AVX2_H */
