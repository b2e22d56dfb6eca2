/*
 * math/simd/code.c
 *		Codes of one byte a dimension: see code.h.
 *
 * The result bounds scores that are computed elsewhere, so here, unlike in the
 * sums of simd.h, the implementations need not agree to the last bit.  All
 * keep to 16 lanes, which the bound on their rounding counts on.
 */
#include "math/simd/simd.h"

#include <math.h>
#include <string.h>

#include "math/simd/simd_impl.h"

void
nw_scalar_code_query(const double *q, const float *center, int dim, double scale, float *t)
{
	for (int j = 0; j < dim; j++)
		t[j] = (float) ((center ? q[j] - center[j] : q[j]) * scale);
}

void
nw_scalar_code_dot(const float *t, const int8_t *code, int dim, int n, float *out)
{
	for (int i = 0; i < n; i++)
	{
		float lane[NW_LANES] = {0};

		for (int j = 0; j < dim; j++)
			lane[j % NW_LANES] += t[j] * code[j];
		for (int width = NW_LANES / 2; width > 0; width /= 2)
		{
			for (int j = 0; j < width; j++)
				lane[j] += lane[j + width];
		}
		out[i] = lane[0];
		code += dim;
	}
}

double
nw_scalar_code_middles(const NwCodeLine *line, const float *dot, const float *scale,
                       const float *more, int n, double *out)
{
	double least = HUGE_VAL;

	for (int i = 0; i < n; i++)
	{
		out[i] = line->base + line->plus * more[i] + line->times * scale[i] * dot[i];
		least = out[i] < least ? out[i] : least;
	}
	return least;
}

void
nw_scalar_code_ranges(const NwCodeLine *line, const float *dot, const float *scale,
                      const float *more, int n, double *low, double *high)
{
	for (int i = 0; i < n; i++)
	{
		double middle = line->base + line->plus * more[i] + line->times * scale[i] * dot[i];
		double slack = line->slack + line->share * more[i] + line->step * scale[i];
		double least = middle - slack;
		double most = middle + slack;

		/* a comparison with what is not a number is false */
		low[i] = least > line->least ? least : line->least;
		high[i] = most < HUGE_VAL ? most : HUGE_VAL;
	}
}

void
nw_scalar_code_scores(const float *error, int n, bool square, double near, double far, double *low,
                      double *high)
{
	for (int i = 0; i < n; i++)
	{
		double least = low[i] - error[i];
		double most = high[i] + error[i];

		least = least > 0 ? least : 0;
		low[i] = (square ? most * most : most) * far;
		high[i] = (square ? least * least : least) * near;
	}
}

void
nw_scalar_code_cosines(const float *norm, int n, float least, double share, double slack,
                       double *low, double *high)
{
	for (int i = 0; i < n; i++)
	{
		double a;
		double b;

		if (norm[i] < least)
		{
			high[i] = norm[i] > 0;
			low[i] = -high[i];
			continue;
		}
		a = low[i] / norm[i];
		b = high[i] / norm[i];
		a -= fabs(a) * share + slack;
		b += fabs(b) * share + slack;

		/* a comparison with what is not a number is false */
		low[i] = a > -1 ? a : -1;
		high[i] = b < 1 ? b : 1;
	}
}

#if defined(__x86_64__)

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,fma,f16c")))
#define AVX512 __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl")))
#define INLINE inline __attribute__((always_inline))

/* Fetch what the loop comes to next; past the end this does no harm. */
#define AHEAD(p) _mm_prefetch((const char *) ((uintptr_t) (p) + nw_simd_ahead), _MM_HINT_T0)

AVX2 void
nw_avx2_code_query(const double *q, const float *center, int dim, double scale, float *t)
{
	int j = 0;

	for (; j + 4 <= dim; j += 4)
	{
		__m256d v = _mm256_loadu_pd(q + j);

		if (center)
			v = _mm256_sub_pd(v, _mm256_cvtps_pd(_mm_loadu_ps(center + j)));
		v = _mm256_mul_pd(v, _mm256_set1_pd(scale));
		_mm_storeu_ps(t + j, _mm256_cvtpd_ps(v));
	}
	nw_simd_scalar.code_query(q + j, center ? center + j : NULL, dim - j, scale, t + j);
}

/* Eight numbers of a code. */
static INLINE AVX2 __m256
load8(const int8_t *code)
{
	__m128i k = _mm_loadl_epi64((const __m128i *) code);

	return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(k));
}

