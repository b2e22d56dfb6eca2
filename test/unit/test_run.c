/*
 * test_run.c
 *		Runs of terms: the bits of single ones; terms taken out; plain sums of
 *		exponentials.
 */
#include <math.h>
#include <string.h>

#include "check.h"
#include "math/mass.h"
#include "math/removable.h"
#include "math/simd/scalar.h"
#include "math/simd/simd.h"
#include "simd_names.h"

#define MOST 5000

static double score[MOST];
static double bin[MOST];
static uint64_t hi[MOST];
static uint64_t lo[MOST];

/* Compare sums as bytes. */
static bool
same(const NwMass *a, const NwMass *b)
{
	return memcmp(a, b, sizeof(NwMass)) == 0;
}

/* Draw scores and split them. */
static void
draw(int n, double low, double high)
{
	for (int i = 0; i < n; i++)
		score[i] = check_uniform(low, high);
	nw_simd->exp_split(score, n, bin, hi, lo);
}

/* Add runs of every length, alone and after other terms. */
static void
check_runs(double low, double high)
{
	for (int n = 0; n < MOST; n = n < 70 ? n + 1 : 2 * n + 1)
	{
		NwMass one;
		NwMass run;
		int cut = n / 3;

		draw(n, low, high);
		nw_mass_clear(&one);
		nw_mass_clear(&run);
		for (int i = 0; i < n; i++)
			nw_mass_add_split(&one, bin[i], hi[i], lo[i]);
		nw_mass_add_run(&run, n, bin, hi, lo);
		CHECK(same(&one, &run), "%s: %d terms", nw_simd->name, n);

		nw_mass_clear(&run);
		nw_mass_add_run(&run, cut, bin, hi, lo);
		nw_mass_add_run(&run, n - cut, bin + cut, hi + cut, lo + cut);
		CHECK(same(&one, &run), "%s: %d and %d terms", nw_simd->name, cut, n - cut);

		nw_mass_clear(&run);
		nw_mass_add_scores(&run, n, score);
		CHECK(same(&one, &run), "%s: %d scores", nw_simd->name, n);
		nw_mass_clear(&run);
		nw_mass_add_scores(&run, cut, score);
		nw_mass_add_scores(&run, n - cut, score + cut);
		CHECK(same(&one, &run), "%s: %d and %d scores", nw_simd->name, cut, n - cut);
	}
}

/* Add scores at the borders of powers and bins, and scores that are none. */
static void
check_borders(void)
{
	for (int power = -200; power <= 200; power++)
	{
		NwMass one;
		NwMass run;
		double border = power * M_LN2;
		int n = 0;

		for (int k = -20; k <= 20; k++)
		{
			double s = border;

			for (int i = 0; i < abs(k); i++)
				s = nextafter(s, k * HUGE_VAL);
			score[n++] = s;
			score[n++] = (power + 0.5) * M_LN2 + k * 1e-16;
		}
		nw_simd->exp_split(score, n, bin, hi, lo);
		nw_mass_clear(&one);
		nw_mass_clear(&run);
		for (int i = 0; i < n; i++)
			nw_mass_add_split(&one, bin[i], hi[i], lo[i]);
		score[n++] = -HUGE_VAL;
		nw_mass_add_scores(&run, n, score);
		CHECK(same(&one, &run), "%s: power %d", nw_simd->name, power);
	}
	for (int n = 0; n < 20; n++)
	{
		NwMass none;

		score[n] = -HUGE_VAL;
		nw_mass_clear(&none);
		nw_mass_add_scores(&none, n + 1, score);
		CHECK(nw_mass_is_empty(&none), "%s: %d", nw_simd->name, n);
	}
}

