/*
 * test_verdict.c
 *		Who wins and how probable each class is, against sums in long double.
 */
#include <math.h>

#include "check.h"
#include "math/simd/simd.h"
#include "math/verdict.h"

#define CLASSES 12

/* Check the probabilities of a verdict at some tempers. */
static void
check_tempered(NwVerdict *verdict, const long double *sum)
{
	static const double tempers[] = {0.001, 0.1, 0.7, 1.5, 1000, 1};
	int winner = nw_verdict_winner(verdict);

	for (int t = 0; verdict->n > 0 && t < 6; t++)
	{
		long double total = 0;

		nw_verdict_temper(verdict, tempers[t]);
		CHECK(nw_verdict_winner(verdict) == winner, "temper %g: another winner", tempers[t]);
		for (int i = 0; i < verdict->n; i++)
			total += powl(sum[verdict->class[i]] / sum[verdict->class[winner]], 1 / tempers[t]);
		for (int i = 0; i < verdict->n; i++)
		{
			long double power =
				powl(sum[verdict->class[i]] / sum[verdict->class[winner]], 1 / tempers[t]);
			double probability = nw_verdict_probability(verdict, i);
			double log_probability = nw_verdict_log_probability(verdict, i);

			CHECK(fabsl(probability - power / total) < 2e-12L, "temper %g: probability %g",
			      tempers[t], probability);
			CHECK(fabsl(log_probability - (logl(power) - logl(total))) <=
			          1e-11L * (1 - logl(power)),
			      "temper %g: logarithm %g", tempers[t], log_probability);
			if (tempers[t] == 1)
				CHECK(probability == nw_verdict_share(verdict, i), "a share");
		}
	}
	CHECK(!nw_temper_is_valid(0) && !nw_temper_is_valid(NAN) && !nw_temper_is_valid(HUGE_VAL) &&
	          nw_temper_is_valid(1),
	      "valid tempers");
}

/* Check verdicts over random masses, in a random order of classes. */
static void
check_verdicts(void)
{
	for (int round = 0; round < 2000; round++)
	{
		NwMass mass[CLASSES];
		long double sum[CLASSES] = {0};
		long double total = 0;
		int order[CLASSES];
		int class[CLASSES];
		NwScaled value[CLASSES];
		NwVerdict verdict = {.class = class, .value = value};
		int n = 1 + check_below(CLASSES);
		int place = 0;
		int winner;

		for (int i = 0; i < n; i++)
		{
			int j = check_below(i + 1);

			nw_mass_clear(&mass[i]);
			order[i] = order[j];
			order[j] = i;
			if (i > 0 && check_below(4) == 0)
			{
				/* as heavy as another one */
				j = check_below(i);
				mass[i] = mass[j];
				sum[i] = sum[j];
			}
			else
			{
				for (int k = check_below(4); k > 0; k--)
				{
					double score = check_uniform(-3, 3);

					nw_mass_add(&mass[i], score);
					sum[i] += expl(score);
				}
			}
			total += sum[i];
		}

		CHECK(nw_verdict_close(&verdict, mass, order, n) == (total > 0), "round %d", round);
		winner = nw_verdict_winner(&verdict);
		CHECK((winner >= 0) == (total > 0), "round %d", round);
		for (int i = 0; i < n; i++)
		{
			int at = nw_verdict_find(&verdict, order[i]);

			if (sum[order[i]] == 0)
			{
				CHECK(at < 0, "a class without mass");
				continue;
			}
			CHECK(at == place, "place %d, not %d", place, at);
			CHECK(fabsl(nw_verdict_probability(&verdict, at) - sum[order[i]] / total) < 1e-14L,
			      "probability %g", nw_verdict_probability(&verdict, at));
			CHECK(sum[class[winner]] >= sum[order[i]] * (1 - 1e-15L), "another one is heavier");
			if (sum[order[i]] == sum[class[winner]])
				CHECK(winner <= place, "the first of equals");
			if (place != winner)
				CHECK(nw_verdict_rank(&verdict, winner, place) < 0, "the winner comes first");
			place++;
		}
		CHECK(verdict.n == place, "%d classes, not %d", place, verdict.n);
		check_tempered(&verdict, sum);

		/* without the winner, the best of the others wins */
		if (verdict.n > 1)
		{
			int rival = nw_verdict_rival(&verdict, winner);

			CHECK(rival >= 0 && rival != winner, "a rival");
			for (int i = 0; i < verdict.n; i++)
			{
				if (i != winner && i != rival)
					CHECK(nw_verdict_rank(&verdict, rival, i) < 0, "before all others");
			}
		}
		else if (verdict.n == 1)
			CHECK(nw_verdict_rival(&verdict, 0) < 0, "no rival");
	}
	CHECK(nw_verdict_find(&(NwVerdict) {.n = 0}, -1) < 0, "no class");
}

int
main(void)
{
	nw_simd_init();
	check_start("verdict");
	check_verdicts();
	return check_finish();
}
