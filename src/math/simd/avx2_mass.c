/*
 * math/simd/avx2_mass.c
 *		Sums of exponentials in AVX2 with FMA.
 */
#include "math/simd/simd.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <math.h>

#include "math/simd/simd_impl.h"

#define TARGET __attribute__((target("avx2,fma,f16c")))
#define INLINE inline __attribute__((always_inline)) TARGET

/* Two terms of a polynomial. */
static INLINE __m256d
pair(__m256d f, double c0, double c1)
{
	return _mm256_fmadd_pd(f, _mm256_set1_pd(c1), _mm256_set1_pd(c0));
}

/* exp of four arguments; 0 for those below NW_EXP_SUM_MIN. */
static INLINE __m256d
exp4(__m256d s)
{
	const __m256d log2e = _mm256_set1_pd(NW_LOG2E_HI);
	const __m256d round = _mm256_set1_pd(NW_EXP_ROUND);
	__m256d rounded = _mm256_fmadd_pd(s, log2e, round);
	__m256d f;
	__m256d f2;
	__m256d f4;
	__m256d p;
	__m256i power;

	f = _mm256_fmsub_pd(s, log2e, _mm256_sub_pd(rounded, round));
	f = _mm256_fmadd_pd(s, _mm256_set1_pd(NW_LOG2E_LO), f);

	f2 = _mm256_mul_pd(f, f);
	f4 = _mm256_mul_pd(f2, f2);
	p = _mm256_fmadd_pd(f2, _mm256_set1_pd(NW_EXP_P10), pair(f, NW_EXP_P8, NW_EXP_P9));
	p = _mm256_fmadd_pd(
		f4, p, _mm256_fmadd_pd(f2, pair(f, NW_EXP_P6, NW_EXP_P7), pair(f, NW_EXP_P4, NW_EXP_P5)));
	p = _mm256_fmadd_pd(
		f4, p, _mm256_fmadd_pd(f2, pair(f, NW_EXP_P2, NW_EXP_P3), pair(f, NW_EXP_P0, NW_EXP_P1)));
	p = _mm256_fmadd_pd(f, p, _mm256_set1_pd(1.0));

	/* times 2^power */
	power = _mm256_slli_epi64(_mm256_castpd_si256(rounded), 52);
	power = _mm256_add_epi64(_mm256_castpd_si256(p), power);
	return _mm256_and_pd(_mm256_castsi256_pd(power),
	                     _mm256_cmp_pd(s, _mm256_set1_pd(NW_EXP_SUM_MIN), _CMP_GE_OQ));
}

/* Add up exponentials, see simd_impl.h. */
TARGET double
nw_avx2_exp_sum(const double *score, int n, double factor, double shift)
{
	__m256d by = _mm256_set1_pd(factor);
	__m256d less = _mm256_set1_pd(shift);
	__m256d a = _mm256_setzero_pd();
	__m256d b = a;
	__m128d sum;
	int i = 0;

	for (; i + 8 <= n; i += 8)
	{
		__m256d s = _mm256_loadu_pd(score + i);
		__m256d t = _mm256_loadu_pd(score + i + 4);

		a = _mm256_add_pd(a, exp4(_mm256_fmsub_pd(by, s, less)));
		b = _mm256_add_pd(b, exp4(_mm256_fmsub_pd(by, t, less)));
	}
	if (i < n)
	{
		double argument[8];

		for (int j = 0; j < 8; j++)
			argument[j] = -HUGE_VAL;
		for (int j = 0; j < n - i; j++)
			argument[j] = __builtin_fma(factor, score[i + j], -shift);
		a = _mm256_add_pd(a, exp4(_mm256_loadu_pd(argument)));
		b = _mm256_add_pd(b, exp4(_mm256_loadu_pd(argument + 4)));
	}

	a = _mm256_add_pd(a, b);
	sum = _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
	return _mm_cvtsd_f64(_mm_add_sd(sum, _mm_unpackhi_pd(sum, sum)));
}

