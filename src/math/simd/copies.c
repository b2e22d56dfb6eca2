/*
 * math/simd/copies.c
 *		Distances to half-size copies: see coarse.h.
 *
 * The result decides how much is computed, never what: so here, unlike in the
 * sums of simd.h, the implementations need not agree to the last bit.  All
 * keep to 16 lanes, which the bound on their rounding counts on.
 */
#include "math/simd/simd.h"
#include "math/simd/simd_impl.h"

/* Adding this to a small number rounds it to an integer. */
#define ROUND 0x1.8p52

/* Copy one number; return the square of what the copy misses. */
static inline double
copy_number(float x, double scale, double step, double inverse, int16_t *copy)
{
	double value = x * scale;
	double k = value * inverse;
	double rest;

	k = k < NW_COARSE_MAX ? k : NW_COARSE_MAX;
	k = k > -NW_COARSE_MAX ? k : -NW_COARSE_MAX;
	k = (k + ROUND) - ROUND;
	rest = value - k * step;
	*copy = (int16_t) k;
	return rest * rest;
}

double
nw_scalar_coarse_copy(const float *x, int dim, double scale, double step, int16_t *copy)
{
	double sum = 0;

	for (int j = 0; j < dim; j++)
		sum += copy_number(x[j], scale, step, 1 / step, copy + j);
	return sum;
}

void
nw_scalar_coarse_sqdist(const float *t, const int16_t *copy, int dim, int n, float *out)
{
	for (int i = 0; i < n; i++)
	{
		float lane[NW_LANES] = {0};

		for (int j = 0; j < dim; j++)
		{
			float diff = t[j] - copy[j];

			lane[j % NW_LANES] += diff * diff;
		}
		for (int width = NW_LANES / 2; width > 0; width /= 2)
		{
			for (int j = 0; j < width; j++)
				lane[j] += lane[j + width];
		}
		out[i] = lane[0];
		copy += dim;
	}
}

#if defined(__x86_64__)

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,fma,f16c")))
#define AVX512 __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl")))

/* How far ahead copies are fetched: see NW_PREFETCH_BYTES. */
#define AHEAD(p) _mm_prefetch((const char *) ((uintptr_t) (p) + NW_PREFETCH_BYTES), _MM_HINT_T0)

/* Accumulate eight dimensions. */
static inline __attribute__((always_inline)) AVX2 __m256
step8(__m256 acc, const float *t, const int16_t *copy)
{
	__m128i k = _mm_loadu_si128((const __m128i *) copy);
	__m256 diff = _mm256_sub_ps(_mm256_loadu_ps(t), _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(k)));

	return _mm256_fmadd_ps(diff, diff, acc);
}

AVX2 double
nw_avx2_coarse_copy(const float *x, int dim, double scale, double step, int16_t *copy)
{
	double inverse = 1 / step;
	__m256d largest = _mm256_set1_pd(NW_COARSE_MAX);
	__m256d smallest = _mm256_set1_pd(-NW_COARSE_MAX);
	__m256d acc = _mm256_setzero_pd();
	double lane[4];
	double sum = 0;
	int j = 0;

	for (; j + 4 <= dim; j += 4)
	{
		__m256d value = _mm256_mul_pd(_mm256_cvtps_pd(_mm_loadu_ps(x + j)), _mm256_set1_pd(scale));
		__m256d k = _mm256_mul_pd(value, _mm256_set1_pd(inverse));
		__m128i integer;
		__m256d rest;

		k = _mm256_max_pd(_mm256_min_pd(k, largest), smallest);
		integer = _mm256_cvtpd_epi32(k);
		k = _mm256_cvtepi32_pd(integer);
		rest = _mm256_fnmadd_pd(k, _mm256_set1_pd(step), value);
		acc = _mm256_fmadd_pd(rest, rest, acc);
		_mm_storel_epi64((__m128i *) (copy + j), _mm_packs_epi32(integer, integer));
	}
	for (; j < dim; j++)
		sum += copy_number(x[j], scale, step, inverse, copy + j);
	_mm256_storeu_pd(lane, acc);
	return sum + lane[0] + lane[1] + lane[2] + lane[3];
}

AVX2 void
nw_avx2_coarse_sqdist(const float *t, const int16_t *copy, int dim, int n, float *out)
{
	int whole = dim - dim % NW_LANES;

	for (int i = 0; i < n; i++)
	{
		__m256 a = _mm256_setzero_ps();
		__m256 b = _mm256_setzero_ps();
		__m128 sum;
		float rest = 0;

		for (int j = 0; j < whole; j += NW_LANES)
		{
			if (j % 32 == 0)
				AHEAD(copy + j);
			a = step8(a, t + j, copy + j);
			b = step8(b, t + j + 8, copy + j + 8);
		}
		for (int j = whole; j < dim; j++)
		{
			float diff = t[j] - copy[j];

			rest += diff * diff;
		}
		a = _mm256_add_ps(a, b);
		sum = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
		sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
		sum = _mm_add_ss(sum, _mm_shuffle_ps(sum, sum, 1));
		out[i] = _mm_cvtss_f32(sum) + rest;
		copy += dim;
	}
}

