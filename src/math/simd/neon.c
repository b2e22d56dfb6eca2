/*
 * math/simd/neon.c
 *		The inner loops in NEON, which every 64-bit ARM has.
 */
#include "math/simd/neon.h"

#if defined(__AARCH64EL__)

#include "math/simd/scalar.h"
#include "math/simd/sums.h"
#include "math/simd/vec_neon.h"

#include "math/simd/table_body.h"

const NwSimd nw_simd_neon = LOOPS;

#endif /* __AARCH64EL__ */
