/*
 * math/simd/avx512.h
 *		The inner loops in AVX-512 (F, DQ, BW, VL).
 */
#ifndef NW_MATH_SIMD_AVX512_H
#define NW_MATH_SIMD_AVX512_H

#include "math/simd/simd.h"

#if defined(__x86_64__)
extern const NwSimd nw_simd_avx512;
#endif

#endif /* NW_MATH_SIMD_AVX512_H */
