/*
 * test_exp.c
 *		The exponential as an integer: its digits, its order, its limits.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "check.h"
#include "math/simd/scalar.h"
#include "math/simd/simd.h"
#include "simd_names.h"

typedef struct Term
{
	double bin;
	uint64_t hi;
	uint64_t lo;
} Term;

/* Split one score. */
static Term
split(const NwSimd *simd, double score)
{
	Term term;

	simd->exp_split(&score, 1, &term.bin, &term.hi, &term.lo);
	return term;
}

/* Order two terms by value. */
static int
compare(Term a, Term b)
{
	if (a.bin != b.bin)
		return a.bin < b.bin ? -1 : 1;
	if (a.hi != b.hi)
		return a.hi < b.hi ? -1 : 1;
	return (a.lo > b.lo) - (a.lo < b.lo);
}

/* Check that a term has the form that sums rely on. */
static void
check_form(double score, Term t)
{
	int length =
		t.hi != 0 ? 128 - __builtin_clzll(t.hi) : (t.lo != 0 ? 64 - __builtin_clzll(t.lo) : 0);

	CHECK(isfinite(t.bin) && t.bin == floor(t.bin), "exp(%a): bin %a", score, t.bin);
	CHECK(!(t.bin == 0 && signbit(t.bin)), "exp(%a): bin -0", score);
	CHECK(length >= 53 && length < 53 + NW_BIN_BITS, "exp(%a): %d bits", score, length);
}

/* Compare with the C library. */
static void
check_digits(double score)
{
	Term t = split(&nw_simd_scalar, score);
	long double value = (long double) t.hi * 0x1p64L + (long double) t.lo;
	long double error;

	value = ldexpl(value, NW_BIN_BITS * (int) t.bin - 52);
	error = value / expl(score) - 1;
	CHECK(fabsl(error) <= 1e-15L, "exp(%a): relative error %.3Lg", score, error);
	check_form(score, t);
}

/* Check that the next double up gives a larger term. */
static void
check_order(double score)
{
	double next = nextafter(score, HUGE_VAL);
	Term a = split(&nw_simd_scalar, score);
	Term b = split(&nw_simd_scalar, next);

	CHECK(compare(a, b) < 0,
	      "exp(%a): %a %016llx %016llx, next %a %016llx "
	      "%016llx",
	      score, a.bin, (unsigned long long) a.hi, (unsigned long long) a.lo, b.bin,
	      (unsigned long long) b.hi, (unsigned long long) b.lo);
	check_form(score, a);
}

/* Check scores whose exponential no floating-point type holds. */
static void
check_huge(void)
{
	/* from here on a score has no fraction */
	double integral = 0x1p52;

	for (int i = 0; i < 100000; i++)
	{
		double score = exp(check_uniform(log(integral), log(1e280)));

		check_order(score);
		check_order(-score);
	}

	/* where the product with log2(e) begins to be an integer */
	for (int i = -2000; i <= 2000; i++)
	{
		double score = integral * M_LN2 + i * 0.5;

		check_order(score);
		check_order(-score);
		check_order(2 * score);
		check_order(-2 * score);
	}

	/* below, steps of a few last digits are kept apart */
	for (int i = 0; i < 100000; i++)
	{
		double score = exp(check_uniform(log(700), log(integral)));
		double next = score * (1 + 4 * DBL_EPSILON);

		CHECK(compare(split(&nw_simd_scalar, score), split(&nw_simd_scalar, next)) < 0, "exp(%a)",
		      score);
		CHECK(compare(split(&nw_simd_scalar, -next), split(&nw_simd_scalar, -score)) < 0,
		      "exp(-%a)", score);
	}

	/* the power of two is the score's */
	for (int i = 0; i < 1000; i++)
	{
		double score = exp(check_uniform(log(1e6), log(1e280)));
		double power = split(&nw_simd_scalar, score).bin * NW_BIN_BITS;

		CHECK(fabs(power * M_LN2 - score) <= 1e-15 * score + 64, "exp(%a): 2^%a", score, power);
	}
}

