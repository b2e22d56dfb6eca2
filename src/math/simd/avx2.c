/*
 * math/simd/avx2.c
 *		The inner loops in AVX2 with FMA and F16C.
 *
 * The sixteen lanes of a row are four registers.  Two rows are added up side
 * by side: eight independent chains of fused operations, and the registers
 * hold no more.
 */
#include "math/simd/simd.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "math/simd/simd_impl.h"

#define TARGET __attribute__((target("avx2,fma,f16c")))
#define INLINE inline __attribute__((always_inline)) TARGET

/* The first k of four lanes are 4 - k places into this. */
static const int64_t lane_masks[8] = {-1, -1, -1, -1, 0, 0, 0, 0};
static const int32_t lane_masks32[8] = {-1, -1, -1, -1, 0, 0, 0, 0};

/* The mask of the first k of four double lanes; k may be outside 0 .. 4. */
static INLINE __m256i
mask_of(int k)
{
	k = k < 0 ? 0 : (k > 4 ? 4 : k);
	return _mm256_loadu_si256((const __m256i *) (lane_masks + 4 - k));
}

/* The same for four float lanes. */
static INLINE __m128i
mask_of32(int k)
{
	k = k < 0 ? 0 : (k > 4 ? 4 : k);
	return _mm_loadu_si128((const __m128i *) (lane_masks32 + 4 - k));
}

/* Accumulate four dimensions. */
static INLINE __m256d
step(SumKind kind, __m256d acc, __m256d q, __m128 x, __m256d scale)
{
	__m256d v = _mm256_cvtps_pd(x);
	__m256d diff;

	switch (kind)
	{
		case SUM_SQDIST:
			diff = _mm256_sub_pd(q, v);
			return _mm256_fmadd_pd(diff, diff, acc);
		case SUM_SQDIST_SCALED:
			diff = _mm256_fnmadd_pd(scale, v, q);
			return _mm256_fmadd_pd(diff, diff, acc);
		case SUM_DOT:
			return _mm256_fmadd_pd(q, v, acc);
		case SUM_SQNORM:
			break;
	}
	return _mm256_fmadd_pd(v, v, acc);
}

/* Accumulate the first k of four dimensions; other lanes stay as they are. */
static INLINE __m256d
step_masked(SumKind kind, __m256d acc, const double *q, const float *x, int j, __m256d scale, int k)
{
	__m256i mask = mask_of(k);
	__m256d q4 = _mm256_setzero_pd();

	if (kind != SUM_SQNORM)
		q4 = _mm256_maskload_pd(q + j, mask);
	return _mm256_blendv_pd(acc, step(kind, acc, q4, _mm_maskload_ps(x + j, mask_of32(k)), scale),
	                        _mm256_castsi256_pd(mask));
}

/* Load four doubles of the query, where the sum has one. */
static INLINE __m256d
load_query(SumKind kind, const double *q, int j)
{
	return kind == SUM_SQNORM ? _mm256_setzero_pd() : _mm256_loadu_pd(q + j);
}

/* Fetch what the loop comes to next; past the end this does no harm. */
static INLINE void
prefetch(const float *x)
{
	_mm_prefetch((const char *) ((uintptr_t) x + nw_simd_ahead), _MM_HINT_T0);
}

/* Fold a row's lanes to two: i with i + 8, then + 4, then + 2. */
static INLINE __m128d
fold(__m256d a, __m256d b, __m256d c, __m256d d)
{
	a = _mm256_add_pd(_mm256_add_pd(a, c), _mm256_add_pd(b, d));
	return _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
}

