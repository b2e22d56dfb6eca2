/*
 * math/simd/avx512_mass.c
 *		Sums of exponentials in AVX-512.
 */
#include "math/simd/simd.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <math.h>

#include "math/simd/simd_impl.h"

#define TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl")))
#define INLINE inline __attribute__((always_inline)) TARGET

/* The mask of the first n of eight lanes; n may be larger. */
static INLINE __mmask8
mask_of(int n)
{
	return n >= 8 ? 0xff : (__mmask8) ((1U << n) - 1);
}

/* Two terms of a polynomial. */
static INLINE __m512d
pair(__m512d f, double c0, double c1)
{
	return _mm512_fmadd_pd(f, _mm512_set1_pd(c1), _mm512_set1_pd(c0));
}

/* 2^f by the polynomial of simd_impl.h. */
static INLINE __m512d
power_of_two(__m512d f)
{
	__m512d f2 = _mm512_mul_pd(f, f);
	__m512d f4 = _mm512_mul_pd(f2, f2);
	__m512d p;

	p = _mm512_fmadd_pd(f2, _mm512_set1_pd(NW_EXP_P10), pair(f, NW_EXP_P8, NW_EXP_P9));
	p = _mm512_fmadd_pd(
		f4, p, _mm512_fmadd_pd(f2, pair(f, NW_EXP_P6, NW_EXP_P7), pair(f, NW_EXP_P4, NW_EXP_P5)));
	p = _mm512_fmadd_pd(
		f4, p, _mm512_fmadd_pd(f2, pair(f, NW_EXP_P2, NW_EXP_P3), pair(f, NW_EXP_P0, NW_EXP_P1)));
	return _mm512_fmadd_pd(f, p, _mm512_set1_pd(1.0));
}

/* exp of eight arguments; 0 for those below NW_EXP_SUM_MIN or outside mask. */
static INLINE __m512d
exp8(__m512d s, __mmask8 mask)
{
	const __m512d log2e = _mm512_set1_pd(NW_LOG2E_HI);
	const __m512d round = _mm512_set1_pd(NW_EXP_ROUND);
	__m512d rounded = _mm512_fmadd_pd(s, log2e, round);
	__m512d f;
	__m512d p;
	__m512i power;
	__mmask8 keep;

	f = _mm512_fmsub_pd(s, log2e, _mm512_sub_pd(rounded, round));
	f = _mm512_fmadd_pd(s, _mm512_set1_pd(NW_LOG2E_LO), f);
	p = power_of_two(f);

	/* times 2^power */
	power = _mm512_slli_epi64(_mm512_castpd_si512(rounded), 52);
	keep = _mm512_mask_cmp_pd_mask(mask, s, _mm512_set1_pd(NW_EXP_SUM_MIN), _CMP_GE_OQ);
	power = _mm512_maskz_add_epi64(keep, _mm512_castpd_si512(p), power);
	return _mm512_castsi512_pd(power);
}

/* Add up exponentials, see simd_impl.h. */
TARGET double
nw_avx512_exp_sum(const double *score, int n, double factor, double shift)
{
	__m512d by = _mm512_set1_pd(factor);
	__m512d less = _mm512_set1_pd(shift);
	__m512d sum = _mm512_setzero_pd();
	__m256d sum4;
	__m128d sum2;
	int i = 0;

	for (; i + 8 <= n; i += 8)
	{
		__m512d s = _mm512_loadu_pd(score + i);

		sum = _mm512_add_pd(sum, exp8(_mm512_fmsub_pd(by, s, less), 0xff));
	}
	if (i < n)
	{
		__mmask8 mask = mask_of(n - i);
		__m512d s = _mm512_maskz_loadu_pd(mask, score + i);

		sum = _mm512_add_pd(sum, exp8(_mm512_fmsub_pd(by, s, less), mask));
	}

	sum4 = _mm256_add_pd(_mm512_castpd512_pd256(sum), _mm512_extractf64x4_pd(sum, 1));
	sum2 = _mm_add_pd(_mm256_castpd256_pd128(sum4), _mm256_extractf128_pd(sum4, 1));
	return _mm_cvtsd_f64(_mm_add_sd(sum2, _mm_unpackhi_pd(sum2, sum2)));
}

