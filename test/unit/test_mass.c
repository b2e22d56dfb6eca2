/*
 * test_mass.c
 *		Sums of exponentials: the same bits in any order, the right digits.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "check.h"
#include "math/mass.h"
#include "math/simd/simd.h"
#include "simd_names.h"

/* nothing between the members, so that sums can be compared as bytes */
_Static_assert(sizeof(NwMass) == NW_BINS * 16 + 8, "no padding");

/* Compare sums as bytes. */
static bool
same(const NwMass *a, const NwMass *b)
{
	return memcmp(a, b, sizeof(NwMass)) == 0;
}

/* Shuffle scores. */
static void
shuffle(double *scores, int n)
{
	for (int i = n - 1; i > 0; i--)
	{
		int j = check_below(i + 1);
		double swap = scores[i];

		scores[i] = scores[j];
		scores[j] = swap;
	}
}

/* Sum in the given order. */
static NwMass
sum_of(const double *scores, int n)
{
	NwMass mass;

	nw_mass_clear(&mass);
	for (int i = 0; i < n; i++)
		nw_mass_add(&mass, scores[i]);
	return mass;
}

/* Check that order, splits, merges and scatter do not show. */
static void
check_order(double low, double high)
{
	enum
	{
		count = 500,
		parts = 7
	};
	double scores[count];
	double bin[count];
	uint64_t hi[count];
	uint64_t lo[count];
	int32_t class_of[count];
	NwMass expected;

	for (int i = 0; i < count; i++)
		scores[i] = check_uniform(low, high);
	expected = sum_of(scores, count);

	for (int round = 0; round < 20; round++)
	{
		NwMass whole;
		NwMass part[parts];
		NwMass scattered[parts];

		shuffle(scores, count);
		whole = sum_of(scores, count);
		CHECK(same(&whole, &expected), "order, round %d", round);

		for (int k = 0; k < parts; k++)
		{
			nw_mass_clear(&part[k]);
			nw_mass_clear(&scattered[k]);
		}
		for (int i = 0; i < count; i++)
		{
			/* the last part stays empty */
			class_of[i] = check_below(parts - 1);
			nw_mass_add(&part[class_of[i]], scores[i]);
		}
		nw_simd->exp_split(scores, count, bin, hi, lo);
		nw_mass_scatter(scattered, class_of, count, bin, hi, lo);
		for (int k = 0; k < parts; k++)
			CHECK(same(&part[k], &scattered[k]), "scatter, class %d", k);
		CHECK(nw_mass_is_empty(&part[parts - 1]), "no term");

		/* from left to right, and from right to left */
		nw_mass_clear(&whole);
		for (int k = 0; k < parts; k++)
			nw_mass_merge(&whole, &part[k]);
		CHECK(same(&whole, &expected), "merge, round %d", round);
		for (int k = parts - 2; k >= 0; k--)
			nw_mass_merge(&part[k], &part[k + 1]);
		CHECK(same(&part[0], &expected), "reverse merge, round %d", round);
	}
}

/* Compare sums with long double. */
static void
check_sums(double low, double high)
{
	for (int n = 1; n <= 3000; n = 3 * n + 1)
	{
		NwMass mass;
		NwScaled value;
		long double sum = 0;
		long double error;

		nw_mass_clear(&mass);
		for (int i = 0; i < n; i++)
		{
			double score = check_uniform(low, high);

			nw_mass_add(&mass, score);
			sum += expl(score);
		}
		value = nw_mass_value(&mass);
		error = ldexpl(value.fraction, (int) value.exponent) / sum - 1;
		CHECK(fabsl(error) <= 1e-15L, "%d terms in %g .. %g: %.3Lg", n, low, high, error);
		CHECK(fabs(nw_scaled_log(value) - (double) logl(sum)) <=
		          1e-14 + 4 * DBL_EPSILON * fabs(nw_scaled_log(value)),
		      "%d terms in %g .. %g", n, low, high);
	}
}

