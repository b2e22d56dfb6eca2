/*
 * test_sample.c
 *		Samples: of the size asked for, each row as likely as any other.
 */
#include <math.h>

#include "check.h"
#include "math/sample.h"

#define ROWS 200

int
main(void)
{
	int drawn[ROWS] = {0};
	int rounds = 0;
	int least;
	int most;

	check_start("sample");
	for (int n = 0; n <= ROWS; n++)
	{
		for (int max = 1; max <= ROWS; max += 7)
		{
			NwSample sample;
			int chosen = 0;

			nw_sample_begin(&sample, n, max);
			for (int i = 0; i < n; i++)
				chosen += nw_sample_next(&sample);
			CHECK(chosen == (n < max ? n : max), "%d of %d: %d", max, n, chosen);
		}
	}

	/* the seed is fixed: others show that it could be any */
	for (int seed = 0; seed < 20000; seed++, rounds++)
	{
		NwSample sample;

		nw_sample_begin(&sample, ROWS, ROWS / 4);
		nw_random_seed(&sample.random, (uint64_t) seed);
		for (int i = 0; i < ROWS; i++)
			drawn[i] += nw_sample_next(&sample);
	}
	least = most = drawn[0];
	for (int i = 0; i < ROWS; i++)
	{
		least = drawn[i] < least ? drawn[i] : least;
		most = drawn[i] > most ? drawn[i] : most;
	}

	/* a quarter, within five standard deviations */
	CHECK(fabs(least - rounds / 4.0) < 5 * sqrt(rounds * 3.0 / 16), "least %d", least);
	CHECK(fabs(most - rounds / 4.0) < 5 * sqrt(rounds * 3.0 / 16), "most %d", most);
	return check_finish();
}
