/*
 * math/simd/avx512.c
 *		The inner loops in AVX-512 (F, DQ, BW, VL).
 *
 * The sixteen lanes of a row are two registers.  Four rows are added up side
 * by side: their chains of fused operations are independent, each part of the
 * query is loaded once for the four, and their lanes are folded together.
 */
#include "math/simd/simd.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "math/simd/simd_impl.h"

#define TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl")))
#define INLINE inline __attribute__((always_inline)) TARGET

/* Accumulate eight dimensions. */
static INLINE __m512d
step(SumKind kind, __m512d acc, __m512d q, __m256 x, __m512d scale)
{
	__m512d v = _mm512_cvtps_pd(x);
	__m512d diff;

	switch (kind)
	{
		case SUM_SQDIST:
			diff = _mm512_sub_pd(q, v);
			return _mm512_fmadd_pd(diff, diff, acc);
		case SUM_SQDIST_SCALED:
			diff = _mm512_fnmadd_pd(scale, v, q);
			return _mm512_fmadd_pd(diff, diff, acc);
		case SUM_DOT:
			return _mm512_fmadd_pd(q, v, acc);
		case SUM_SQNORM:
			break;
	}
	return _mm512_fmadd_pd(v, v, acc);
}

/* Accumulate the dimensions of mask; the other lanes stay as they are. */
static INLINE __m512d
step_masked(SumKind kind, __m512d acc, __m512d q, const float *x, __m512d scale, __mmask8 mask)
{
	return _mm512_mask_mov_pd(acc, mask, step(kind, acc, q, _mm256_maskz_loadu_ps(mask, x), scale));
}

/* The masks of the first and second eight of the last rest dimensions. */
static INLINE void
tail_masks(int rest, __mmask8 *mask0, __mmask8 *mask1)
{
	unsigned int mask = (1U << rest) - 1;

	*mask0 = (__mmask8) (mask & 0xff);
	*mask1 = (__mmask8) (mask >> 8);
}

/* Fetch what the loop comes to next; past the end this does no harm. */
static INLINE void
prefetch(const float *x)
{
	_mm_prefetch((const char *) ((uintptr_t) x + nw_simd_ahead), _MM_HINT_T0);
}

/* Fold the lanes of four rows. */
static INLINE void
fold4(__m512d a0, __m512d a1, __m512d a2, __m512d a3, __m512d b0, __m512d b1, __m512d b2,
      __m512d b3, double *out)
{
	/* lane i with lane i + 8 */
	a0 = _mm512_add_pd(a0, b0);
	a1 = _mm512_add_pd(a1, b1);
	a2 = _mm512_add_pd(a2, b2);
	a3 = _mm512_add_pd(a3, b3);
	/* + 4: rows 0 and 1 in one register, rows 2 and 3 in another */
	a0 = _mm512_add_pd(_mm512_shuffle_f64x2(a0, a1, 0x44), _mm512_shuffle_f64x2(a0, a1, 0xee));
	a2 = _mm512_add_pd(_mm512_shuffle_f64x2(a2, a3, 0x44), _mm512_shuffle_f64x2(a2, a3, 0xee));
	/* + 2: all four rows, two lanes each */
	a0 = _mm512_add_pd(_mm512_shuffle_f64x2(a0, a2, 0x88), _mm512_shuffle_f64x2(a0, a2, 0xdd));
	/* + 1 */
	a0 = _mm512_add_pd(a0, _mm512_permute_pd(a0, 0x55));
	a0 = _mm512_permutexvar_pd(_mm512_setr_epi64(0, 2, 4, 6, 0, 2, 4, 6), a0);
	_mm256_storeu_pd(out, _mm512_castpd512_pd256(a0));
}

