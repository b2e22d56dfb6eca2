/*
 * math/gemm.h: the innermost loops of matrix products, for the CPU at hand.
 */
#ifndef NW_GEMM_H
#define NW_GEMM_H

#include <stdint.h>

#define NW_GEMM_VECTORS 3 /* side by side in a tile */

typedef struct NwGemm
{
	const char *name;
	int rows;  /* of a tile */
	int lanes; /* floats in a vector */

	/*
	 * c [rows, vectors * lanes] += a' b, with a [k, rows] and b [k, 3 * lanes]
	 * packed, and ldc floats from one row of c to the next.
	 */
	void (*tile)(int64_t k, const float *a, const float *b, float *c, int64_t ldc, int vectors);

	/* b [k, 3 * lanes]: row i takes a vector from each source at offset[i] */
	void (*gather)(int64_t k, const int64_t *offset, const float *const *source, int vectors,
	               float *b);

	/* to [n] += from, n a multiple of lanes */
	void (*add)(int64_t n, const float *from, float *to);

	/* to [columns, ldt] = from' with from [rows, ldf] */
	void (*transpose)(int rows, int64_t columns, const float *from, int64_t ldf, float *to,
	                  int64_t ldt);
} NwGemm;

const NwGemm *nw_gemm_best(void);
const NwGemm *nw_gemm_find(const char *name);

#endif
