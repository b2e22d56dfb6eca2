/*
 * math/simd/scalar.h
 *		The inner loops in plain C.
 */
#ifndef NW_MATH_SIMD_SCALAR_H
#define NW_MATH_SIMD_SCALAR_H

#include "math/simd/simd.h"

extern const NwSimd nw_simd_scalar;

#endif /* NW_MATH_SIMD_SCALAR_H */