/* Add up four rows. */
static INLINE void
sum_rows4(SumKind kind, const double *q, const float *x, const double *scale, int dim, double *out)
{
	const float *x0 = x;
	const float *x1 = x0 + dim;
	const float *x2 = x1 + dim;
	const float *x3 = x2 + dim;
	__m512d zero = _mm512_setzero_pd();
	__m512d a0 = zero, a1 = zero, a2 = zero, a3 = zero;
	__m512d b0 = zero, b1 = zero, b2 = zero, b3 = zero;
	__m512d s0 = zero, s1 = zero, s2 = zero, s3 = zero;
	__m512d qa = zero, qb = zero;
	int whole = dim - dim % NW_LANES;

	if (kind == SUM_SQDIST_SCALED)
	{
		s0 = _mm512_set1_pd(scale[0]);
		s1 = _mm512_set1_pd(scale[1]);
		s2 = _mm512_set1_pd(scale[2]);
		s3 = _mm512_set1_pd(scale[3]);
	}

	for (int j = 0; j < whole; j += NW_LANES)
	{
		if (kind != SUM_SQNORM)
		{
			qa = _mm512_loadu_pd(q + j);
			qb = _mm512_loadu_pd(q + j + 8);
		}
		prefetch(x0 + j);
		prefetch(x1 + j);
		prefetch(x2 + j);
		prefetch(x3 + j);
		a0 = step(kind, a0, qa, _mm256_loadu_ps(x0 + j), s0);
		b0 = step(kind, b0, qb, _mm256_loadu_ps(x0 + j + 8), s0);
		a1 = step(kind, a1, qa, _mm256_loadu_ps(x1 + j), s1);
		b1 = step(kind, b1, qb, _mm256_loadu_ps(x1 + j + 8), s1);
		a2 = step(kind, a2, qa, _mm256_loadu_ps(x2 + j), s2);
		b2 = step(kind, b2, qb, _mm256_loadu_ps(x2 + j + 8), s2);
		a3 = step(kind, a3, qa, _mm256_loadu_ps(x3 + j), s3);
		b3 = step(kind, b3, qb, _mm256_loadu_ps(x3 + j + 8), s3);
	}

	if (whole < dim)
	{
		__mmask8 mask0;
		__mmask8 mask1;

		tail_masks(dim - whole, &mask0, &mask1);
		if (kind != SUM_SQNORM)
		{
			qa = _mm512_maskz_loadu_pd(mask0, q + whole);
			qb = _mm512_maskz_loadu_pd(mask1, q + whole + 8);
		}
		a0 = step_masked(kind, a0, qa, x0 + whole, s0, mask0);
		a1 = step_masked(kind, a1, qa, x1 + whole, s1, mask0);
		a2 = step_masked(kind, a2, qa, x2 + whole, s2, mask0);
		a3 = step_masked(kind, a3, qa, x3 + whole, s3, mask0);
		if (mask1 != 0)
		{
			b0 = step_masked(kind, b0, qb, x0 + whole + 8, s0, mask1);
			b1 = step_masked(kind, b1, qb, x1 + whole + 8, s1, mask1);
			b2 = step_masked(kind, b2, qb, x2 + whole + 8, s2, mask1);
			b3 = step_masked(kind, b3, qb, x3 + whole + 8, s3, mask1);
		}
	}

	fold4(a0, a1, a2, a3, b0, b1, b2, b3, out);
}

/* Add up one row. */
static INLINE double
sum_row(SumKind kind, const double *q, const float *x, double scale, int dim)
{
	__m512d zero = _mm512_setzero_pd();
	__m512d a = zero;
	__m512d b = zero;
	__m512d s = _mm512_set1_pd(scale);
	__m512d qa = zero;
	__m512d qb = zero;
	__m256d c;
	__m128d d;
	int whole = dim - dim % NW_LANES;

	for (int j = 0; j < whole; j += NW_LANES)
	{
		if (kind != SUM_SQNORM)
		{
			qa = _mm512_loadu_pd(q + j);
			qb = _mm512_loadu_pd(q + j + 8);
		}
		a = step(kind, a, qa, _mm256_loadu_ps(x + j), s);
		b = step(kind, b, qb, _mm256_loadu_ps(x + j + 8), s);
	}

	if (whole < dim)
	{
		__mmask8 mask0;
		__mmask8 mask1;

		tail_masks(dim - whole, &mask0, &mask1);
		if (kind != SUM_SQNORM)
		{
			qa = _mm512_maskz_loadu_pd(mask0, q + whole);
			qb = _mm512_maskz_loadu_pd(mask1, q + whole + 8);
		}
		a = step_masked(kind, a, qa, x + whole, s, mask0);
		b = step_masked(kind, b, qb, x + whole + 8, s, mask1);
	}

	a = _mm512_add_pd(a, b);
	c = _mm256_add_pd(_mm512_castpd512_pd256(a), _mm512_extractf64x4_pd(a, 1));
	d = _mm_add_pd(_mm256_castpd256_pd128(c), _mm256_extractf128_pd(c, 1));
	d = _mm_add_sd(d, _mm_unpackhi_pd(d, d));
	return _mm_cvtsd_f64(d);
}

