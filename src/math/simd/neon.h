/*
 * math/simd/neon.h
 *		The inner loops in NEON, which every 64-bit ARM has.
 *
 * On the rare big-endian ARM plain C serves.
 */
#ifndef NW_MATH_SIMD_NEON_H
#define NW_MATH_SIMD_NEON_H

#include "math/simd/simd.h"

#if defined(__AARCH64EL__)
extern const NwSimd nw_simd_neon;
#endif

#endif /* NW_MATH_SIMD_NEON_H */
