/*
 * math/gemm.c: the innermost loops of matrix products, for the CPU at hand.
 *
 * A tile of the product stays in registers while k runs: with AVX-512 8 rows of 48
 * columns, with AVX2 4 of 24; each needs 12 multiplications-and-additions for 3
 * loads of a row of b, and broadcasts the numbers of a.
 */
#include <stddef.h>
#include <string.h>

#include "math/gemm.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f")))
#define AVX2 __attribute__((target("avx2,fma")))
#define INLINE static inline __attribute__((always_inline))

#define ROWS_4(DO) DO(0) DO(1) DO(2) DO(3)
#define ROWS_8(DO) ROWS_4(DO) DO(4) DO(5) DO(6) DO(7)

/* Multiply into a tile of up to three vectors; n is known when this is compiled. */
#define LOAD(i)                                             \
	V s##i##0 = load(c + i * ldc);                          \
	V s##i##1 = n > 1 ? load(c + i * ldc + LANES) : zero(); \
	V s##i##2 = n > 2 ? load(c + i * ldc + 2 * LANES) : zero();
#define MULTIPLY(i)                             \
	x = broadcast(a[i]);                        \
	s##i##0 = multiply_add(x, b0, s##i##0);     \
	if (n > 1)                                  \
		s##i##1 = multiply_add(x, b1, s##i##1); \
	if (n > 2)                                  \
		s##i##2 = multiply_add(x, b2, s##i##2);