/* Add up n rows. */
static INLINE void
sum_rows(SumKind kind, const double *q, const float *x, const double *scale, int dim, int n,
         double *out)
{
	int i = 0;

	for (; i + 4 <= n; i += 4)
		sum_rows4(kind, q, x + (int64_t) i * dim, scale == NULL ? NULL : scale + i, dim, out + i);
	for (; i < n; i++)
		out[i] = sum_row(kind, q, x + (int64_t) i * dim, scale == NULL ? 0 : scale[i], dim);
}

/* Squared distances. */
static TARGET void
avx512_sqdist(const double *q, const float *x, int dim, int n, double *out)
{
	sum_rows(SUM_SQDIST, q, x, NULL, dim, n, out);
}

/* Squared distances to scaled rows. */
static TARGET void
avx512_sqdist_scaled(const double *q, const float *x, const double *scale, int dim, int n,
                     double *out)
{
	sum_rows(SUM_SQDIST_SCALED, q, x, scale, dim, n, out);
}

/* Inner products. */
static TARGET void
avx512_dot(const double *q, const float *x, int dim, int n, double *out)
{
	sum_rows(SUM_DOT, q, x, NULL, dim, n, out);
}

/* Squared norms. */
static TARGET void
avx512_sqnorm(const float *x, int dim, int n, double *out)
{
	sum_rows(SUM_SQNORM, NULL, x, NULL, dim, n, out);
}

/* Accumulate eight dimensions of an inner product and of a norm. */
static INLINE void
step_both(__m512d *dot, __m512d *sqnorm, __m512d q, __m256 x)
{
	__m512d v = _mm512_cvtps_pd(x);

	*dot = _mm512_fmadd_pd(q, v, *dot);
	*sqnorm = _mm512_fmadd_pd(v, v, *sqnorm);
}

/* Inner products and squared norms of up to four rows whose lanes are full. */
static INLINE void
sum_both(const int rows, const double *q, const float *x, int dim, double *dot, double *sqnorm)
{
	__m512d d[8];
	__m512d s[8];
	double dots[4];
	double sqnorms[4];

	for (int k = 0; k < 8; k++)
		d[k] = s[k] = _mm512_setzero_pd();
	for (int j = 0; j < dim; j += NW_LANES)
	{
		__m512d qa = _mm512_loadu_pd(q + j);
		__m512d qb = _mm512_loadu_pd(q + j + 8);

		for (int r = 0; r < rows; r++)
		{
			const float *row = x + r * dim + j;

			prefetch(row);
			step_both(&d[r], &s[r], qa, _mm256_loadu_ps(row));
			step_both(&d[r + 4], &s[r + 4], qb, _mm256_loadu_ps(row + 8));
		}
	}
	fold4(d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7], dots);
	fold4(s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], sqnorms);
	for (int r = 0; r < rows; r++)
	{
		dot[r] = dots[r];
		sqnorm[r] = sqnorms[r];
	}
}

/* Inner products and squared norms. */
static TARGET void
avx512_dot_sqnorm(const double *q, const float *x, int dim, int n, double *dot, double *sqnorm)
{
	int i = 0;

	if (dim % NW_LANES == 0)
	{
		for (; i + 4 <= n; i += 4)
			sum_both(4, q, x + (int64_t) i * dim, dim, dot + i, sqnorm + i);
		if (n - i == 3)
			sum_both(3, q, x + (int64_t) i * dim, dim, dot + i, sqnorm + i);
		else if (n - i == 2)
			sum_both(2, q, x + (int64_t) i * dim, dim, dot + i, sqnorm + i);
		else if (n - i == 1)
			sum_both(1, q, x + (int64_t) i * dim, dim, dot + i, sqnorm + i);
		return;
	}
	for (; i < n; i++)
	{
		const float *row = x + (int64_t) i * dim;

		dot[i] = sum_row(SUM_DOT, q, row, 0, dim);
		sqnorm[i] = sum_row(SUM_SQNORM, NULL, row, 0, dim);
	}
}

/* Turn inner products into squared distances. */
static TARGET bool
avx512_close_sqdist(double q2, const double *x2, double share, int n, double *value)
{
	__mmask8 low = 0;
	int i = 0;

	for (; i + 8 <= n; i += 8)
	{
		__m512d both = _mm512_add_pd(_mm512_set1_pd(q2), _mm512_loadu_pd(x2 + i));
		__m512d dot = _mm512_loadu_pd(value + i);

		dot = _mm512_sub_pd(both, _mm512_add_pd(dot, dot));
		both = _mm512_mul_pd(both, _mm512_set1_pd(share));
		low |= _mm512_cmp_pd_mask(dot, both, _CMP_NGT_UQ);
		_mm512_storeu_pd(value + i, dot);
	}
	/* the rest first: it has to be computed whatever the answer is */
	return nw_simd_scalar.close_sqdist(q2, x2 + i, share, n - i, value + i) || low != 0;
}

