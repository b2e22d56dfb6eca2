/*
 * test_conformal.c
 *		Ranks, scores and limits of coverage, against whole numbers and sums in
 *		long double.
 */
#include <math.h>

#include "check.h"
#include "math/conformal.h"
#include "math/simd/simd.h"

#define CLASSES 7

/* Check ranks of decimal coverages, whose rank is a matter of whole numbers. */
static void
check_ranks(void)
{
	for (int64_t n = 0; n < 3000; n++)
	{
		for (int64_t c = 1; c <= 1000; c += n < 200 ? 1 : 7)
		{
			int64_t rank = ((n + 1) * c + 999) / 1000;

			CHECK(nw_conformal_rank(n, (double) c / 1000) == rank, "%ld of %ld", (long) c,
			      (long) n);
		}
	}
	for (int64_t n = 1; n < 100000000; n = 3 * n + 7)
	{
		for (int64_t c = 1; c < 100; c++)
			CHECK(nw_conformal_rank(n, (double) c / 100) == ((n + 1) * c + 99) / 100,
			      "%ld %% of %ld", (long) c, (long) n);
	}
	CHECK(nw_conformal_rank(9, 0.9) == 9 && nw_conformal_rank(8, 0.9) == 9 &&
	          nw_conformal_rank(19, 0.9) == 18 && nw_conformal_rank(99, 0.9) == 90 &&
	          nw_conformal_rank(99, 0.55) == 55 && nw_conformal_rank(9, 0.1 + 0.2) == 4,
	      "known ranks");
	CHECK(nw_conformal_rank(0, 0.5) == 1 && nw_conformal_rank(100, 1) == 101 &&
	          nw_conformal_rank(100, 1e-300) == 1,
	      "the ends");
}

/* Check scores over random masses. */
static void
check_scores(void)
{
	for (int round = 0; round < 500; round++)
	{
		NwMass mass[CLASSES];
		NwScaled value[CLASSES];
		int class[CLASSES];
		int order[CLASSES];
		int ranking[CLASSES];
		double score[CLASSES];
		long double sum[CLASSES];
		long double total = 0;
		NwVerdict verdict = {.class = class, .value = value};
		int n = 1 + check_below(CLASSES);
		double temper = round % 2 ? 1 : check_uniform(0.3, 3);

		for (int i = 0; i < n; i++)
		{
			double logarithm = check_uniform(-4, 4);

			nw_mass_clear(&mass[i]);
			nw_mass_add(&mass[i], logarithm);
			sum[i] = expl(logarithm / temper);
			total += sum[i];
			order[i] = ranking[i] = i;
		}
		for (int i = 1; i < n; i++)
		{
			for (int j = i; j > 0 && sum[ranking[j]] > sum[ranking[j - 1]]; j--)
			{
				int swap = ranking[j];

				ranking[j] = ranking[j - 1];
				ranking[j - 1] = swap;
			}
		}
		nw_verdict_close(&verdict, mass, order, n);
		nw_verdict_temper(&verdict, temper);
		nw_conformal_adaptive(&verdict, ranking, score);
		for (int i = 0; i < n; i++)
		{
			long double before = 0;

			for (int j = 0; j < n; j++)
				before += sum[j] >= sum[i] ? sum[j] : 0;
			CHECK(fabsl(score[i] - before / total) < 1e-12L && score[i] <= NW_WORST_SCORE,
			      "adaptive %g", score[i]);
			CHECK(fabsl(nw_conformal_score(&verdict, i) - (1 - sum[i] / total)) < 1e-12L,
			      "threshold %g", nw_conformal_score(&verdict, i));
		}
	}
}

/* The logarithm of a number of combinations. */
static long double
log_choose(int64_t n, int64_t k)
{
	return lgammal((long double) n + 1) - lgammal((long double) k + 1) -
	       lgammal((long double) (n - k) + 1);
}

/* Check the limits of m queries after n scores, of which a rank is taken. */
static void
check_limits(int64_t n, int64_t rank, int64_t m)
{
	long double all = log_choose(m + n, m);
	long double below = 0;
	long double above = 0;
	long double at_low = 0;
	long double at_high = 0;
	int64_t low;
	int64_t high;

	nw_coverage_limits(n, rank, m, &low, &high);
	for (int64_t j = 0; j <= m; j++)
	{
		/* j of m below the rank-th of n: arrangements of both */
		long double p =
			expl(log_choose(j + rank - 1, j) + log_choose(m - j + n - rank, m - j) - all);

		below += j < low ? p : 0;
		above += j > high ? p : 0;
		at_low += j == low ? p : 0;
		at_high += j == high ? p : 0;
	}
	CHECK(low >= 0 && high <= m && low <= high, "%ld of %ld: %ld to %ld", (long) rank, (long) n,
	      (long) low, (long) high);
	CHECK(below <= 0.005L + 1e-12L && above <= 0.005L + 1e-12L, "%ld of %ld, %ld: %Lg and %Lg",
	      (long) rank, (long) n, (long) m, below, above);
	CHECK(below + at_low >= 0.005L - 1e-12L && above + at_high >= 0.005L - 1e-12L,
	      "%ld of %ld, %ld: limits too wide", (long) rank, (long) n, (long) m);
}

int
main(void)
{
	check_start("conformal");
	nw_simd_init();
	check_ranks();
	check_scores();
	for (int64_t n = 1; n < 3000; n = 2 * n + 1)
	{
		for (int64_t m = 1; m < 4000; m = 3 * m + 2)
		{
			check_limits(n, 1, m);
			check_limits(n, n, m);
			check_limits(n, (n + 1) / 2, m);
			check_limits(n, nw_conformal_rank(n, 0.9) > n ? n : nw_conformal_rank(n, 0.9), m);
		}
	}
	return check_finish();
}
