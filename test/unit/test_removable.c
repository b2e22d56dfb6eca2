/*
 * test_removable.c
 *		Influence in closed form: equal to taking the support away and
 *		predicting again, in long double.
 */
#include <float.h>
#include <math.h>

#include "check.h"
#include "math/mass.h"
#include "math/removable.h"
#include "math/simd/simd.h"

#define MOST 60
#define CLASSES 4

static double score[MOST];
static int label[MOST];
static double bin[MOST];
static uint64_t hi[MOST];
static uint64_t lo[MOST];

/* Sum exp(score) over a class, or all others, without one support. */
static long double
sum_of(int n, int class, bool others, int without)
{
	long double sum = 0;

	for (int i = 0; i < n; i++)
	{
		if (i != without && (label[i] == class) != others)
			sum += expl(score[i]);
	}
	return sum;
}

/* The cross-entropy of a truth without one support; -1 takes none away. */
static long double
loss_of(int n, int truth, int without)
{
	return log1pl(sum_of(n, truth, true, without) / sum_of(n, truth, false, without));
}

/* Compute the influence of a support from masses of classes. */
static double
influence_of(const NwRemovable *sums, int i, int truth)
{
	NwScaled masses[CLASSES];
	int count = 0;

	for (int c = 0; c < CLASSES; c++)
	{
		NwMass mass;

		if (c == label[i])
			continue;
		nw_removable_mass(&sums[c], &mass);
		masses[count++] = nw_mass_value(&mass);
	}
	return nw_influence_log(label[i] == truth, nw_scaled_exp(score[i]),
	                        nw_removable_without(&sums[label[i]], bin[i], hi[i], lo[i]),
	                        nw_scaled_sum(masses, count));
}

/* Compare all influences of one query, for every truth. */
static void
compare(int n, double spread, double lead)
{
	NwRemovable sums[CLASSES];

	for (int i = 0; i < n; i++)
	{
		score[i] = check_uniform(-spread, 0);
		label[i] = i < CLASSES ? i : check_below(CLASSES - 1);
	}
	score[check_below(n)] = lead;
	nw_simd->exp_split(score, n, bin, hi, lo);
	for (int c = 0; c < CLASSES; c++)
		nw_removable_clear(&sums[c]);
	for (int i = 0; i < n; i++)
		nw_removable_add_run(&sums[label[i]], 1, bin + i, hi + i, lo + i);

	for (int truth = 0; truth < CLASSES; truth++)
	{
		long double with = loss_of(n, truth, -1);

		for (int i = 0; i < n; i++)
		{
			double got = influence_of(sums, i, truth);
			long double expected;

			if (label[i] == truth && sum_of(n, truth, false, i) == 0)
			{
				CHECK(got == HUGE_VAL, "the only support: %g", got);
				continue;
			}
			expected = loss_of(n, truth, i) - with;
			CHECK(isfinite(got), "support %d of %d: %g", i, n, got);
			CHECK(fabsl(got - expected) <= 1e-12L * fabsl(expected) + 1e-17L * with + DBL_MIN,
			      "support %d of %d, spread %g, lead %g: %.17g, not %.17Lg", i, n, spread, lead,
			      got, expected);
			CHECK(label[i] == truth ? got >= 0 : got <= 0, "%g", got);
		}
	}
}

/* Check values far outside of double's range, and the edges. */
static void
check_edges(void)
{
	NwScaled none = {0, 0};
	NwScaled one = {1, 0};
	NwScaled huge = {1, 1e15};
	NwScaled tiny = {1, -1e15};
	double influence;

	CHECK(nw_influence_log(true, one, none, one) == HUGE_VAL, "own, only");
	CHECK(nw_influence_log(true, one, none, none) == HUGE_VAL, "all alone");
	CHECK(nw_influence_log(false, one, none, none) == -HUGE_VAL, "none left");
	CHECK(nw_influence_log(true, one, one, none) == 0, "one class");
	CHECK(nw_influence_log(true, none, one, one) == 0, "no weight");
	influence = nw_influence_log(false, none, one, one);
	CHECK(influence == 0 && !signbit(influence), "no weight");

	/* log(1 + 1 * 1 / (1 * 3)), -log(1 + 1 / 2) */
	CHECK(fabs(nw_influence_log(true, one, one, one) - log(4.0 / 3)) < 1e-16, "own");
	CHECK(fabs(nw_influence_log(false, one, one, one) + log(1.5)) < 1e-16, "another's");

	/* a support that carries everything: the loss without it is huge */
	influence = nw_influence_log(false, huge, one, one);
	CHECK(fabs(influence / (-1e15 * M_LN2) - 1) < 1e-15, "%g", influence);
	influence = nw_influence_log(true, huge, tiny, one);
	CHECK(fabs(influence / (1e15 * M_LN2) - 1) < 1e-15, "%g", influence);
	influence = nw_influence_log(true, one, tiny, huge);
	CHECK(fabs(influence / (1e15 * M_LN2) - 1) < 1e-15, "%g", influence);
	CHECK(nw_influence_log(true, tiny, huge, one) == 0, "nothing");
	CHECK(nw_influence_log(false, tiny, huge, one) == 0, "nothing");
}