/*
 * Turn squared distances into scores.
 *
 * The hardware's root takes three times as long as this: an estimate of
 * 1 / sqrt(v) good to 14 bits, two steps of Newton's for root and half the
 * inverse together, and a last one from the exact remainder v - root^2, which
 * rounds correctly.  That holds while nothing is subnormal on the way; other
 * numbers, 0 among them, take the hardware's.
 */
static TARGET void
avx512_root_scores(const double *value, int n, double factor, double *out)
{
	const __m512d half = _mm512_set1_pd(0.5);
	__m512d negative = _mm512_set1_pd(-factor);

	for (int i = 0; i < n; i += 8)
	{
		__mmask8 mask = n - i >= 8 ? 0xff : (__mmask8) ((1U << (n - i)) - 1);
		__m512d v = _mm512_mask_loadu_pd(half, mask, value + i);
		__m512d y = _mm512_rsqrt14_pd(v);
		__m512d root = _mm512_mul_pd(v, y);
		__m512d h = _mm512_mul_pd(y, half);
		__m512d r = _mm512_fnmadd_pd(root, h, half);

		root = _mm512_fmadd_pd(root, r, root);
		h = _mm512_fmadd_pd(h, r, h);
		r = _mm512_fnmadd_pd(root, h, half);
		root = _mm512_fmadd_pd(root, r, root);
		h = _mm512_fmadd_pd(h, r, h);
		r = _mm512_fnmadd_pd(root, root, v);
		root = _mm512_fmadd_pd(r, h, root);
		if (_mm512_cmp_pd_mask(v, _mm512_set1_pd(1e-200), _CMP_NGT_UQ) |
		    _mm512_cmp_pd_mask(v, _mm512_set1_pd(1e200), _CMP_NLT_UQ))
			root = _mm512_sqrt_pd(v);
		_mm512_mask_storeu_pd(out + i, mask, _mm512_mul_pd(root, negative));
	}
}

/* Two terms of a polynomial. */
static INLINE __m512d
pair(__m512d f, double c0, double c1)
{
	return _mm512_fmadd_pd(f, _mm512_set1_pd(c1), _mm512_set1_pd(c0));
}

