/*
 * simd_names.h
 *		The instruction sets that tests go over, plain C first.
 */
#ifndef NW_SIMD_NAMES_H
#define NW_SIMD_NAMES_H

#define SIMD_COUNT 4

static const char *const simd_names[SIMD_COUNT] = {"scalar", "avx2", "avx512", "neon"};

#endif /* NW_SIMD_NAMES_H */