/* Take the moments of exponentials. */
TARGET void
nw_avx2_exp_moments(const double *score, int n, double shift, bool over_scores, NwMoments *out)
{
	const __m256d one = _mm256_set1_pd(1);
	const __m256d sign = _mm256_set1_pd(-0.0);
	__m256d less = _mm256_set1_pd(shift);
	__m256d sum = _mm256_setzero_pd();
	__m256d squares = sum;
	__m256d peak = sum;
	double part[3][4];
	NwMoments rest;
	int i = 0;

	for (; i + 4 <= n; i += 4)
	{
		__m256d s = _mm256_loadu_pd(score + i);
		__m256d w = exp4(_mm256_sub_pd(s, less));
		__m256d by = one;
		__m256d v;

		if (over_scores)
			by = _mm256_div_pd(one, _mm256_andnot_pd(sign, s));
		v = _mm256_mul_pd(w, by);
		sum = _mm256_add_pd(sum, w);
		squares = _mm256_fmadd_pd(v, v, squares);
		peak = _mm256_max_pd(peak, _mm256_mul_pd(v, by));
	}
	_mm256_storeu_pd(part[0], sum);
	_mm256_storeu_pd(part[1], squares);
	_mm256_storeu_pd(part[2], peak);
	nw_simd_scalar.exp_moments(score + i, n - i, shift, over_scores, &rest);
	for (int k = 0; k < 4; k++)
	{
		rest.sum += part[0][k];
		rest.squares += part[1][k];
		rest.peak = fmax(rest.peak, part[2][k]);
	}
	*out = rest;
}

/* Find the largest number. */
TARGET double
nw_avx2_max(const double *value, int n)
{
	__m256d a = _mm256_set1_pd(-HUGE_VAL);
	__m256d b = a;
	__m128d c;
	double result;
	int i = 0;

	for (; i + 8 <= n; i += 8)
	{
		a = _mm256_max_pd(a, _mm256_loadu_pd(value + i));
		b = _mm256_max_pd(b, _mm256_loadu_pd(value + i + 4));
	}
	a = _mm256_max_pd(a, b);
	c = _mm_max_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
	result = _mm_cvtsd_f64(_mm_max_sd(c, _mm_unpackhi_pd(c, c)));
	for (; i < n; i++)
		result = value[i] > result ? value[i] : result;

	/* which of -0 and 0 came first does not matter */
	return result + 0.0;
}

/* Add up four 64-bit lanes. */
static INLINE uint64_t
add_lanes(__m256i a)
{
	__m128i b = _mm_add_epi64(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));

	return (uint64_t) _mm_cvtsi128_si64(b) + (uint64_t) _mm_extract_epi64(b, 1);
}

/* Add what is of one bin. */
static INLINE __m256i
add_in(__m256i sum, __m256d in, __m256i terms)
{
	return _mm256_add_epi64(sum, _mm256_and_si256(_mm256_castpd_si256(in), terms));
}

/* Add up terms by bin. */
TARGET void
nw_avx2_bin_sum(double top, int n, const double *bin, const uint64_t *hi, const uint64_t *lo,
                uint64_t *low, uint64_t *high)
{
	__m256d tops = _mm256_set1_pd(top);
	__m256i low_bits = _mm256_set1_epi64x(UINT32_MAX);
	__m256i low0 = _mm256_setzero_si256();
	__m256i low1 = low0, low2 = low0;
	__m256i high0 = low0, high1 = low0, high2 = low0;
	int whole = n - n % 4;

	for (int i = 0; i < whole; i += 4)
	{
		/* beyond 2^53 top - 1 may be top; the gap is exact where it counts */
		__m256d gap = _mm256_sub_pd(tops, _mm256_loadu_pd(bin + i));
		__m256i l = _mm256_loadu_si256((const __m256i *) (lo + i));
		__m256i h = _mm256_loadu_si256((const __m256i *) (hi + i));
		__m256d in0 = _mm256_cmp_pd(gap, _mm256_setzero_pd(), _CMP_EQ_OQ);
		__m256d in1 = _mm256_cmp_pd(gap, _mm256_set1_pd(1), _CMP_EQ_OQ);
		__m256d in2 = _mm256_cmp_pd(gap, _mm256_set1_pd(2), _CMP_EQ_OQ);

		h = _mm256_or_si256(_mm256_slli_epi64(h, 32), _mm256_srli_epi64(l, 32));
		l = _mm256_and_si256(l, low_bits);
		low0 = add_in(low0, in0, l);
		low1 = add_in(low1, in1, l);
		low2 = add_in(low2, in2, l);
		high0 = add_in(high0, in0, h);
		high1 = add_in(high1, in1, h);
		high2 = add_in(high2, in2, h);
	}

	/* the last few in plain C, which sets all sums */
	nw_simd_scalar.bin_sum(top, n - whole, bin + whole, hi + whole, lo + whole, low, high);
	low[0] += add_lanes(low0);
	low[1] += add_lanes(low1);
	low[2] += add_lanes(low2);
	high[0] += add_lanes(high0);
	high[1] += add_lanes(high1);
	high[2] += add_lanes(high2);
}

#endif /* __x86_64__ */