/* The probability of class 0 in a mixture of two sets, the first without one of its supports. */
static long double
mixed_truth(const long double *share, const long double *left, const long double *other)
{
	long double of_first = left[0] + left[1];
	long double truth = share[1] * other[0] / (other[0] + other[1]);

	if (of_first == 0)
		return other[0] / (other[0] + other[1]);
	return (share[0] * left[0] / of_first + truth) / (share[0] + share[1]);
}

/* A number of one of several sizes, 0 among them where asked for. */
static long double
draw(bool zero)
{
	if (zero && check_below(4) == 0)
		return 0;
	return ldexpl(1 + check_below(1000) / 1000.0L, check_below(60) - 30);
}

static NwScaled
scaled(long double value)
{
	return value == 0 ? (NwScaled) {0, 0} : nw_scaled_of((double) value);
}

/* Influence in a mixture, against the probabilities with and without the support. */
static void
check_mixed(bool own)
{
	long double share[2] = {draw(false), draw(false)};
	long double term = draw(false);
	long double rest = draw(true);
	long double others = own ? draw(true) : draw(false);
	long double truth = own ? 0 : check_below(2) * others;
	long double other[2] = {draw(!own && truth == 0 ? false : true), draw(false)};
	long double before[2];
	long double after[2];
	long double sum = other[0] + other[1];
	long double expected;
	NwInMixture in = {scaled(share[0]), scaled(share[1] * other[0] / sum),
	                  scaled(share[1] * other[1] / sum)};
	double influence;

	/* masses of the truth, and of all else, in the first set */
	before[0] = own ? rest + term : truth;
	before[1] = own ? others : rest + term + (others - truth);
	after[0] = own ? rest : truth;
	after[1] = own ? others : rest + (others - truth);
	if (before[0] + other[0] == 0)
		return;
	expected = logl(mixed_truth(share, before, other)) - logl(mixed_truth(share, after, other));
	influence =
		nw_influence_mixed(own, scaled(term), scaled(rest), scaled(others), scaled(truth), &in);
	if (isinf(expected))
		CHECK(influence == HUGE_VAL, "%g", influence);
	else
		CHECK(fabsl(influence - expected) <= 1e-13L * fmaxl(1, fabsl(expected)), "%g, not %Lg",
		      influence, expected);
}

/* Influence in a mixture of one member is that of the member. */
static void
check_alone(void)
{
	NwInMixture in = {.share = {1, 0}};
	NwScaled term = scaled(draw(false));
	NwScaled rest = scaled(draw(true));
	NwScaled others = scaled(draw(false));
	double expected = nw_influence_log(true, term, rest, others);
	double influence = nw_influence_mixed(true, term, rest, others, scaled(0), &in);

	CHECK(influence == expected || fabs(influence - expected) <= 1e-14 * fabs(expected),
	      "%g, not %g", influence, expected);
	expected = nw_influence_log(false, term, rest, others);
	influence = nw_influence_mixed(false, term, rest, others, others, &in);
	CHECK(fabs(influence - expected) <= 1e-14 * fabs(expected), "%g, not %g", influence, expected);
	CHECK(nw_influence_mixed(false, term, scaled(0), scaled(0), scaled(0), &in) == -HUGE_VAL,
	      "none left");
}

int
main(void)
{
	check_start("removable");
	nw_simd_init();
	for (int round = 0; round < 100; round++)
	{
		compare(CLASSES + check_below(MOST - CLASSES), 1, 0);
		compare(CLASSES + check_below(MOST - CLASSES), 20, 0);
		compare(CLASSES + check_below(MOST - CLASSES), 20, 30);
		compare(CLASSES + check_below(MOST - CLASSES), 500, 0);
		compare(CLASSES + check_below(MOST - CLASSES), 20, 200);
		compare(CLASSES + check_below(MOST - CLASSES), 3000, 2000);
	}
	check_edges();
	for (int round = 0; round < 2000; round++)
	{
		check_mixed(true);
		check_mixed(false);
		check_alone();
	}
	return check_finish();
}