/* Take the moments of exponentials. */
TARGET void
nw_avx512_exp_moments(const double *score, int n, double shift, bool over_scores, NwMoments *out)
{
	const __m512d one = _mm512_set1_pd(1);
	__m512d less = _mm512_set1_pd(shift);
	__m512d sum = _mm512_setzero_pd();
	__m512d squares = sum;
	__m512d peak = sum;

	for (int i = 0; i < n; i += 8)
	{
		__mmask8 mask = mask_of(n - i);
		__m512d s = _mm512_mask_loadu_pd(one, mask, score + i);
		__m512d w = exp8(_mm512_sub_pd(s, less), mask);
		__m512d by = one;
		__m512d v;

		if (over_scores)
			by = _mm512_div_pd(one, _mm512_abs_pd(s));
		v = _mm512_mul_pd(w, by);
		sum = _mm512_add_pd(sum, w);
		squares = _mm512_fmadd_pd(v, v, squares);
		peak = _mm512_max_pd(peak, _mm512_mul_pd(v, by));
	}
	out->sum = _mm512_reduce_add_pd(sum);
	out->squares = _mm512_reduce_add_pd(squares);
	out->peak = _mm512_reduce_max_pd(peak);
}

/* Find the largest number. */
TARGET double
nw_avx512_max(const double *value, int n)
{
	__m512d none = _mm512_set1_pd(-HUGE_VAL);
	__m512d a = none;
	__m512d b = none;
	int i = 0;

	for (; i + 16 <= n; i += 16)
	{
		a = _mm512_max_pd(a, _mm512_loadu_pd(value + i));
		b = _mm512_max_pd(b, _mm512_loadu_pd(value + i + 8));
	}
	for (; i < n; i += 8)
		a = _mm512_max_pd(a, _mm512_mask_loadu_pd(none, mask_of(n - i), value + i));

	/* which of -0 and 0 came first does not matter */
	return _mm512_reduce_max_pd(_mm512_max_pd(a, b)) + 0.0;
}

/* Add up terms by bin. */
TARGET void
nw_avx512_bin_sum(double top, int n, const double *bin, const uint64_t *hi, const uint64_t *lo,
                  uint64_t *low, uint64_t *high)
{
	__m512d tops = _mm512_set1_pd(top);
	__m512i low_bits = _mm512_set1_epi64(UINT32_MAX);
	__m512i low0 = _mm512_setzero_si512();
	__m512i low1 = low0, low2 = low0;
	__m512i high0 = low0, high1 = low0, high2 = low0;

	for (int i = 0; i < n; i += 8)
	{
		__mmask8 mask = mask_of(n - i);
		/* beyond 2^53 top - 1 may be top; the gap is exact where it counts */
		__m512d gap = _mm512_sub_pd(tops, _mm512_maskz_loadu_pd(mask, bin + i));
		__m512i l = _mm512_maskz_loadu_epi64(mask, lo + i);
		__m512i h = _mm512_maskz_loadu_epi64(mask, hi + i);
		__mmask8 in0 = _mm512_mask_cmp_pd_mask(mask, gap, _mm512_set1_pd(0), _CMP_EQ_OQ);
		__mmask8 in1 = _mm512_mask_cmp_pd_mask(mask, gap, _mm512_set1_pd(1), _CMP_EQ_OQ);
		__mmask8 in2 = _mm512_mask_cmp_pd_mask(mask, gap, _mm512_set1_pd(2), _CMP_EQ_OQ);

		h = _mm512_or_si512(_mm512_slli_epi64(h, 32), _mm512_srli_epi64(l, 32));
		l = _mm512_and_si512(l, low_bits);
		low0 = _mm512_mask_add_epi64(low0, in0, low0, l);
		low1 = _mm512_mask_add_epi64(low1, in1, low1, l);
		low2 = _mm512_mask_add_epi64(low2, in2, low2, l);
		high0 = _mm512_mask_add_epi64(high0, in0, high0, h);
		high1 = _mm512_mask_add_epi64(high1, in1, high1, h);
		high2 = _mm512_mask_add_epi64(high2, in2, high2, h);
	}

	low[0] = (uint64_t) _mm512_reduce_add_epi64(low0);
	low[1] = (uint64_t) _mm512_reduce_add_epi64(low1);
	low[2] = (uint64_t) _mm512_reduce_add_epi64(low2);
	high[0] = (uint64_t) _mm512_reduce_add_epi64(high0);
	high[1] = (uint64_t) _mm512_reduce_add_epi64(high1);
	high[2] = (uint64_t) _mm512_reduce_add_epi64(high2);
}

/*
 * Split exponentials and add them up by bin.
 *
 * The operations are those of exp_split and bin_sum, to the last bit, with
 * integers where these have doubles: rounded, the power of two plus
 * NW_EXP_ROUND, holds the power in its low bits, and bins are compared there.
 * Nearly all terms of a class fall into its two highest bins, so the third is
 * looked at only where one of eight does not.
 */
