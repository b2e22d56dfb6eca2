/*
 * math/simd/scalar.c
 *		The inner loops in plain C.
 *
 * These are the reference: the others give the same bits.
 */
#include "math/simd/scalar.h"

#include "math/simd/sums.h"
#include "math/simd/vec_scalar.h"

#include "math/simd/table_body.h"

const NwSimd nw_simd_scalar = LOOPS;