/* Accumulate sixteen dimensions of a row. */
static INLINE AVX2 void
step16(__m256 *a, __m256 *b, __m256 t0, __m256 t1, const int8_t *code)
{
	*a = _mm256_fmadd_ps(t0, load8(code), *a);
	*b = _mm256_fmadd_ps(t1, load8(code + 8), *b);
}

/* Fold the lanes of four rows. */
static INLINE AVX2 __m128
fold4(__m256 a, __m256 b, __m256 c, __m256 d)
{
	/* neighbours, rows side by side; then the halves */
	a = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
	return _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
}

AVX2 void
nw_avx2_code_dot(const float *t, const int8_t *code, int dim, int n, float *out)
{
	int whole = dim - dim % NW_LANES;
	float last[NW_LANES] = {0};
	int8_t padded[4][NW_LANES] = {{0}};

	/*
	 * The last dimensions of a row are read together with some before them,
	 * sixteen in all, which count nothing there; of a shorter row, with zeros
	 * behind them.
	 */
	for (int j = whole; j < dim; j++)
		last[dim < NW_LANES ? j : j - dim + NW_LANES] = t[j];

	/* four rows side by side, at the end some of them twice */
	for (int i = 0; i < n; i += 4)
	{
		int rows = n - i < 4 ? n - i : 4;
		const int8_t *c0 = code + (int64_t) i * dim;
		const int8_t *c1 = rows > 1 ? c0 + dim : c0;
		const int8_t *c2 = rows > 2 ? c1 + dim : c0;
		const int8_t *c3 = rows > 3 ? c2 + dim : c0;
		__m256 a0 = _mm256_setzero_ps();
		__m256 b0 = a0;
		__m256 a1 = a0;
		__m256 b1 = a0;
		__m256 a2 = a0;
		__m256 b2 = a0;
		__m256 a3 = a0;
		__m256 b3 = a0;
		__m128 sum;

		for (int j = 0; j < whole; j += NW_LANES)
		{
			__m256 t0 = _mm256_loadu_ps(t + j);
			__m256 t1 = _mm256_loadu_ps(t + j + 8);

			if (j % 64 == 0)
			{
				AHEAD(c0 + j);
				AHEAD(c1 + j);
				AHEAD(c2 + j);
				AHEAD(c3 + j);
			}
			step16(&a0, &b0, t0, t1, c0 + j);
			step16(&a1, &b1, t0, t1, c1 + j);
			step16(&a2, &b2, t0, t1, c2 + j);
			step16(&a3, &b3, t0, t1, c3 + j);
		}
		if (whole < dim)
		{
			__m256 t0 = _mm256_loadu_ps(last);
			__m256 t1 = _mm256_loadu_ps(last + 8);
			int before = dim - NW_LANES;

			if (before < 0)
			{
				c0 = memcpy(padded[0], c0, dim);
				c1 = memcpy(padded[1], c1, dim);
				c2 = memcpy(padded[2], c2, dim);
				c3 = memcpy(padded[3], c3, dim);
				before = 0;
			}
			step16(&a0, &b0, t0, t1, c0 + before);
			step16(&a1, &b1, t0, t1, c1 + before);
			step16(&a2, &b2, t0, t1, c2 + before);
			step16(&a3, &b3, t0, t1, c3 + before);
		}
		sum = fold4(_mm256_add_ps(a0, b0), _mm256_add_ps(a1, b1), _mm256_add_ps(a2, b2),
		            _mm256_add_ps(a3, b3));
		if (rows == 4)
			_mm_storeu_ps(out + i, sum);
		else
		{
			float rest[4];

			_mm_storeu_ps(rest, sum);
			memcpy(out + i, rest, sizeof(float) * rows);
		}
	}
}

/* Four numbers as double. */
static INLINE AVX2 __m256d
load4(const float *x)
{
	return _mm256_cvtps_pd(_mm_loadu_ps(x));
}

AVX2 double
nw_avx2_code_middles(const NwCodeLine *line, const float *dot, const float *scale,
                     const float *more, int n, double *out)
{
	__m256d least = _mm256_set1_pd(HUGE_VAL);
	double part[4];
	double rest;
	int i = 0;

	for (; i + 4 <= n; i += 4)
	{
		__m256d product = _mm256_mul_pd(load4(scale + i), load4(dot + i));
		__m256d middle = _mm256_fmadd_pd(_mm256_set1_pd(line->plus), load4(more + i),
		                                 _mm256_set1_pd(line->base));

		middle = _mm256_fmadd_pd(_mm256_set1_pd(line->times), product, middle);
		least = _mm256_min_pd(middle, least);
		_mm256_storeu_pd(out + i, middle);
	}
	rest = nw_simd_scalar.code_middles(line, dot + i, scale + i, more + i, n - i, out + i);
	_mm256_storeu_pd(part, least);
	for (int k = 0; k < 4; k++)
		rest = part[k] < rest ? part[k] : rest;
	return rest;
}