#define STORE(i)                             \
	store(c + i * ldc, s##i##0);             \
	if (n > 1)                               \
		store(c + i * ldc + LANES, s##i##1); \
	if (n > 2)                               \
		store(c + i * ldc + 2 * LANES, s##i##2);
#define TILE(ROWS, EACH)               \
	V b0, b1 = zero(), b2 = zero(), x; \
	EACH(LOAD)                         \
	for (int64_t i = 0; i < k; i++)    \
	{                                  \
		b0 = load(b);                  \
		if (n > 1)                     \
			b1 = load(b + LANES);      \
		if (n > 2)                     \
			b2 = load(b + 2 * LANES);  \
		EACH(MULTIPLY)                 \
		a += ROWS;                     \
		b += NW_GEMM_VECTORS * LANES;  \
	}                                  \
	EACH(STORE)

/* ------------------------------------------------------------------ AVX-512 */

#define V __m512
#define LANES 16
#define load _mm512_loadu_ps
#define store _mm512_storeu_ps
#define zero _mm512_setzero_ps
#define broadcast _mm512_set1_ps
#define plus _mm512_add_ps
#define multiply_add _mm512_fmadd_ps

INLINE AVX512 void
tile_n_avx512(int64_t k, const float *a, const float *b, float *c, int64_t ldc, const int n)
{
	TILE(8, ROWS_8)
}

static AVX512 void
tile_avx512(int64_t k, const float *a, const float *b, float *c, int64_t ldc, int vectors)
{
	if (vectors == 3)
		tile_n_avx512(k, a, b, c, ldc, 3);
	else if (vectors == 2)
		tile_n_avx512(k, a, b, c, ldc, 2);
	else
		tile_n_avx512(k, a, b, c, ldc, 1);
}

static AVX512 void
gather_avx512(int64_t k, const int64_t *offset, const float *const *source, int vectors, float *b)
{
	for (int64_t i = 0; i < k; i++)
		for (int v = 0; v < vectors; v++)
			store(b + (i * NW_GEMM_VECTORS + v) * LANES, load(source[v] + offset[i]));
}

static AVX512 void
add_avx512(int64_t n, const float *from, float *to)
{
	for (int64_t i = 0; i < n; i += LANES)
		store(to + i, plus(load(to + i), load(from + i)));
}

#undef V
#undef LANES
#undef load
#undef store
#undef zero
#undef broadcast
#undef plus
#undef multiply_add

/* ------------------------------------------------------------------ AVX2 */

#define V __m256
#define LANES 8
#define load _mm256_loadu_ps
#define store _mm256_storeu_ps
#define zero _mm256_setzero_ps
#define broadcast _mm256_set1_ps
#define plus _mm256_add_ps
#define multiply_add _mm256_fmadd_ps

INLINE AVX2 void
tile_n_avx2(int64_t k, const float *a, const float *b, float *c, int64_t ldc, const int n)
{
	TILE(4, ROWS_4)
}

static AVX2 void
tile_avx2(int64_t k, const float *a, const float *b, float *c, int64_t ldc, int vectors)
{
	if (vectors == 3)
		tile_n_avx2(k, a, b, c, ldc, 3);
	else if (vectors == 2)
		tile_n_avx2(k, a, b, c, ldc, 2);
	else
		tile_n_avx2(k, a, b, c, ldc, 1);
}

static AVX2 void
gather_avx2(int64_t k, const int64_t *offset, const float *const *source, int vectors, float *b)
{
	for (int64_t i = 0; i < k; i++)
		for (int v = 0; v < vectors; v++)
			store(b + (i * NW_GEMM_VECTORS + v) * LANES, load(source[v] + offset[i]));
}

static AVX2 void
add_avx2(int64_t n, const float *from, float *to)
{
	for (int64_t i = 0; i < n; i += LANES)
		store(to + i, plus(load(to + i), load(from + i)));
}

/* ------------------------------------------------------------------ both */

INLINE AVX2 void
transpose_8x8(const float *from, int64_t ldf, float *to, int64_t ldt)
{
	__m256 x[8];
	__m256 y[8];

	for (int i = 0; i < 8; i++)
		x[i] = _mm256_loadu_ps(from + i * ldf);
	for (int i = 0; i < 8; i += 2) /* pairs of rows: columns 0, 1, 4, 5 and 2, 3, 6, 7 */
	{
		y[i] = _mm256_unpacklo_ps(x[i], x[i + 1]);
		y[i + 1] = _mm256_unpackhi_ps(x[i], x[i + 1]);
	}
	for (int i = 0; i < 8; i += 4) /* fours of rows: columns j and j + 4 */
	{
		x[i] = _mm256_shuffle_ps(y[i], y[i + 2], 0x44);
		x[i + 1] = _mm256_shuffle_ps(y[i], y[i + 2], 0xee);
		x[i + 2] = _mm256_shuffle_ps(y[i + 1], y[i + 3], 0x44);
		x[i + 3] = _mm256_shuffle_ps(y[i + 1], y[i + 3], 0xee);
	}
	for (int i = 0; i < 4; i++)
	{
		_mm256_storeu_ps(to + i * ldt, _mm256_permute2f128_ps(x[i], x[i + 4], 0x20));
		_mm256_storeu_ps(to + (i + 4) * ldt, _mm256_permute2f128_ps(x[i], x[i + 4], 0x31));
	}
}

INLINE void
transpose_4x4(const float *from, int64_t ldf, float *to, int64_t ldt)
{
	__m128 x0 = _mm_loadu_ps(from);
	__m128 x1 = _mm_loadu_ps(from + ldf);
	__m128 x2 = _mm_loadu_ps(from + 2 * ldf);
	__m128 x3 = _mm_loadu_ps(from + 3 * ldf);

	_MM_TRANSPOSE4_PS(x0, x1, x2, x3);
	_mm_storeu_ps(to, x0);
	_mm_storeu_ps(to + ldt, x1);
	_mm_storeu_ps(to + 2 * ldt, x2);
	_mm_storeu_ps(to + 3 * ldt, x3);
}

/* Transpose in the largest squares that fit. */
static AVX2 void
transpose(int rows, int64_t columns, const float *from, int64_t ldf, float *to, int64_t ldt)
{
	int size;

	for (int r = 0; r < rows; r += size)
	{
		const float *f = from + r * ldf;
		float *t = to + r;
		int64_t i = 0;

		size = rows - r >= 8 && columns >= 8 ? 8 : rows - r >= 4 ? 4 : 1;
		if (size == 8)
			for (; i + 8 <= columns; i += 8)
				transpose_8x8(f + i, ldf, t + i * ldt, ldt);
		if (size >= 4)
			for (int h = 0; h < size; h += 4)
				for (int64_t j = i; j + 4 <= columns; j += 4)
					transpose_4x4(f + h * ldf + j, ldf, t + j * ldt + h, ldt);
		if (size >= 4)
			i = columns / 4 * 4;
		for (; i < columns; i++)
			for (int h = 0; h < size; h++)
				t[i * ldt + h] = f[h * ldf + i];
	}
}

static const NwGemm gemm_avx512 = {"avx512",      8,          16,       tile_avx512,
                                   gather_avx512, add_avx512, transpose};
static const NwGemm gemm_avx2 = {"avx2", 4, 8, tile_avx2, gather_avx2, add_avx2, transpose};

#endif /* __x86_64__ */

/* Find loops by name, "avx512" or "avx2"; NULL where the machine cannot run them. */
const NwGemm *
nw_gemm_find(const char *name)
{
#if defined(__x86_64__)
	__builtin_cpu_init();
	if (strcmp(name, gemm_avx512.name) == 0)
		return __builtin_cpu_supports("avx512f") ? &gemm_avx512 : NULL;
	if (strcmp(name, gemm_avx2.name) == 0)
		return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &gemm_avx2 : NULL;
#endif
	(void) name;
	return NULL;
}

/* Choose the fastest that this machine runs; NULL where standard operators serve better. */
const NwGemm *
nw_gemm_best(void)
{
	const NwGemm *g = nw_gemm_find("avx512");

	return g != NULL ? g : nw_gemm_find("avx2");
}