AVX512 double
nw_avx512_coarse_copy(const float *x, int dim, double scale, double step, int16_t *copy)
{
	__m512d largest = _mm512_set1_pd(NW_COARSE_MAX);
	__m512d smallest = _mm512_set1_pd(-NW_COARSE_MAX);
	__m512d inverse = _mm512_set1_pd(1 / step);
	__m512d acc = _mm512_setzero_pd();

	for (int j = 0; j < dim; j += 8)
	{
		__mmask8 mask = dim - j >= 8 ? 0xff : (__mmask8) ((1U << (dim - j)) - 1);
		__m512d value = _mm512_cvtps_pd(_mm256_maskz_loadu_ps(mask, x + j));
		__m512d k;
		__m512d rest;

		value = _mm512_mul_pd(value, _mm512_set1_pd(scale));
		k = _mm512_mul_pd(value, inverse);
		k = _mm512_max_pd(_mm512_min_pd(k, largest), smallest);
		k = _mm512_roundscale_pd(k, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
		rest = _mm512_fnmadd_pd(k, _mm512_set1_pd(step), value);
		acc = _mm512_fmadd_pd(rest, rest, acc);
		_mm_mask_storeu_epi16(copy + j, mask, _mm256_cvtepi32_epi16(_mm512_cvtpd_epi32(k)));
	}
	return _mm512_reduce_add_pd(acc);
}

/* Accumulate the sixteen dimensions of mask. */
static inline __attribute__((always_inline)) AVX512 __m512
step16(__m512 acc, __m512 t, const int16_t *copy, __mmask16 mask)
{
	__m256i k = _mm256_maskz_loadu_epi16(mask, copy);
	__m512 diff = _mm512_sub_ps(t, _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(k)));

	return _mm512_fmadd_ps(diff, diff, acc);
}

/* Fold the lanes of four rows. */
static inline __attribute__((always_inline)) AVX512 __m128
fold4(__m512 a, __m512 b, __m512 c, __m512 d)
{
	__m512 ab;
	__m512 cd;
	__m256 half;

	/* 8 and 4: a row is a quarter of a register */
	ab = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
	cd = _mm512_add_ps(_mm512_shuffle_f32x4(c, d, 0x44), _mm512_shuffle_f32x4(c, d, 0xee));
	ab = _mm512_add_ps(_mm512_shuffle_f32x4(ab, cd, 0x88), _mm512_shuffle_f32x4(ab, cd, 0xdd));

	/* 2 and 1 */
	ab = _mm512_add_ps(ab, _mm512_permute_ps(ab, 0x4e));
	ab = _mm512_add_ps(ab, _mm512_permute_ps(ab, 0xb1));
	half = _mm512_castps512_ps256(_mm512_permutexvar_ps(
		_mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), ab));
	return _mm256_castps256_ps128(half);
}

AVX512 void
nw_avx512_coarse_sqdist(const float *t, const int16_t *copy, int dim, int n, float *out)
{
	int i = 0;

	/* four rows side by side, the last ones by themselves */
	for (; i < n; i += 4)
	{
		int rows = n - i < 4 ? n - i : 4;
		const int16_t *c0 = copy + (int64_t) i * dim;
		const int16_t *c1 = rows > 1 ? c0 + dim : c0;
		const int16_t *c2 = rows > 2 ? c1 + dim : c0;
		const int16_t *c3 = rows > 3 ? c2 + dim : c0;
		__m512 a = _mm512_setzero_ps();
		__m512 b = a;
		__m512 c = a;
		__m512 d = a;

		for (int j = 0; j < dim; j += NW_LANES)
		{
			__mmask16 mask = dim - j >= NW_LANES ? 0xffff : (__mmask16) ((1U << (dim - j)) - 1);
			__m512 q = _mm512_maskz_loadu_ps(mask, t + j);

			if (j % 32 == 0)
			{
				AHEAD(c0 + j);
				AHEAD(c1 + j);
				AHEAD(c2 + j);
				AHEAD(c3 + j);
			}
			a = step16(a, q, c0 + j, mask);
			b = step16(b, q, c1 + j, mask);
			c = step16(c, q, c2 + j, mask);
			d = step16(d, q, c3 + j, mask);
		}
		_mm_mask_storeu_ps(out + i, (__mmask8) ((1U << rows) - 1), fold4(a, b, c, d));
	}
}

#endif /* __x86_64__ */