/* Add up two rows. */
static INLINE void
sum_rows2(SumKind kind, const double *q, const float *x, const double *scale, int dim, double *out)
{
	const float *x0 = x;
	const float *x1 = x + dim;
	__m256d zero = _mm256_setzero_pd();
	__m256d a0 = zero, b0 = zero, c0 = zero, d0 = zero;
	__m256d a1 = zero, b1 = zero, c1 = zero, d1 = zero;
	__m256d s0 = zero, s1 = zero;
	__m256d q4;
	__m128d r0, r1;
	int whole = dim - dim % NW_LANES;

	if (kind == SUM_SQDIST_SCALED)
	{
		s0 = _mm256_set1_pd(scale[0]);
		s1 = _mm256_set1_pd(scale[1]);
	}

	for (int j = 0; j < whole; j += NW_LANES)
	{
		prefetch(x0 + j);
		prefetch(x1 + j);
		q4 = load_query(kind, q, j);
		a0 = step(kind, a0, q4, _mm_loadu_ps(x0 + j), s0);
		a1 = step(kind, a1, q4, _mm_loadu_ps(x1 + j), s1);
		q4 = load_query(kind, q, j + 4);
		b0 = step(kind, b0, q4, _mm_loadu_ps(x0 + j + 4), s0);
		b1 = step(kind, b1, q4, _mm_loadu_ps(x1 + j + 4), s1);
		q4 = load_query(kind, q, j + 8);
		c0 = step(kind, c0, q4, _mm_loadu_ps(x0 + j + 8), s0);
		c1 = step(kind, c1, q4, _mm_loadu_ps(x1 + j + 8), s1);
		q4 = load_query(kind, q, j + 12);
		d0 = step(kind, d0, q4, _mm_loadu_ps(x0 + j + 12), s0);
		d1 = step(kind, d1, q4, _mm_loadu_ps(x1 + j + 12), s1);
	}

	if (whole < dim)
	{
		int j = whole;
		int rest = dim - whole;

		a0 = step_masked(kind, a0, q, x0, j, s0, rest);
		a1 = step_masked(kind, a1, q, x1, j, s1, rest);
		b0 = step_masked(kind, b0, q, x0, j + 4, s0, rest - 4);
		b1 = step_masked(kind, b1, q, x1, j + 4, s1, rest - 4);
		c0 = step_masked(kind, c0, q, x0, j + 8, s0, rest - 8);
		c1 = step_masked(kind, c1, q, x1, j + 8, s1, rest - 8);
		d0 = step_masked(kind, d0, q, x0, j + 12, s0, rest - 12);
		d1 = step_masked(kind, d1, q, x1, j + 12, s1, rest - 12);
	}

	r0 = fold(a0, b0, c0, d0);
	r1 = fold(a1, b1, c1, d1);
	_mm_storeu_pd(out, _mm_add_pd(_mm_unpacklo_pd(r0, r1), _mm_unpackhi_pd(r0, r1)));
}

/* Add up one row. */
static INLINE double
sum_row(SumKind kind, const double *q, const float *x, double scale, int dim)
{
	__m256d a = _mm256_setzero_pd();
	__m256d b = a;
	__m256d c = a;
	__m256d d = a;
	__m256d s = _mm256_set1_pd(scale);
	__m128d r;
	int whole = dim - dim % NW_LANES;

	for (int j = 0; j < whole; j += NW_LANES)
	{
		a = step(kind, a, load_query(kind, q, j), _mm_loadu_ps(x + j), s);
		b = step(kind, b, load_query(kind, q, j + 4), _mm_loadu_ps(x + j + 4), s);
		c = step(kind, c, load_query(kind, q, j + 8), _mm_loadu_ps(x + j + 8), s);
		d = step(kind, d, load_query(kind, q, j + 12), _mm_loadu_ps(x + j + 12), s);
	}

	if (whole < dim)
	{
		int j = whole;
		int rest = dim - whole;

		a = step_masked(kind, a, q, x, j, s, rest);
		b = step_masked(kind, b, q, x, j + 4, s, rest - 4);
		c = step_masked(kind, c, q, x, j + 8, s, rest - 8);
		d = step_masked(kind, d, q, x, j + 12, s, rest - 12);
	}

	r = fold(a, b, c, d);
	return _mm_cvtsd_f64(_mm_add_sd(r, _mm_unpackhi_pd(r, r)));
}