AVX2 void
nw_avx2_code_ranges(const NwCodeLine *line, const float *dot, const float *scale, const float *more,
                    int n, double *low, double *high)
{
	int i = 0;

	for (; i + 4 <= n; i += 4)
	{
		__m256d s = load4(scale + i);
		__m256d m = load4(more + i);
		__m256d product = _mm256_mul_pd(s, load4(dot + i));
		__m256d middle = _mm256_fmadd_pd(_mm256_set1_pd(line->plus), m, _mm256_set1_pd(line->base));
		__m256d slack =
			_mm256_fmadd_pd(_mm256_set1_pd(line->share), m, _mm256_set1_pd(line->slack));

		middle = _mm256_fmadd_pd(_mm256_set1_pd(line->times), product, middle);
		slack = _mm256_fmadd_pd(_mm256_set1_pd(line->step), s, slack);

		/* of two numbers one of which is none, these give the second */
		_mm256_storeu_pd(low + i,
		                 _mm256_max_pd(_mm256_sub_pd(middle, slack), _mm256_set1_pd(line->least)));
		_mm256_storeu_pd(high + i,
		                 _mm256_min_pd(_mm256_add_pd(middle, slack), _mm256_set1_pd(HUGE_VAL)));
	}
	nw_simd_scalar.code_ranges(line, dot + i, scale + i, more + i, n - i, low + i, high + i);
}

AVX2 void
nw_avx2_code_scores(const float *error, int n, bool square, double near, double far, double *low,
                    double *high)
{
	int i = 0;

	for (; i + 4 <= n; i += 4)
	{
		__m256d e = load4(error + i);
		__m256d least = _mm256_sub_pd(_mm256_loadu_pd(low + i), e);
		__m256d most = _mm256_add_pd(_mm256_loadu_pd(high + i), e);

		least = _mm256_max_pd(least, _mm256_setzero_pd());
		if (square)
		{
			least = _mm256_mul_pd(least, least);
			most = _mm256_mul_pd(most, most);
		}
		_mm256_storeu_pd(low + i, _mm256_mul_pd(most, _mm256_set1_pd(far)));
		_mm256_storeu_pd(high + i, _mm256_mul_pd(least, _mm256_set1_pd(near)));
	}
	nw_simd_scalar.code_scores(error + i, n - i, square, near, far, low + i, high + i);
}

AVX2 void
nw_avx2_code_cosines(const float *norm, int n, float least, double share, double slack, double *low,
                     double *high)
{
	const __m256d sign = _mm256_set1_pd(-0.0);
	const __m256d one = _mm256_set1_pd(1);
	const __m256d zero = _mm256_setzero_pd();
	__m256d wide = _mm256_set1_pd(share);
	__m256d off = _mm256_set1_pd(slack);
	int i = 0;

	for (; i + 4 <= n; i += 4)
	{
		__m256d x = load4(norm + i);
		__m256d inverse = _mm256_div_pd(one, x);
		__m256d a = _mm256_mul_pd(_mm256_loadu_pd(low + i), inverse);
		__m256d b = _mm256_mul_pd(_mm256_loadu_pd(high + i), inverse);
		__m256d small = _mm256_cmp_pd(x, _mm256_set1_pd(least), _CMP_LT_OQ);
		__m256d whole = _mm256_and_pd(one, _mm256_cmp_pd(x, zero, _CMP_GT_OQ));

		a = _mm256_sub_pd(a, _mm256_fmadd_pd(_mm256_andnot_pd(sign, a), wide, off));
		b = _mm256_add_pd(b, _mm256_fmadd_pd(_mm256_andnot_pd(sign, b), wide, off));
		a = _mm256_blendv_pd(a, _mm256_or_pd(whole, sign), small);
		b = _mm256_blendv_pd(b, whole, small);
		_mm256_storeu_pd(low + i, _mm256_max_pd(a, _mm256_set1_pd(-1)));
		_mm256_storeu_pd(high + i, _mm256_min_pd(b, one));
	}
	nw_simd_scalar.code_cosines(norm + i, n - i, least, share, slack, low + i, high + i);
}

/* The mask of the first n of eight, where there are so many. */
static INLINE AVX512 __mmask8
first8(int n)
{
	return n >= 8 ? 0xff : (__mmask8) ((1U << n) - 1);
}