/* Split exponentials into bin and integer, see simd_impl.h. */
static TARGET void
avx512_exp_split(const double *score, int n, double *bin, uint64_t *hi, uint64_t *lo)
{
	const __m512d limit = _mm512_set1_pd(NW_EXP_SCORE_MAX);
	const __m512d lower = _mm512_set1_pd(-NW_EXP_SCORE_MAX);
	const __m512d log2e = _mm512_set1_pd(NW_LOG2E_HI);
	const __m512d one = _mm512_set1_pd(1.0);
	const __m512d bits = _mm512_set1_pd(NW_BIN_BITS);
	const __m512d per_bin = _mm512_set1_pd(1.0 / NW_BIN_BITS);
	const __m512d f_max = _mm512_set1_pd(NW_EXP_F_MAX);
	const __m512d f_min = _mm512_set1_pd(-NW_EXP_F_MAX);

	/*
	 * A masked load waits for a fresh store to reach the cache, and a plain
	 * load for a masked store.  A caller with one score has just stored it and
	 * reads the answer at once, so one score goes by plain loads and stores.
	 */
	for (int i = 0; i < n; i += 8)
	{
		__mmask8 mask = n - i >= 8 ? 0xff : (__mmask8) ((1U << (n - i)) - 1);
		__m512d s = mask == 1 ? _mm512_zextpd128_pd512(_mm_load_sd(score + i))
		                      : _mm512_maskz_loadu_pd(mask, score + i);
		__m512d product;
		__m512d power;
		__m512d f;
		__m512d f2;
		__m512d f4;
		__m512d p;
		__m512d b;
		__m512i mantissa;
		__m512i shift;
		__m512i low;
		__m512i high;
		__mmask8 ordinary;
		__mmask8 below;

		s = _mm512_min_pd(_mm512_max_pd(s, lower), limit);
		product = _mm512_mul_pd(s, log2e);
		power = _mm512_roundscale_pd(product, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
		f = _mm512_fmsub_pd(s, log2e, power);
		f = _mm512_fmadd_pd(s, _mm512_set1_pd(NW_LOG2E_LO), f);
		ordinary =
			_mm512_cmp_pd_mask(_mm512_abs_pd(product), _mm512_set1_pd(NW_EXP_INTEGRAL), _CMP_LT_OQ);
		f = _mm512_max_pd(f, _mm512_maskz_mov_pd(ordinary, f_min));
		f = _mm512_min_pd(f, f_max);

		f2 = _mm512_mul_pd(f, f);
		f4 = _mm512_mul_pd(f2, f2);
		p = _mm512_fmadd_pd(f2, _mm512_set1_pd(NW_EXP_P10), pair(f, NW_EXP_P8, NW_EXP_P9));
		p = _mm512_fmadd_pd(
			f4, p,
			_mm512_fmadd_pd(f2, pair(f, NW_EXP_P6, NW_EXP_P7), pair(f, NW_EXP_P4, NW_EXP_P5)));
		p = _mm512_fmadd_pd(
			f4, p,
			_mm512_fmadd_pd(f2, pair(f, NW_EXP_P2, NW_EXP_P3), pair(f, NW_EXP_P0, NW_EXP_P1)));
		p = _mm512_fmadd_pd(f, p, one);

		mantissa = _mm512_castpd_si512(p);
		mantissa = _mm512_and_si512(mantissa, _mm512_set1_epi64(NW_MANTISSA_MASK));
		mantissa = _mm512_or_si512(mantissa, _mm512_set1_epi64(NW_MANTISSA_ONE));

		/* the addition of 0 where p >= 1 turns a power of -0 into 0 */
		below = _mm512_cmp_pd_mask(p, one, _CMP_LT_OQ);
		power = _mm512_add_pd(power, _mm512_maskz_mov_pd(below, _mm512_set1_pd(-1.0)));
		b = _mm512_roundscale_pd(_mm512_mul_pd(power, per_bin),
		                         _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
		shift = _mm512_cvtpd_epi64(_mm512_fnmadd_pd(b, bits, power));

		/* a shift by 64 gives 0 */
		low = _mm512_sllv_epi64(mantissa, shift);
		shift = _mm512_sub_epi64(_mm512_set1_epi64(64), shift);
		high = _mm512_srlv_epi64(mantissa, shift);
		if (mask == 1)
		{
			bin[i] = _mm512_cvtsd_f64(b);
			lo[i] = (uint64_t) _mm_cvtsi128_si64(_mm512_castsi512_si128(low));
			hi[i] = (uint64_t) _mm_cvtsi128_si64(_mm512_castsi512_si128(high));
		}
		else
		{
			_mm512_mask_storeu_pd(bin + i, mask, b);
			_mm512_mask_storeu_epi64(lo + i, mask, low);
			_mm512_mask_storeu_epi64(hi + i, mask, high);
		}
	}
}

/* Widen half-precision numbers. */
static TARGET void
avx512_half_to_float(const uint16_t *half, int n, float *out)
{
	for (int i = 0; i < n; i += 16)
	{
		__mmask16 mask = n - i >= 16 ? 0xffff : (__mmask16) ((1U << (n - i)) - 1);
		__m256i h = _mm256_maskz_loadu_epi16(mask, half + i);

		_mm512_mask_storeu_ps(out + i, mask, _mm512_cvtph_ps(h));
	}
}

const NwSimd nw_simd_avx512 = {.name = "avx512",
                               .sqdist = avx512_sqdist,
                               .sqdist_scaled = avx512_sqdist_scaled,
                               .dot = avx512_dot,
                               .sqnorm = avx512_sqnorm,
                               .dot_sqnorm = avx512_dot_sqnorm,
                               .close_sqdist = avx512_close_sqdist,
                               .root_scores = avx512_root_scores,
                               .exp_split = avx512_exp_split,
                               .sqdist_block = nw_avx512_sqdist_block,
                               .sqdist_scaled_block = nw_avx512_sqdist_scaled_block,
                               .dot_block = nw_avx512_dot_block,
                               .exp_sum = nw_avx512_exp_sum,
                               .exp_moments = nw_avx512_exp_moments,
                               .max = nw_avx512_max,
                               .bin_sum = nw_avx512_bin_sum,
                               .exp_bins = nw_avx512_exp_bins,
                               .coarse_copy = nw_avx512_coarse_copy,
                               .coarse_sqdist = nw_avx512_coarse_sqdist,
                               .code_query = nw_avx512_code_query,
                               .code_dot = nw_avx512_code_dot,
                               .code_middles = nw_avx512_code_middles,
                               .code_ranges = nw_avx512_code_ranges,
                               .code_scores = nw_avx512_code_scores,
                               .code_cosines = nw_avx512_code_cosines,
                               .half_to_float = avx512_half_to_float};

#endif /* __x86_64__ */