/* Add up n rows. */
static INLINE void
sum_rows(SumKind kind, const double *q, const float *x, const double *scale, int dim, int n,
         double *out)
{
	int i = 0;

	for (; i + 2 <= n; i += 2)
		sum_rows2(kind, q, x + (int64_t) i * dim, scale == NULL ? NULL : scale + i, dim, out + i);
	if (i < n)
		out[i] = sum_row(kind, q, x + (int64_t) i * dim, scale == NULL ? 0 : scale[i], dim);
}

/* Squared distances. */
static TARGET void
avx2_sqdist(const double *q, const float *x, int dim, int n, double *out)
{
	sum_rows(SUM_SQDIST, q, x, NULL, dim, n, out);
}

/* Squared distances to scaled rows. */
static TARGET void
avx2_sqdist_scaled(const double *q, const float *x, const double *scale, int dim, int n,
                   double *out)
{
	sum_rows(SUM_SQDIST_SCALED, q, x, scale, dim, n, out);
}

/* Inner products. */
static TARGET void
avx2_dot(const double *q, const float *x, int dim, int n, double *out)
{
	sum_rows(SUM_DOT, q, x, NULL, dim, n, out);
}

/* Squared norms. */
static TARGET void
avx2_sqnorm(const float *x, int dim, int n, double *out)
{
	sum_rows(SUM_SQNORM, NULL, x, NULL, dim, n, out);
}

/* Accumulate four dimensions of an inner product and of a norm. */
static INLINE void
step_both(__m256d *dot, __m256d *sqnorm, const double *q, const float *x)
{
	__m256d v = _mm256_cvtps_pd(_mm_loadu_ps(x));

	*dot = _mm256_fmadd_pd(_mm256_loadu_pd(q), v, *dot);
	*sqnorm = _mm256_fmadd_pd(v, v, *sqnorm);
}

/* Inner product and squared norm of a row whose lanes are full. */
static INLINE void
sum_both(const double *q, const float *x, int dim, double *dot, double *sqnorm)
{
	__m256d d[4];
	__m256d s[4];
	__m128d r;

	for (int k = 0; k < 4; k++)
		d[k] = s[k] = _mm256_setzero_pd();
	for (int j = 0; j < dim; j += NW_LANES)
	{
		prefetch(x + j);
		for (int k = 0; k < 4; k++)
			step_both(&d[k], &s[k], q + j + 4 * k, x + j + 4 * k);
	}
	r = fold(d[0], d[1], d[2], d[3]);
	*dot = _mm_cvtsd_f64(_mm_add_sd(r, _mm_unpackhi_pd(r, r)));
	r = fold(s[0], s[1], s[2], s[3]);
	*sqnorm = _mm_cvtsd_f64(_mm_add_sd(r, _mm_unpackhi_pd(r, r)));
}

/* Inner products and squared norms. */
static TARGET void
avx2_dot_sqnorm(const double *q, const float *x, int dim, int n, double *dot, double *sqnorm)
{
	for (int i = 0; i < n; i++)
	{
		const float *row = x + (int64_t) i * dim;

		if (dim % NW_LANES == 0)
			sum_both(q, row, dim, dot + i, sqnorm + i);
		else
		{
			dot[i] = sum_row(SUM_DOT, q, row, 0, dim);
			sqnorm[i] = sum_row(SUM_SQNORM, NULL, row, 0, dim);
		}
	}
}

/* Turn inner products into squared distances. */
static TARGET bool
avx2_close_sqdist(double q2, const double *x2, double share, int n, double *value)
{
	__m256d low = _mm256_setzero_pd();
	int i = 0;

	for (; i + 4 <= n; i += 4)
	{
		__m256d both = _mm256_add_pd(_mm256_set1_pd(q2), _mm256_loadu_pd(x2 + i));
		__m256d dot = _mm256_loadu_pd(value + i);

		dot = _mm256_sub_pd(both, _mm256_add_pd(dot, dot));
		both = _mm256_mul_pd(both, _mm256_set1_pd(share));
		low = _mm256_or_pd(low, _mm256_cmp_pd(dot, both, _CMP_NGT_UQ));
		_mm256_storeu_pd(value + i, dot);
	}
	/* the rest first: it has to be computed whatever the answer is */
	return nw_simd_scalar.close_sqdist(q2, x2 + i, share, n - i, value + i) ||
	       _mm256_movemask_pd(low) != 0;
}