/* Check numbers that a caller should not send. */
static void
check_limits(void)
{
	static const double edges[] = {0,       -0.0,     DBL_MIN,  -DBL_MIN,  5e-324, 1e308,  -1e308,
	                               DBL_MAX, -DBL_MAX, HUGE_VAL, -HUGE_VAL, NAN,    0x1p52, -0x1p52,
	                               0x1p53,  -0x1p53,  0x1p63,   -0x1p63,   1e280,  -1e280};

	for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++)
	{
		Term t = split(&nw_simd_scalar, edges[i]);

		check_form(edges[i], t);
		for (int k = 0; k < SIMD_COUNT; k++)
		{
			const NwSimd *simd = nw_simd_find(simd_names[k]);

			if (simd != NULL)
				CHECK(compare(t, split(simd, edges[i])) == 0, "%s exp(%a)", simd_names[k],
				      edges[i]);
		}
	}
}

/* Draw a score of any size. */
static double
random_score(void)
{
	double sign = check_below(4) == 0 ? 1 : -1;

	switch (check_below(4))
	{
		case 0:
			return sign * exp(check_uniform(-50, 640));
		case 1:
			return sign * (check_below(2000) + 0.5) * M_LN2;
		default:
			return sign * check_uniform(0, 100);
	}
}

/* Compare all implementations, bit for bit, on arrays of exact size. */
static void
check_same(const NwSimd *fast, int n)
{
	double *score = check_alloc(sizeof(double) * n);
	double *bin[2];
	uint64_t *hi[2];
	uint64_t *lo[2];

	for (int i = 0; i < n; i++)
		score[i] = random_score();
	for (int k = 0; k < 2; k++)
	{
		bin[k] = check_alloc(sizeof(double) * n);
		hi[k] = check_alloc(sizeof(uint64_t) * n);
		lo[k] = check_alloc(sizeof(uint64_t) * n);
	}
	nw_simd_scalar.exp_split(score, n, bin[0], hi[0], lo[0]);
	fast->exp_split(score, n, bin[1], hi[1], lo[1]);
	for (int i = 0; i < n; i++)
		CHECK(memcmp(&bin[0][i], &bin[1][i], sizeof(double)) == 0 && hi[0][i] == hi[1][i] &&
		          lo[0][i] == lo[1][i],
		      "%s exp(%a), %d of %d: bin %a, not %a", fast->name, score[i], i, n, bin[1][i],
		      bin[0][i]);

	for (int k = 0; k < 2; k++)
	{
		free(bin[k]);
		free(hi[k]);
		free(lo[k]);
	}
	free(score);
}

int
main(void)
{
	Term one;

	check_start("exp");

	one = split(&nw_simd_scalar, 0);
	CHECK(one.bin == 0 && one.hi == 0 && one.lo == UINT64_C(1) << 52, "exp(0): bin %a, %llx",
	      one.bin, (unsigned long long) one.lo);

	for (int i = -700; i <= 700; i++)
		check_digits(i);
	for (int i = 0; i < 200000; i++)
		check_digits(check_uniform(-700, 700));
	for (int i = 0; i < 50000; i++)
		check_digits(check_uniform(-1, 1));
	/* between two powers of two, where the remainder changes its sign */
	for (int i = -1000; i <= 1000; i++)
	{
		double score = (i + 0.5) * M_LN2;

		check_digits(score);
		check_digits(nextafter(score, HUGE_VAL));
		check_digits(nextafter(score, -HUGE_VAL));
	}

	check_huge();
	check_limits();
	for (int k = 1; k < SIMD_COUNT; k++)
	{
		const NwSimd *fast = nw_simd_find(simd_names[k]);

		for (int n = 0; fast != NULL && n <= 40; n++)
		{
			for (int i = 0; i < 50; i++)
				check_same(fast, n);
		}
		if (fast != NULL)
			check_same(fast, 200001);
	}
	return check_finish();
}
