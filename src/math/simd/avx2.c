/*
 * math/simd/avx2.c
 *		The inner loops in AVX2 with FMA and F16C.
 */
#include "math/simd/avx2.h"

#if defined(__x86_64__)

#include "math/simd/blocks_avx2.h"
#include "math/simd/scalar.h"
#include "math/simd/sums.h"
#include "math/simd/vec_avx2.h"

#define BLOCKS(name) nw_avx2_##name

#include "math/simd/table_body.h"

#endif /* __x86_64__ */
