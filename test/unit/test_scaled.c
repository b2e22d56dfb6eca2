/*
 * test_scaled.c
 *		Numbers beyond double's range, and the weights made from them.
 */
#include <float.h>
#include <math.h>

#include "check.h"
#include "math/mass.h"
#include "math/simd/simd.h"

/* Make a number. */
static NwScaled
scaled(double fraction, double exponent)
{
	NwScaled result = {fraction, exponent};

	return result;
}

/* Check the arithmetic of numbers beyond double's range. */
static void
check_scaled(void)
{
	NwScaled zero = {0, 0};
	NwScaled values[4];
	NwScaled sum;

	CHECK(nw_scaled_log(zero) == -HUGE_VAL, "log(0)");
	CHECK(nw_scaled_log_ratio(zero, scaled(1, 5)) == -HUGE_VAL, "log(0 / 32)");
	CHECK(nw_scaled_ratio(zero, scaled(1, 5)) == 0, "0 / 32");
	CHECK(nw_scaled_log(scaled(1, 0)) == 0, "log(1)");
	CHECK(nw_scaled_log(scaled(2 - DBL_EPSILON, -1)) == log1p(-DBL_EPSILON / 2),
	      "log just below 1: %a", nw_scaled_log(scaled(2 - DBL_EPSILON, -1)));

	CHECK(nw_scaled_compare(zero, zero) == 0, "0 and 0");
	CHECK(nw_scaled_compare(zero, scaled(1, -1e280)) < 0, "0 is smallest");
	CHECK(nw_scaled_compare(scaled(1, -1e280), zero) > 0, "0 is smallest");
	CHECK(nw_scaled_compare(scaled(1.5, 3), scaled(1.25, 3)) > 0, "12 and 10");
	CHECK(nw_scaled_compare(scaled(1.5, 3), scaled(1.25, 4)) < 0, "12 and 20");
	CHECK(nw_scaled_compare(scaled(1.5, 3), scaled(1.5, 3)) == 0, "12 and 12");

	/* ratios */
	CHECK(nw_scaled_ratio(scaled(1.5, 1e5), scaled(1, 1e5 + 1)) == 0.75, "3/4");
	CHECK(nw_scaled_ratio(scaled(1, -1074), scaled(1, 0)) == 0x1p-1074, "the smallest double");
	CHECK(nw_scaled_ratio(scaled(1, -1e280), scaled(1, 1e280)) == 0, "underflow");
	CHECK(nw_scaled_ratio(scaled(1, 1e280), scaled(1, -1e280)) == HUGE_VAL, "overflow");

	/* near 1 */
	CHECK(nw_scaled_log_ratio(scaled(1 + DBL_EPSILON, 7), scaled(1, 7)) == log1p(DBL_EPSILON),
	      "1 + epsilon");
	CHECK(nw_scaled_log_ratio(scaled(1, 8), scaled(2 - DBL_EPSILON, 7)) ==
	          log1p(DBL_EPSILON / (2 - DBL_EPSILON)),
	      "across a power of two");
	CHECK(nw_scaled_log_ratio(scaled(2 - DBL_EPSILON, 7), scaled(1, 8)) == log1p(-DBL_EPSILON / 2),
	      "and back");
	for (int i = 0; i < 20000; i++)
	{
		NwScaled a = {check_uniform(1, 2), check_below(9) - 4};
		NwScaled b = {check_uniform(1, 2), check_below(9) - 4};
		long double x = ldexpl(a.fraction, (int) a.exponent);
		long double y = ldexpl(b.fraction, (int) b.exponent);
		long double expected = log1pl((x - y) / y);

		CHECK(fabsl(nw_scaled_log_ratio(a, b) - expected) <= 1e-15L * fabsl(expected),
		      "%a 2^%g / %a 2^%g", a.fraction, a.exponent, b.fraction, b.exponent);
		CHECK(fabsl(nw_scaled_ratio(a, b) - x / y) <= 1e-15L * x / y, "%a 2^%g / %a 2^%g",
		      a.fraction, a.exponent, b.fraction, b.exponent);
	}

	/* sums */
	sum = nw_scaled_sum(values, 0);
	CHECK(sum.fraction == 0 && sum.exponent == 0, "no numbers");
	values[0] = zero;
	values[1] = zero;
	sum = nw_scaled_sum(values, 2);
	CHECK(sum.fraction == 0 && sum.exponent == 0, "zeros");
	values[0] = scaled(1, 1e10);
	values[2] = scaled(1.5, 1e10 - 1);
	values[3] = scaled(1, -1e280);
	sum = nw_scaled_sum(values, 4);
	CHECK(sum.fraction == 1.75 && sum.exponent == 1e10, "%g * 2^%g", sum.fraction, sum.exponent);
	values[1] = scaled(1.5, 1e10);
	sum = nw_scaled_sum(values, 4);
	CHECK(sum.fraction == 1.625 && sum.exponent == 1e10 + 1, "%g * 2^%g", sum.fraction,
	      sum.exponent);
	values[0] = scaled(1.5, -1e280);
	values[1] = zero;
	values[2] = zero;
	values[3] = zero;
	sum = nw_scaled_sum(values, 4);
	CHECK(sum.fraction == 1.5 && sum.exponent == -1e280, "%g * 2^%g", sum.fraction, sum.exponent);
}

