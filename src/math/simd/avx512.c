/*
 * math/simd/avx512.c
 *		The inner loops in AVX-512 (F, DQ, BW, VL).
 */
#include "math/simd/avx512.h"

#if defined(__x86_64__)

#include "math/simd/blocks_avx512.h"
#include "math/simd/scalar.h"
#include "math/simd/sums.h"
#include "math/simd/vec_avx512.h"

#define BLOCKS(name) nw_avx512_##name

#include "math/simd/table_body.h"

#endif /* __x86_64__ */
