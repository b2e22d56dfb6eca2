/*
 * test_sum.c
 *		Sums in any order: their bits, their range, their signs.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "check.h"
#include "math/sum.h"

#define TERMS 400

/* Add numbers up, one after the other. */
static double
add_up(const double *x, int n)
{
	NwSum sum;

	nw_sum_clear(&sum);
	for (int i = 0; i < n; i++)
		nw_sum_add(&sum, x[i]);
	return nw_sum_value(&sum);
}

/* Put numbers in another order. */
static void
shuffle(double *x, int n)
{
	for (int i = n - 1; i > 0; i--)
	{
		int j = check_below(i + 1);
		double swap = x[i];

		x[i] = x[j];
		x[j] = swap;
	}
}

/* Say whether two numbers have the same bits. */
static int
same(double a, double b)
{
	return memcmp(&a, &b, sizeof(double)) == 0;
}

/* Draw a number of either sign, its magnitude within powers of two. */
static double
draw(int least, int most)
{
	return ldexp(check_uniform(-1, 1), least + check_below(most - least + 1));
}

/* Check that neither order nor splitting shows. */
static void
check_order(int least, int most)
{
	double x[TERMS];
	double expected;
	double plain = 0;
	double backwards = 0;
	int differs = 0;

	for (int i = 0; i < TERMS; i++)
		x[i] = draw(least, most);
	expected = add_up(x, TERMS);
	CHECK(isfinite(expected), "%a", expected);
	for (int round = 0; round < 50; round++)
	{
		NwSum part[5];

		shuffle(x, TERMS);
		CHECK(same(add_up(x, TERMS), expected), "%a, not %a", add_up(x, TERMS), expected);
		for (int k = 0; k < 5; k++)
			nw_sum_clear(&part[k]);
		for (int i = 0; i < TERMS; i++)
			nw_sum_add(&part[check_below(4)], x[i]);
		for (int k = 0; k < 4; k++)
			nw_sum_merge(&part[4], &part[k]);
		CHECK(same(nw_sum_value(&part[4]), expected), "%a, not %a", nw_sum_value(&part[4]),
		      expected);

		plain = backwards = 0;
		for (int i = 0; i < TERMS; i++)
		{
			plain += x[i];
			backwards += x[TERMS - 1 - i];
		}
		differs += plain != backwards;
	}
	CHECK(differs > 0, "plain sums show the order");
	for (int i = 0; i < TERMS; i++)
		x[i] = -x[i];
	CHECK(same(add_up(x, TERMS), -expected), "the other sign: %a, not %a", add_up(x, TERMS),
	      -expected);
}

/* Check digits against sums that integers have exactly. */
static void
check_digits(void)
{
	for (int round = 0; round < 2000; round++)
	{
		double x[TERMS];
		__int128 exact = 0;
		int n = 1 + check_below(TERMS);
		int scale = check_below(1900) - 1000;
		double expected;

		/* integers of up to 90 bits, of 53 significant ones */
		for (int i = 0; i < n; i++)
		{
			int64_t m = (int64_t) (check_random() >> 11) - ((int64_t) 1 << 52);
			int shift = check_below(38);

			exact += (__int128) m * ((__int128) 1 << shift);
			x[i] = ldexp((double) m, shift);
		}
		expected = (double) exact;
		CHECK(same(add_up(x, n), expected), "%a, not %a", add_up(x, n), expected);

		/* anywhere in double's range */
		if (fabs(expected) > 0x1p40)
		{
			for (int i = 0; i < n; i++)
				x[i] = ldexp(x[i], scale - 70);
			if (scale - 70 > -1000)
				CHECK(same(add_up(x, n), ldexp(expected, scale - 70)), "times 2^%d", scale - 70);
		}
	}
}

/* Check what is far apart, tiny, huge or infinite. */
static void
check_extremes(void)
{
	double small[] = {1, 0x1p-63, 0x1p-64, -1};
	double huge[] = {DBL_MAX, DBL_MAX, -DBL_MAX};
	double tiny[] = {0x1p-1074, 0x1p-1074, DBL_MIN, -0x1p-1074};
	double signs[] = {5, -5, 3, -3};
	double cancelled[] = {1e300, 1, -1e300};
	double infinite[] = {1, HUGE_VAL, -1e300};
	double both[] = {-HUGE_VAL, 3, HUGE_VAL};
	double nothing[] = {0, -0.0, NAN};
	NwSum sum;
	NwSum other;

	CHECK(same(add_up(NULL, 0), 0), "nothing is 0");
	CHECK(same(add_up(nothing, 3), 0), "and so are zeros");
	CHECK(same(add_up(small, 4), 0x1p-63 + 0x1p-64), "below 2^-64 of 1: %a", add_up(small, 4));
	CHECK(same(add_up(huge, 3), DBL_MAX), "more than a double in between");
	CHECK(add_up(huge, 2) == HUGE_VAL, "more than a double in the end");
	CHECK(same(add_up(tiny, 4), DBL_MIN + 0x1p-1074), "%a", add_up(tiny, 4));
	CHECK(same(add_up(signs, 4), 0), "0 has no sign: %a", add_up(signs, 4));
	CHECK(same(add_up(cancelled, 3), 0), "what 1e300 hides is gone: %a", add_up(cancelled, 3));
	CHECK(add_up(infinite, 3) == HUGE_VAL, "%a", add_up(infinite, 3));
	CHECK(add_up(both, 1) == -HUGE_VAL, "%a", add_up(both, 1));
	CHECK(add_up(both, 3) == HUGE_VAL, "never NaN: %a", add_up(both, 3));

	nw_sum_clear(&sum);
	nw_sum_clear(&other);
	nw_sum_merge(&sum, &other);
	CHECK(same(nw_sum_value(&sum), 0), "nothing and nothing");
	nw_sum_add(&other, -HUGE_VAL);
	nw_sum_merge(&sum, &other);
	CHECK(nw_sum_value(&sum) == -HUGE_VAL, "%a", nw_sum_value(&sum));

	/* a million equal terms are a product */
	nw_sum_clear(&sum);
	for (int i = 0; i < 1 << 20; i++)
		nw_sum_add(&sum, -0.1);
	CHECK(same(nw_sum_value(&sum), -0.1 * (1 << 20)), "%a", nw_sum_value(&sum));
}

int
main(void)
{
	check_start("sum");
	check_order(-5, 5);
	check_order(-60, 60);
	check_order(-1070, 1000);
	check_order(-1074, -1000);
	check_digits();
	check_extremes();
	return check_finish();
}
