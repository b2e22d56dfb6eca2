/*
 * math/simd/sums.h
 *		What the loops over rows and the blocks of queries have in common.
 */
#ifndef NW_MATH_SIMD_SUMS_H
#define NW_MATH_SIMD_SUMS_H

/* The sums over dimensions; one loop serves all. */
typedef enum SumKind
{
	SUM_SQDIST,
	SUM_SQDIST_SCALED,
	SUM_DOT,
	SUM_SQNORM
} SumKind;

/*
 * Blocks of queries and rows: so many rows, so many dimensions of them at a
 * time, are widened to double in a tile that stays in the nearest cache, and
 * so many queries go over the tile before the next dimensions.
 */
#define NW_TILE_ROWS 8
#define NW_TILE_DIM 256
#define NW_TILE_QUERIES 32

#endif /* NW_MATH_SIMD_SUMS_H */
