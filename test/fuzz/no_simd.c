/*
 * no_simd.c
 *		No inner loops: nothing that the targets call needs them, and they take
 *		long to compile.
 */
#include "math/simd/simd.h"

const NwSimd *nw_simd;