/* Add the largest terms there are: nothing may overflow. */
static void
check_overflow(void)
{
	NwMass one;
	NwMass run;

	for (int i = 0; i < MOST; i++)
	{
		bin[i] = 7;
		hi[i] = (UINT64_C(1) << 20) - 1;
		lo[i] = UINT64_MAX;
	}
	nw_mass_clear(&one);
	nw_mass_clear(&run);
	for (int i = 0; i < MOST; i++)
		nw_mass_add_split(&one, bin[i], hi[i], lo[i]);
	nw_mass_add_run(&run, MOST, bin, hi, lo);
	CHECK(same(&one, &run), "%s", nw_simd->name);

	/* the most that one call takes */
	{
		uint64_t low[3];
		uint64_t high[3];
		nw_uint128 sum;
		nw_uint128 expected = (((nw_uint128) hi[0] << 64) | lo[0]) * NW_BIN_SUM_MAX;

		nw_simd->bin_sum(7, NW_BIN_SUM_MAX, bin, hi, lo, low, high);
		sum = ((nw_uint128) high[0] << 32) + low[0];
		CHECK(sum == expected && low[1] == 0 && high[2] == 0, "%s", nw_simd->name);
	}
}

/* Find maxima. */
static void
check_max(void)
{
	static const double zeros[2] = {0.0, -0.0};
	double zero;

	CHECK(nw_simd->max(score, 0) == -HUGE_VAL, "of none");
	for (int n = 1; n < 100; n++)
	{
		double largest = -HUGE_VAL;

		draw(n, -3, check_below(2) == 0 ? -1 : 1);
		for (int i = 0; i < n; i++)
			largest = fmax(largest, score[i]);
		CHECK(nw_simd->max(score, n) == largest, "%s, %d", nw_simd->name, n);
	}
	zero = nw_simd->max(zeros, 2);
	CHECK(zero == 0 && !signbit(zero), "%s", nw_simd->name);
	zero = nw_simd->max(zeros + 1, 1);
	CHECK(zero == 0 && !signbit(zero), "%s", nw_simd->name);
}

/* Compare single exponentials and sums with long double. */
static void
check_exp_sum(void)
{
	double worst = 0;

	for (int i = 0; i < 20000; i++)
	{
		double s = i % 2 == 0 ? check_uniform(-700, 0) : check_uniform(-5, 1e-9);
		long double exact = expl((long double) s);
		double got = nw_simd->exp_sum(&s, 1, 1, 0);
		double plain = nw_simd_scalar.exp_sum(&s, 1, 1, 0);

		worst = fmax(worst, (double) fabsl((got - exact) / exact));
		CHECK(got == plain, "%s: exp(%a) is %a, not %a", nw_simd->name, s, got, plain);
	}
	CHECK(worst < 1e-14, "%s: relative error %g", nw_simd->name, worst);

	for (int n = 0; n < MOST; n = n < 40 ? n + 1 : 2 * n)
	{
		double factor = check_uniform(0.1, 10);
		double shift;
		double got;
		double plain;
		long double sum = 0;

		draw(n, -80, 10);
		if (n > 3)
			score[n / 2] = -1e9;
		shift = n == 0 ? 0 : nw_simd->max(score, n) * factor;
		got = nw_simd->exp_sum(score, n, factor, shift);
		plain = nw_simd_scalar.exp_sum(score, n, factor, shift);
		for (int i = 0; i < n; i++)
		{
			long double s = (long double) factor * score[i] - shift;

			if (s >= -700)
				sum += expl(s);
		}
		CHECK(memcmp(&got, &plain, sizeof(got)) == 0, "%s, %d: %a, not %a", nw_simd->name, n, got,
		      plain);
		CHECK(fabsl(got - sum) <= 1e-13L * sum, "%s, %d: %a, not %La", nw_simd->name, n, got, sum);
	}

	score[0] = -700.0000001;
	score[1] = -HUGE_VAL;
	score[2] = -1e300;
	score[3] = NAN;
	CHECK(nw_simd->exp_sum(score, 4, 1, 0) == 0, "%s", nw_simd->name);
	score[0] = 0;
	CHECK(nw_simd->exp_sum(score, 1, 1, 0) == 1, "%s", nw_simd->name);
}