/* Turn squared distances into scores. */
static TARGET void
avx2_root_scores(const double *value, int n, double factor, double *out)
{
	__m256d negative = _mm256_set1_pd(-factor);
	int i = 0;

	for (; i + 4 <= n; i += 4)
		_mm256_storeu_pd(out + i,
		                 _mm256_mul_pd(_mm256_sqrt_pd(_mm256_loadu_pd(value + i)), negative));
	nw_simd_scalar.root_scores(value + i, n - i, factor, out + i);
}

/* Two terms of a polynomial. */
static INLINE __m256d
pair(__m256d f, double c0, double c1)
{
	return _mm256_fmadd_pd(f, _mm256_set1_pd(c1), _mm256_set1_pd(c0));
}

/* Split exponentials into bin and integer, see simd_impl.h. */
static TARGET void
avx2_exp_split(const double *score, int n, double *bin, uint64_t *hi, uint64_t *lo)
{
	const __m256d limit = _mm256_set1_pd(NW_EXP_SCORE_MAX);
	const __m256d lower = _mm256_set1_pd(-NW_EXP_SCORE_MAX);
	const __m256d log2e = _mm256_set1_pd(NW_LOG2E_HI);
	const __m256d one = _mm256_set1_pd(1.0);
	const __m256d bits = _mm256_set1_pd(NW_BIN_BITS);
	const __m256d per_bin = _mm256_set1_pd(1.0 / NW_BIN_BITS);

	/*
	 * A masked load waits for a fresh store to reach the cache, and a plain
	 * load for a masked store.  A caller with one score has just stored it and
	 * reads the answer at once, so one score goes by plain loads and stores.
	 */
	for (int i = 0; i < n; i += 4)
	{
		__m256i mask = mask_of(n - i);
		__m256d s = n - i == 1 ? _mm256_zextpd128_pd256(_mm_load_sd(score + i))
		                       : _mm256_maskload_pd(score + i, mask);
		__m256d product;
		__m256d power;
		__m256d f;
		__m256d f_min;
		__m256d f2;
		__m256d f4;
		__m256d p;
		__m256d b;
		__m256i mantissa;
		__m256i shift;
		__m256i low;
		__m256i high;

		s = _mm256_min_pd(_mm256_max_pd(s, lower), limit);
		product = _mm256_mul_pd(s, log2e);
		power = _mm256_round_pd(product, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
		f = _mm256_fmsub_pd(s, log2e, power);
		f = _mm256_fmadd_pd(s, _mm256_set1_pd(NW_LOG2E_LO), f);
		f_min = _mm256_cmp_pd(_mm256_andnot_pd(_mm256_set1_pd(-0.0), product),
		                      _mm256_set1_pd(NW_EXP_INTEGRAL), _CMP_LT_OQ);
		f_min = _mm256_and_pd(f_min, _mm256_set1_pd(-NW_EXP_F_MAX));
		f = _mm256_max_pd(f, f_min);
		f = _mm256_min_pd(f, _mm256_set1_pd(NW_EXP_F_MAX));

		f2 = _mm256_mul_pd(f, f);
		f4 = _mm256_mul_pd(f2, f2);
		p = _mm256_fmadd_pd(f2, _mm256_set1_pd(NW_EXP_P10), pair(f, NW_EXP_P8, NW_EXP_P9));
		p = _mm256_fmadd_pd(
			f4, p,
			_mm256_fmadd_pd(f2, pair(f, NW_EXP_P6, NW_EXP_P7), pair(f, NW_EXP_P4, NW_EXP_P5)));
		p = _mm256_fmadd_pd(
			f4, p,
			_mm256_fmadd_pd(f2, pair(f, NW_EXP_P2, NW_EXP_P3), pair(f, NW_EXP_P0, NW_EXP_P1)));
		p = _mm256_fmadd_pd(f, p, one);

		mantissa = _mm256_castpd_si256(p);
		mantissa = _mm256_and_si256(mantissa, _mm256_set1_epi64x(NW_MANTISSA_MASK));
		mantissa = _mm256_or_si256(mantissa, _mm256_set1_epi64x(NW_MANTISSA_ONE));

		/* the addition of 0 where p >= 1 turns a power of -0 into 0 */
		power = _mm256_add_pd(
			power, _mm256_and_pd(_mm256_cmp_pd(p, one, _CMP_LT_OQ), _mm256_set1_pd(-1.0)));
		b = _mm256_floor_pd(_mm256_mul_pd(power, per_bin));
		/* the low bits of a double of 2^52 or more are its integer */
		power = _mm256_add_pd(_mm256_fnmadd_pd(b, bits, power), _mm256_set1_pd(0x1p52));
		shift = _mm256_and_si256(_mm256_castpd_si256(power), _mm256_set1_epi64x(NW_BIN_BITS - 1));

		/* a shift by 64 gives 0 */
		low = _mm256_sllv_epi64(mantissa, shift);
		shift = _mm256_sub_epi64(_mm256_set1_epi64x(64), shift);
		high = _mm256_srlv_epi64(mantissa, shift);
		if (n - i == 1)
		{
			bin[i] = _mm256_cvtsd_f64(b);
			lo[i] = (uint64_t) _mm_cvtsi128_si64(_mm256_castsi256_si128(low));
			hi[i] = (uint64_t) _mm_cvtsi128_si64(_mm256_castsi256_si128(high));
		}
		else
		{
			_mm256_maskstore_pd(bin + i, mask, b);
			_mm256_maskstore_epi64((long long *) (lo + i), mask, low);
			_mm256_maskstore_epi64((long long *) (hi + i), mask, high);
		}
	}
}

/* Widen half-precision numbers. */
static TARGET void
avx2_half_to_float(const uint16_t *half, int n, float *out)
{
	int i = 0;

	for (; i + 8 <= n; i += 8)
	{
		__m128i h = _mm_loadu_si128((const __m128i *) (half + i));

		_mm256_storeu_ps(out + i, _mm256_cvtph_ps(h));
	}
	for (; i < n; i++)
		_mm_store_ss(out + i, _mm_cvtph_ps(_mm_cvtsi32_si128(half[i])));
}

const NwSimd nw_simd_avx2 = {.name = "avx2",
                             .sqdist = avx2_sqdist,
                             .sqdist_scaled = avx2_sqdist_scaled,
                             .dot = avx2_dot,
                             .sqnorm = avx2_sqnorm,
                             .dot_sqnorm = avx2_dot_sqnorm,
                             .close_sqdist = avx2_close_sqdist,
                             .root_scores = avx2_root_scores,
                             .exp_split = avx2_exp_split,
                             .sqdist_block = nw_avx2_sqdist_block,
                             .sqdist_scaled_block = nw_avx2_sqdist_scaled_block,
                             .dot_block = nw_avx2_dot_block,
                             .exp_sum = nw_avx2_exp_sum,
                             .exp_moments = nw_avx2_exp_moments,
                             .max = nw_avx2_max,
                             .bin_sum = nw_avx2_bin_sum,
                             .coarse_copy = nw_avx2_coarse_copy,
                             .coarse_sqdist = nw_avx2_coarse_sqdist,
                             .code_query = nw_avx2_code_query,
                             .code_dot = nw_avx2_code_dot,
                             .code_middles = nw_avx2_code_middles,
                             .code_ranges = nw_avx2_code_ranges,
                             .code_scores = nw_avx2_code_scores,
                             .code_cosines = nw_avx2_code_cosines,
                             .half_to_float = avx2_half_to_float};

#endif /* __x86_64__ */
