/*
 * math/kmeans_seed.c
 *		The centres that k-means begins with.
 *
 * Greedy k-means++: each centre is drawn with a chance in proportion to the
 * squared distance from those before it, several times over, and the
 * candidate that leaves the least inertia is taken.
 */
#include "math/kmeans_seed.h"

#include <math.h>
#include <string.h>

#include "math/elementary.h"

/* More than nw_kmeans_trials() gives for any int. */
#define MAX_TRIALS 32

/* Tell how many candidates are tried for a centre, as scikit-learn does. */
int
nw_kmeans_trials(int k)
{
	return 2 + (int) nw_log(k);
}

/* Draw a row with a chance in proportion to its weight. */
static int
draw_row(NwKmeansRun *run, double total)
{
	double target = nw_random_double(&run->random) * total;
	double sum = 0;
	int last = 0;

	for (int i = 0; i < run->n; i++)
	{
		sum += run->weight[i];
		if (run->weight[i] > 0)
			last = i;
		if (sum > target)
			return last;
	}
	/* rounding led beyond the last row that has a chance */
	return last;
}

/* Choose centres; once every row coincides with one, any row will do. */
void
nw_kmeans_choose_centres(NwKmeansRun *run)
{
	int n = run->n;
	int dim = run->dim;
	int chosen;
	double total = HUGE_VAL;

	for (int i = 0; i < n; i++)
		run->weight[i] = HUGE_VAL;

	for (int c = 0; c < run->k; c++)
	{
		/* the first is any row */
		int trials = c == 0 ? 1 : run->trials;
		int best = 0;
		double best_total = HUGE_VAL;
		double totals[MAX_TRIALS] = {0};

		for (int t = 0; t < trials; t++)
		{
			chosen = c == 0 ? (int) nw_random_below(&run->random, n) : draw_row(run, total);
			nw_kmeans_widen(run->row[chosen], dim, run->candidate + (size_t) t * dim);
		}

		for (int i0 = 0; i0 < n; i0 += NW_KMEANS_TILE)
		{
			int m = n - i0 < NW_KMEANS_TILE ? n - i0 : NW_KMEANS_TILE;

			nw_kmeans_measure_tile(run, run->candidate, trials, NULL, i0, m);
			for (int t = 0; t < trials; t++)
			{
				const double *measure = run->measure + (size_t) t * m;
				double *trial = run->trial + (size_t) t * n + i0;

				for (int i = 0; i < m; i++)
				{
					trial[i] = measure[i] < run->weight[i0 + i] ? measure[i] : run->weight[i0 + i];
					totals[t] += trial[i];
				}
			}
		}

		for (int t = 0; t < trials; t++)
		{
			if (totals[t] < best_total)
			{
				best_total = totals[t];
				best = t;
			}
		}
		total = best_total;
		memcpy(run->weight, run->trial + (size_t) best * n, sizeof(double) * n);
		memcpy(run->centre + (size_t) c * dim, run->candidate + (size_t) best * dim,
		       sizeof(double) * dim);
	}
}