/* Check sums without terms. */
static void
check_empty(void)
{
	NwMass mass;
	NwScaled value;

	nw_mass_clear(&mass);
	CHECK(nw_mass_is_empty(&mass), "cleared");
	value = nw_mass_value(&mass);
	CHECK(value.fraction == 0 && value.exponent == 0, "%g", value.fraction);
	nw_mass_merge(&mass, &mass);
	CHECK(nw_mass_is_empty(&mass), "nothing and nothing");
	nw_mass_add(&mass, -1e280);
	CHECK(!nw_mass_is_empty(&mass), "a term however small");
}

/* Check which terms are dropped. */
static void
check_dropping(void)
{
	NwMass mass;
	NwMass other;

	/* a term two bins down counts, one three bins down does not */
	nw_mass_clear(&mass);
	nw_mass_add_split(&mass, 10, 0, 5);
	nw_mass_add_split(&mass, 8, 0, 3);
	nw_mass_add_split(&mass, 7, 1, 1);
	nw_mass_add_split(&mass, -1e300, 1, 1);
	CHECK(mass.top == 10 && mass.bin[0] == 5 && mass.bin[1] == 0 && mass.bin[2] == 3, "top %g",
	      mass.top);

	/* the same in the other order */
	nw_mass_clear(&other);
	nw_mass_add_split(&other, -1e300, 1, 1);
	nw_mass_add_split(&other, 7, 1, 1);
	nw_mass_add_split(&other, 8, 0, 3);
	nw_mass_add_split(&other, 10, 0, 5);
	CHECK(same(&mass, &other), "order");

	/* bins move down as the top rises */
	nw_mass_add_split(&mass, 11, 0, 7);
	CHECK(mass.top == 11 && mass.bin[0] == 7 && mass.bin[1] == 5 && mass.bin[2] == 0, "top %g",
	      mass.top);
	nw_mass_add_split(&mass, 100, 0, 1);
	CHECK(mass.top == 100 && mass.bin[0] == 1 && mass.bin[1] == 0 && mass.bin[2] == 0, "top %g",
	      mass.top);

	/* a dropped term is below 2^-64 of the largest */
	for (int i = 0; i < 2000; i++)
	{
		double large = check_uniform(-500, 500);
		double small = large - check_uniform(40, 80);
		bool dropped;

		nw_mass_clear(&mass);
		nw_mass_add(&mass, large);
		other = mass;
		nw_mass_add(&mass, small);
		dropped = same(&mass, &other);
		CHECK(!dropped || large - small > 64 * M_LN2, "%a and %a", large, small);
		CHECK(dropped || large - small < 96 * M_LN2, "%a and %a", large, small);
	}

	/* beyond 2^53 bins have gaps between them */
	nw_mass_clear(&mass);
	nw_mass_add_split(&mass, 0x1p53, 0, 1);
	nw_mass_add_split(&mass, 0x1p53 + 2, 0, 1);
	nw_mass_add_split(&mass, 0x1p53 + 4, 0, 1);
	CHECK(mass.top == 0x1p53 + 4 && mass.bin[0] == 1 && mass.bin[1] == 0 && mass.bin[2] == 1,
	      "top %a", mass.top);
}

/* Work out a sum's value bit by bit. */
static NwScaled
define_value(const NwMass *mass)
{
	NwScaled result = {0, 0};
	unsigned char bit[256] = {0};
	int carry = 0;
	int high = -1;
	int up;
	double fraction = 0;
	double unit = 1;

	for (int i = 0; i < 255; i++)
	{
		int total = carry;

		for (int k = 0; k < NW_BINS; k++)
		{
			int at = i - NW_BIN_BITS * (NW_BINS - 1 - k);

			if (at >= 0 && at < 128)
				total += (int) ((mass->bin[k] >> at) & 1);
		}
		bit[i] = total & 1;
		carry = total >> 1;
		if (bit[i])
			high = i;
	}
	if (high < 0)
		return result;

	for (int i = high; i > high - 53; i--, unit /= 2)
	{
		if (i >= 0 && bit[i])
			fraction += unit;
	}
	/* unit is now half of the last place */
	up = high >= 53 && bit[high - 53];
	if (up)
	{
		int more = bit[high - 52];

		for (int i = 0; i < high - 53; i++)
			more |= bit[i];
		up = more;
	}
	if (up)
		fraction += 2 * unit;
	if (fraction == 2)
	{
		fraction = 1;
		high++;
	}
	result.fraction = fraction;
	result.exponent = NW_BIN_BITS * (mass->top - (NW_BINS - 1)) - 52 + high;
	return result;
}