/* Compare two numbers. */
static bool
equal(NwScaled a, NwScaled b)
{
	return a.fraction == b.fraction && a.exponent == b.exponent;
}

/* Take every term out of a sum, and compare with a sum that never had it. */
static void
check_without(int n, double low, double high, double largest)
{
	NwMass all;
	NwRemovable removable;
	NwRemovable parts[2];

	draw(n, low, high);
	if (n > 2)
		score[1] = score[2];
	if (n > 0)
		score[n / 2] = largest;
	nw_simd->exp_split(score, n, bin, hi, lo);

	nw_mass_clear(&all);
	nw_mass_add_run(&all, n, bin, hi, lo);
	nw_removable_clear(&removable);
	nw_removable_add_run(&removable, n, bin, hi, lo);
	{
		NwMass mass;

		nw_removable_mass(&removable, &mass);
		CHECK(same(&mass, &all), "%d terms from %g to %g", n, low, high);

		nw_removable_clear(&parts[0]);
		nw_removable_clear(&parts[1]);
		for (int i = 0; i < n; i++)
			nw_removable_add_run(&parts[check_below(2)], 1, bin + i, hi + i, lo + i);
		nw_removable_merge(&parts[0], &parts[1]);
		nw_removable_mass(&parts[0], &mass);
		CHECK(same(&mass, &all), "%d terms in two parts", n);
		CHECK(same(&parts[0].others, &removable.others), "%d terms", n);
	}

	for (int i = 0; i < n; i++)
	{
		NwMass others;
		NwScaled expected;
		NwScaled got;
		bool exact;

		nw_mass_clear(&others);
		nw_mass_add_run(&others, i, bin, hi, lo);
		nw_mass_add_run(&others, n - i - 1, bin + i + 1, hi + i + 1, lo + i + 1);
		expected = nw_mass_value(&others);

		got = nw_removable_without(&removable, bin[i], hi[i], lo[i]);
		CHECK(equal(got, expected), "removable, term %d of %d: %g 2^%g", i, n, got.fraction,
		      got.exponent);

		exact = nw_mass_without(&all, bin[i], hi[i], lo[i], &got);
		CHECK(!exact || equal(got, expected), "term %d of %d: %g 2^%g", i, n, got.fraction,
		      got.exponent);
		CHECK(exact || bin[i] == all.top, "term %d of %d", i, n);
		if (!exact && got.fraction != 0 && got.exponent >= NW_BIN_BITS * (all.top - 1))
			CHECK(fabs(nw_scaled_log_ratio(got, expected)) < n * 0x1p-32, "term %d of %d", i, n);
		CHECK(nw_scaled_compare(got, expected) <= 0, "term %d of %d", i, n);
	}
}

int
main(void)
{
	check_start("run");
	for (int k = 0; k < SIMD_COUNT; k++)
	{
		if (nw_simd_find(simd_names[k]) == NULL)
			continue;
		nw_simd = nw_simd_find(simd_names[k]);
		check_runs(-30, 0);
		check_runs(-150, 100);
		check_runs(-52, -42);
		check_runs(-1e6, 0);
		check_runs(-3.8e8, -3.7e8);
		check_runs(3.7e8, 3.8e8);
		/* bins beyond 2^53 are no longer one apart */
		check_runs(-1e18, 1e18);
		check_runs(-1.3e19, -1.2e19);
		check_runs(-1e300, 1e300);
		check_borders();
		check_overflow();
		check_max();
		check_exp_sum();
		for (int n = 0; n <= 300; n = 3 * n + 1)
		{
			check_without(n, -30, 0, 0);
			check_without(n, -30, 0, 22);
			check_without(n, -30, 0, 40);
			check_without(n, -30, 0, 100);
			check_without(n, -200, 0, 100);
			check_without(n, -1e5, 0, -1e6);
			check_without(n, -1e5, 0, 1e300);
		}
	}
	return check_finish();
}