TARGET void
nw_avx512_exp_bins(double top, int n, const double *score, uint64_t *low, uint64_t *high)
{
	const __m512d log2e = _mm512_set1_pd(NW_LOG2E_HI);
	const __m512d round = _mm512_set1_pd(NW_EXP_ROUND);
	const __m512i low_bits = _mm512_set1_epi64(UINT32_MAX);
	double lowest = NW_BIN_BITS * (top - 2);

	/* two powers below the lowest bin: scores below count as this */
	const __m512d least = _mm512_set1_pd((lowest - 2) / NW_LOG2E_HI);

	/* where bins top, top - 1 and top - 2 begin */
	const __m512i from2 = _mm512_castpd_si512(_mm512_set1_pd(lowest + NW_EXP_ROUND));
	const __m512i from1 = _mm512_add_epi64(from2, _mm512_set1_epi64(NW_BIN_BITS));
	const __m512i from0 = _mm512_add_epi64(from1, _mm512_set1_epi64(NW_BIN_BITS));

	/* sums of bin top, of it and the next, and of what is below these */
	__m512i low0 = _mm512_setzero_si512();
	__m512i low1 = low0, low2 = low0;
	__m512i high0 = low0, high1 = low0, high2 = low0;

	for (int i = 0; i < n; i += 8)
	{
		__m512d s = n - i >= 8 ? _mm512_loadu_pd(score + i)
		                       : _mm512_mask_loadu_pd(least, mask_of(n - i), score + i);
		__m512d rounded;
		__m512d f;
		__m512d p;
		__m512i power;
		__m512i mantissa;
		__m512i shift;
		__m512i l;
		__m512i h;
		__mmask8 in0;
		__mmask8 in1;

		s = _mm512_max_pd(s, least);
		rounded = _mm512_add_pd(_mm512_mul_pd(s, log2e), round);
		f = _mm512_fmsub_pd(s, log2e, _mm512_sub_pd(rounded, round));
		f = _mm512_fmadd_pd(s, _mm512_set1_pd(NW_LOG2E_LO), f);
		p = power_of_two(f);

		power = _mm512_castpd_si512(rounded);
		power = _mm512_mask_sub_epi64(power, _mm512_cmp_pd_mask(p, _mm512_set1_pd(1.0), _CMP_LT_OQ),
		                              power, _mm512_set1_epi64(1));
		mantissa = _mm512_and_si512(_mm512_castpd_si512(p), _mm512_set1_epi64(NW_MANTISSA_MASK));
		mantissa = _mm512_or_si512(mantissa, _mm512_set1_epi64(NW_MANTISSA_ONE));
		shift = _mm512_and_si512(power, _mm512_set1_epi64(NW_BIN_BITS - 1));
		l = _mm512_and_si512(_mm512_sllv_epi64(mantissa, shift), low_bits);
		h = _mm512_srlv_epi64(mantissa, _mm512_sub_epi64(_mm512_set1_epi64(NW_BIN_BITS), shift));

		in0 = _mm512_cmp_epi64_mask(power, from0, _MM_CMPINT_NLT);
		in1 = _mm512_cmp_epi64_mask(power, from1, _MM_CMPINT_NLT);
		low0 = _mm512_mask_add_epi64(low0, in0, low0, l);
		high0 = _mm512_mask_add_epi64(high0, in0, high0, h);
		if (in1 != 0xff)
		{
			__mmask8 in2 =
				_mm512_mask_cmp_epi64_mask((__mmask8) ~in1, power, from2, _MM_CMPINT_NLT);

			low2 = _mm512_mask_add_epi64(low2, in2, low2, l);
			high2 = _mm512_mask_add_epi64(high2, in2, high2, h);
			l = _mm512_maskz_mov_epi64(in1, l);
			h = _mm512_maskz_mov_epi64(in1, h);
		}
		low1 = _mm512_add_epi64(low1, l);
		high1 = _mm512_add_epi64(high1, h);
	}

	low[0] = (uint64_t) _mm512_reduce_add_epi64(low0);
	low[1] = (uint64_t) _mm512_reduce_add_epi64(_mm512_sub_epi64(low1, low0));
	low[2] = (uint64_t) _mm512_reduce_add_epi64(low2);
	high[0] = (uint64_t) _mm512_reduce_add_epi64(high0);
	high[1] = (uint64_t) _mm512_reduce_add_epi64(_mm512_sub_epi64(high1, high0));
	high[2] = (uint64_t) _mm512_reduce_add_epi64(high2);
}

#endif /* __x86_64__ */