/* Check the rounding of sums of every length. */
static void
check_rounding(void)
{
	for (int i = 0; i < 100000; i++)
	{
		NwMass mass;
		NwScaled expected;
		NwScaled value;

		nw_mass_clear(&mass);
		mass.top = check_below(2001) - 1000;
		for (int k = 0; k < NW_BINS; k++)
		{
			nw_uint128 word = ((nw_uint128) check_random() << 64) | check_random();

			/* random lengths; now and then only ones, or few of them */
			if (check_below(4) == 0)
				word = ~(nw_uint128) 0;
			else if (check_below(4) == 0)
				word = (nw_uint128) 1 << check_below(128);
			word >>= check_below(128);
			if (check_below(3) == 0)
				word = 0;
			mass.bin[k] = word;
		}
		expected = define_value(&mass);
		value = nw_mass_value(&mass);
		CHECK(value.fraction == expected.fraction && value.exponent == expected.exponent,
		      "%a * 2^%g, not %a * 2^%g", value.fraction, value.exponent, expected.fraction,
		      expected.exponent);
	}
}

/* Check scores whose exponential no floating-point type holds. */
static void
check_huge(void)
{
	static const double sizes[] = {1e4, 1e10, 1e16, 1e17, 1e100, 1e280};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
	{
		for (int sign = -1; sign <= 1; sign += 2)
		{
			double score = sign * sizes[i];
			NwMass mass;
			NwScaled one = nw_scaled_exp(score);
			NwScaled less = nw_scaled_exp(score - sizes[i] / 2);
			NwScaled two;

			CHECK(fabs(one.exponent) < 0x1p52 ? one.fraction >= 1 && one.fraction < 2
			                                  : one.fraction > 0,
			      "%g", one.fraction);
			CHECK(fabs(nw_scaled_log(one) / score - 1) < 1e-15, "log(exp(%g)) = %.17g", score,
			      nw_scaled_log(one));
			CHECK(nw_scaled_compare(one, less) > 0, "%g", score);
			CHECK(nw_scaled_compare(less, one) < 0, "%g", score);
			CHECK(nw_scaled_ratio(less, one) == 0, "%g", score);
			CHECK(nw_scaled_log_ratio(one, one) == 0, "%g", score);
			CHECK(fabs(nw_scaled_log_ratio(less, one) / (-sizes[i] / 2) - 1) < 1e-14, "%g: %.17g",
			      score, nw_scaled_log_ratio(less, one));

			nw_mass_clear(&mass);
			nw_mass_add(&mass, score);
			nw_mass_add(&mass, score);
			nw_mass_add(&mass, score - sizes[i] / 2);
			two = nw_mass_value(&mass);
			/* twice as much, where an exponent can say so */
			if (sizes[i] < 1e15)
				CHECK(nw_scaled_ratio(two, one) == 2, "%g: %g", score, nw_scaled_ratio(two, one));
			CHECK(nw_scaled_compare(two, one) >= 0, "%g", score);
			CHECK(isfinite(nw_scaled_log(two)), "%g", score);
		}
	}
	check_order(-1e280, -1e279);
	check_order(-1e17, 1e17);
}

int
main(void)
{
	check_start("mass");
	for (int k = 0; k < SIMD_COUNT; k++)
	{
		nw_simd = nw_simd_find(simd_names[k]);
		if (nw_simd == NULL)
			continue;
		check_order(-5, 0);
		check_order(-100, 50);
		check_order(-100000, -90000);
		check_huge();
		check_sums(-5, 5);
		check_sums(-300, 300);
		check_sums(-690, -680);
	}
	nw_simd_init();
	check_empty();
	check_dropping();
	check_rounding();
	return check_finish();
}