/* Check that weights and class probabilities sum to 1. */
static void
check_weights(double low, double high)
{
	enum
	{
		count = 100000,
		classes = 10
	};
	double *scores = check_alloc(sizeof(double) * count);
	NwMass masses[classes];
	NwScaled values[classes];
	NwScaled total;
	double weights = 0;
	double probabilities = 0;

	for (int k = 0; k < classes; k++)
		nw_mass_clear(&masses[k]);
	for (int i = 0; i < count; i++)
	{
		scores[i] = check_uniform(low, high);
		nw_mass_add(&masses[check_below(classes)], scores[i]);
	}
	for (int k = 0; k < classes; k++)
		values[k] = nw_mass_value(&masses[k]);
	total = nw_scaled_sum(values, classes);
	for (int k = 0; k < classes; k++)
		probabilities += nw_scaled_ratio(values[k], total);
	for (int i = 0; i < count; i++)
		weights += nw_scaled_ratio(nw_scaled_exp(scores[i]), total);
	CHECK(fabs(probabilities - 1) < 1e-14, "%g .. %g: %.17g", low, high, probabilities);
	CHECK(fabs(weights - 1) < 1e-9, "%g .. %g: %.17g", low, high, weights);
	free(scores);
}

/* Check shares of a mass against ratios. */
static void
check_shares(double low, double high, double heaviest)
{
	NwShares shares;
	NwScaled mass = nw_scaled_exp(heaviest);

	mass.fraction = check_uniform(mass.fraction, 2);
	nw_shares_init(&shares, mass);
	for (int i = 0; i < 20000; i++)
	{
		double score = check_uniform(low, high);
		double bin;
		uint64_t hi;
		uint64_t lo;
		double share;
		double expected;

		nw_simd->exp_split(&score, 1, &bin, &hi, &lo);
		share = nw_share(&shares, bin, hi, lo);
		expected = nw_scaled_ratio(nw_scaled_exp(score), mass);
		CHECK(fabs(share - expected) <= 2 * DBL_EPSILON * expected + 0x1p-1074,
		      "exp(%a): %a, not %a", score, share, expected);
	}
	CHECK(nw_share(&shares, -HUGE_VAL, 0, 0) == 0, "no term");
	if (fabs(shares.bin) < 0x1p50)
		CHECK(nw_share(&shares, shares.bin - NW_SHARE_BINS, 0, 1) == 0, "far below");
}

/* Count equal terms, however small: the share of a class is that of its terms. */
static void
check_equal_terms(double score)
{
	NwScaled values[3];
	NwScaled total;

	for (int k = 0; k < 3; k++)
	{
		NwMass mass;

		nw_mass_clear(&mass);
		for (int i = 0; i <= k; i++)
			nw_mass_add(&mass, score);
		values[k] = nw_mass_value(&mass);
	}
	total = nw_scaled_sum(values, 3);
	for (int k = 0; k < 3; k++)
		CHECK(fabs(nw_scaled_ratio(values[k], total) - (k + 1) / 6.0) < 1e-15,
		      "%d of 6 terms exp(%g): %.17g", k + 1, score, nw_scaled_ratio(values[k], total));
	CHECK(nw_scaled_compare(values[2], values[1]) > 0 &&
	          nw_scaled_compare(values[0], values[1]) < 0 &&
	          nw_scaled_compare(values[1], values[1]) == 0,
	      "exp(%g)", score);
	CHECK(nw_scaled_compare(values[0], nw_scaled_exp(score * 1.5)) == (score > 0 ? -1 : 1),
	      "exp(%g) and its neighbour", score);
	CHECK(fabs(nw_scaled_log_ratio(values[2], total) - log(0.5)) < 1e-15 &&
	          fabs(nw_scaled_log_ratio(values[0], total) + log(6)) < 1e-15,
	      "exp(%g): %.17g, %.17g", score, nw_scaled_log_ratio(values[2], total),
	      nw_scaled_log_ratio(values[0], total));
}

int
main(void)
{
	check_start("scaled");
	nw_simd_init();
	check_scaled();
	check_weights(-10, 0);
	check_weights(-1000, -500);
	check_weights(-1e6, 1e6);
	check_shares(-30, 0, 0);
	check_shares(-800, 0, 0.3);
	check_shares(600, 800, 800);
	check_shares(-1e10 - 750, -1e10, -1e10);
	check_shares(-1e200, -0.999e200, -0.999e200);
	for (double score = 1; score <= 1e250; score *= 7)
	{
		check_equal_terms(score);
		check_equal_terms(-score);
	}
	return check_finish();
}