/* Eight numbers as double. */
static INLINE AVX512 __m512d
load8_masked(__mmask8 mask, const float *x)
{
	return _mm512_cvtps_pd(_mm256_maskz_loadu_ps(mask, x));
}

AVX512 void
nw_avx512_code_query(const double *q, const float *center, int dim, double scale, float *t)
{
	for (int j = 0; j < dim; j += 8)
	{
		__mmask8 mask = first8(dim - j);
		__m512d v = _mm512_maskz_loadu_pd(mask, q + j);

		if (center)
			v = _mm512_sub_pd(v, load8_masked(mask, center + j));
		v = _mm512_mul_pd(v, _mm512_set1_pd(scale));
		_mm256_mask_storeu_ps(t + j, mask, _mm512_cvtpd_ps(v));
	}
}

/* Accumulate the dimensions of mask of a row. */
static INLINE AVX512 __m512
step_masked(__m512 acc, __m512 t, const int8_t *code, __mmask16 mask)
{
	__m128i k = _mm_maskz_loadu_epi8(mask, code);

	return _mm512_fmadd_ps(t, _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(k)), acc);
}

/* Accumulate sixteen dimensions of a row. */
static INLINE AVX512 __m512
step(__m512 acc, __m512 t, const int8_t *code)
{
	__m128i k = _mm_loadu_si128((const __m128i *) code);

	return _mm512_fmadd_ps(t, _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(k)), acc);
}

/* Fold the lanes of four rows. */
static INLINE AVX512 __m128
fold4_wide(__m512 a, __m512 b, __m512 c, __m512 d)
{
	/* 8 and 4: a row is a quarter of a register */
	a = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
	c = _mm512_add_ps(_mm512_shuffle_f32x4(c, d, 0x44), _mm512_shuffle_f32x4(c, d, 0xee));
	a = _mm512_add_ps(_mm512_shuffle_f32x4(a, c, 0x88), _mm512_shuffle_f32x4(a, c, 0xdd));

	/* 2 and 1 */
	a = _mm512_add_ps(a, _mm512_permute_ps(a, 0x4e));
	a = _mm512_add_ps(a, _mm512_permute_ps(a, 0xb1));
	a = _mm512_permutexvar_ps(_mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	                          a);
	return _mm512_castps512_ps128(a);
}

AVX512 void
nw_avx512_code_dot(const float *t, const int8_t *code, int dim, int n, float *out)
{
	int whole = dim - dim % NW_LANES;
	__mmask16 mask = (__mmask16) ((1U << (dim - whole)) - 1);

	/* four rows side by side, at the end some of them twice */
	for (int i = 0; i < n; i += 4)
	{
		int rows = n - i < 4 ? n - i : 4;
		const int8_t *c0 = code + (int64_t) i * dim;
		const int8_t *c1 = rows > 1 ? c0 + dim : c0;
		const int8_t *c2 = rows > 2 ? c1 + dim : c0;
		const int8_t *c3 = rows > 3 ? c2 + dim : c0;
		__m512 a = _mm512_setzero_ps();
		__m512 b = a;
		__m512 c = a;
		__m512 d = a;

		for (int j = 0; j < whole; j += NW_LANES)
		{
			__m512 q = _mm512_loadu_ps(t + j);

			if (j % 64 == 0)
			{
				AHEAD(c0 + j);
				AHEAD(c1 + j);
				AHEAD(c2 + j);
				AHEAD(c3 + j);
			}
			a = step(a, q, c0 + j);
			b = step(b, q, c1 + j);
			c = step(c, q, c2 + j);
			d = step(d, q, c3 + j);
		}
		if (mask != 0)
		{
			__m512 q = _mm512_maskz_loadu_ps(mask, t + whole);

			a = step_masked(a, q, c0 + whole, mask);
			b = step_masked(b, q, c1 + whole, mask);
			c = step_masked(c, q, c2 + whole, mask);
			d = step_masked(d, q, c3 + whole, mask);
		}
		_mm_mask_storeu_ps(out + i, (__mmask8) ((1U << rows) - 1), fold4_wide(a, b, c, d));
	}
}

AVX512 double
nw_avx512_code_middles(const NwCodeLine *line, const float *dot, const float *scale,
                       const float *more, int n, double *out)
{
	__m512d least = _mm512_set1_pd(HUGE_VAL);

	for (int i = 0; i < n; i += 8)
	{
		__mmask8 mask = first8(n - i);
		__m512d product = _mm512_mul_pd(load8_masked(mask, scale + i), load8_masked(mask, dot + i));
		__m512d middle = _mm512_fmadd_pd(_mm512_set1_pd(line->plus), load8_masked(mask, more + i),
		                                 _mm512_set1_pd(line->base));

		middle = _mm512_fmadd_pd(_mm512_set1_pd(line->times), product, middle);
		least = _mm512_mask_min_pd(least, mask, middle, least);
		_mm512_mask_storeu_pd(out + i, mask, middle);
	}
	return _mm512_reduce_min_pd(least);
}

AVX512 void
nw_avx512_code_ranges(const NwCodeLine *line, const float *dot, const float *scale,
                      const float *more, int n, double *low, double *high)
{
	for (int i = 0; i < n; i += 8)
	{
		__mmask8 mask = first8(n - i);
		__m512d s = load8_masked(mask, scale + i);
		__m512d m = load8_masked(mask, more + i);
		__m512d product = _mm512_mul_pd(s, load8_masked(mask, dot + i));
		__m512d middle = _mm512_fmadd_pd(_mm512_set1_pd(line->plus), m, _mm512_set1_pd(line->base));
		__m512d slack =
			_mm512_fmadd_pd(_mm512_set1_pd(line->share), m, _mm512_set1_pd(line->slack));

		middle = _mm512_fmadd_pd(_mm512_set1_pd(line->times), product, middle);
		slack = _mm512_fmadd_pd(_mm512_set1_pd(line->step), s, slack);

		/* of two numbers one of which is none, these give the second */
		_mm512_mask_storeu_pd(
			low + i, mask,
			_mm512_max_pd(_mm512_sub_pd(middle, slack), _mm512_set1_pd(line->least)));
		_mm512_mask_storeu_pd(
			high + i, mask, _mm512_min_pd(_mm512_add_pd(middle, slack), _mm512_set1_pd(HUGE_VAL)));
	}
}

AVX512 void
nw_avx512_code_scores(const float *error, int n, bool square, double near, double far, double *low,
                      double *high)
{
	for (int i = 0; i < n; i += 8)
	{
		__mmask8 mask = first8(n - i);
		__m512d e = load8_masked(mask, error + i);
		__m512d least = _mm512_sub_pd(_mm512_maskz_loadu_pd(mask, low + i), e);
		__m512d most = _mm512_add_pd(_mm512_maskz_loadu_pd(mask, high + i), e);

		least = _mm512_max_pd(least, _mm512_setzero_pd());
		if (square)
		{
			least = _mm512_mul_pd(least, least);
			most = _mm512_mul_pd(most, most);
		}
		_mm512_mask_storeu_pd(low + i, mask, _mm512_mul_pd(most, _mm512_set1_pd(far)));
		_mm512_mask_storeu_pd(high + i, mask, _mm512_mul_pd(least, _mm512_set1_pd(near)));
	}
}

AVX512 void
nw_avx512_code_cosines(const float *norm, int n, float least, double share, double slack,
                       double *low, double *high)
{
	const __m512d one = _mm512_set1_pd(1);
	const __m512d zero = _mm512_setzero_pd();
	__m512d wide = _mm512_set1_pd(share);
	__m512d off = _mm512_set1_pd(slack);

	for (int i = 0; i < n; i += 8)
	{
		__mmask8 mask = first8(n - i);
		__m512d x = _mm512_cvtps_pd(_mm256_mask_loadu_ps(_mm256_set1_ps(1), mask, norm + i));
		__m512d inverse = _mm512_div_pd(one, x);
		__m512d a = _mm512_mul_pd(_mm512_maskz_loadu_pd(mask, low + i), inverse);
		__m512d b = _mm512_mul_pd(_mm512_maskz_loadu_pd(mask, high + i), inverse);
		__mmask8 small = _mm512_cmp_pd_mask(x, _mm512_set1_pd(least), _CMP_LT_OQ);
		__m512d whole = _mm512_maskz_mov_pd(_mm512_cmp_pd_mask(x, zero, _CMP_GT_OQ), one);

		a = _mm512_sub_pd(a, _mm512_fmadd_pd(_mm512_abs_pd(a), wide, off));
		b = _mm512_add_pd(b, _mm512_fmadd_pd(_mm512_abs_pd(b), wide, off));
		a = _mm512_mask_sub_pd(a, small, zero, whole);
		b = _mm512_mask_mov_pd(b, small, whole);
		_mm512_mask_storeu_pd(low + i, mask, _mm512_max_pd(a, _mm512_set1_pd(-1)));
		_mm512_mask_storeu_pd(high + i, mask, _mm512_min_pd(b, one));
	}
}

#endif /* __x86_64__ */
