/*
 * math/kmeans.c
 *		k-means of the rows of one class.
 *
 * Lloyd's iterations with Elkan's bounds.  A row has an upper bound of the
 * distance to its own centre and a lower bound of that to every other; a
 * centre that moves by m changes the bounds by m.  Only rows whose bounds
 * cross are measured again, against all centres and a tile of rows at a time,
 * which costs less than picking single distances out.
 *
 * Rounding may put a bound wrong by some 1e-16 of itself, so that a row on the
 * very border of two clusters stays where it is.  It does so on every machine:
 * all operations are the same everywhere, and in the same order.
 */
#include "math/kmeans.h"

#include <math.h>
#include <string.h>

#include "math/kmeans_run.h"
#include "math/kmeans_seed.h"
#include "math/simd/simd.h"

/* Bytes of work space: about 8 * (n * (k + 7) + dim * (2 * k + 40) + k * k). */
size_t
nw_kmeans_memory(const NwKmeans *task)
{
	NwKmeansRun run;

	return nw_kmeans_lay_out(&run, task, nw_kmeans_trials(task->k), NULL);
}

/* Add a row to the sum of its cluster, or take it away. */
static void
count_row(NwKmeansRun *run, int i, int c, int sign)
{
	const float *x = run->row[i];
	double *sum = run->sum + (size_t) c * run->dim;

	run->count[c] += sign;
	for (int j = 0; j < run->dim; j++)
		sum[j] += sign * (double) x[j];
}

/* Take the nearest centre of measured rows; the row's own wins a tie. */
static int
assign_tile(NwKmeansRun *run, const int *todo, int first, int m)
{
	int n_changed = 0;

	for (int i = 0; i < m; i++)
	{
		int row = todo == NULL ? first + i : todo[i];
		int old = run->cluster[row];
		int own = old;
		double *lower = run->lower + (size_t) row * run->k;
		double least;

		if (own < 0)
			own = 0;
		least = run->measure[(size_t) own * m + i];
		for (int c = 0; c < run->k; c++)
		{
			double measure = run->measure[(size_t) c * m + i];

			if (measure < least)
			{
				least = measure;
				own = c;
			}
			lower[c] = sqrt(measure);
		}
		run->upper[row] = lower[own];
		if (own != old)
		{
			n_changed++;
			if (old >= 0)
				count_row(run, row, old, -1);
			count_row(run, row, own, 1);
			run->cluster[row] = own;
		}
	}
	return n_changed;
}

/* Compute how far centres are apart, halved. */
static void
compare_centres(NwKmeansRun *run)
{
	int k = run->k;
	int dim = run->dim;

	for (int c = 0; c < k; c++)
		run->nearest[c] = HUGE_VAL;
	for (int c = 0; c < k; c++)
	{
		for (int d = c + 1; d < k; d++)
		{
			const double *x = run->centre + (size_t) c * dim;
			const double *y = run->centre + (size_t) d * dim;
			double lane[8] = {0};
			double half;
			int j = 0;

			for (; j + 8 <= dim; j += 8)
			{
				for (int l = 0; l < 8; l++)
					lane[l] += (x[j + l] - y[j + l]) * (x[j + l] - y[j + l]);
			}
			for (; j < dim; j++)
				lane[0] += (x[j] - y[j]) * (x[j] - y[j]);
			half = 0.5 * sqrt(((lane[0] + lane[4]) + (lane[2] + lane[6])) +
			                  ((lane[1] + lane[5]) + (lane[3] + lane[7])));
			run->apart[(size_t) c * k + d] = half;
			run->apart[(size_t) d * k + c] = half;
			run->nearest[c] = fmin(run->nearest[c], half);
			run->nearest[d] = fmin(run->nearest[d], half);
		}
	}
}

/* Tell whether a row may be nearer to another centre than to its own. */
static bool
is_doubtful(const NwKmeansRun *run, int row)
{
	int own = run->cluster[row];
	double upper = run->upper[row];
	const double *lower = run->lower + (size_t) row * run->k;
	const double *apart = run->apart + (size_t) own * run->k;

	if (upper <= run->nearest[own])
		return false;
	for (int c = 0; c < run->k; c++)
	{
		if (upper > lower[c] && upper > apart[c] && c != own)
			return true;
	}
	return false;
}

/* Give every row to its nearest centre; returns how many changed. */
static int
assign_rows(NwKmeansRun *run, bool all)
{
	int n_changed = 0;
	int m = 0;

	if (all)
	{
		for (int i = 0; i < run->n; i += m)
		{
			m = run->n - i < NW_KMEANS_TILE ? run->n - i : NW_KMEANS_TILE;
			nw_kmeans_measure_tile(run, run->centre, run->k, NULL, i, m);
			n_changed += assign_tile(run, NULL, i, m);
		}
		return n_changed;
	}

	compare_centres(run);
	for (int i = 0; i < run->n; i++)
	{
		if (is_doubtful(run, i))
			run->todo[m++] = i;
		if (m == NW_KMEANS_TILE || (i == run->n - 1 && m > 0))
		{
			nw_kmeans_measure_tile(run, run->centre, run->k, run->todo, 0, m);
			n_changed += assign_tile(run, run->todo, 0, m);
			m = 0;
		}
	}
	nw_kmeans_allow_interrupt(run, run->n / 16);
	return n_changed;
}

/* Measure every row against its own centre. */
static double
measure_own(NwKmeansRun *run, double *out)
{
	double inertia = 0;

	for (int i = 0; i < run->n; i++)
	{
		nw_simd->sqdist(run->centre + (size_t) run->cluster[i] * run->dim, run->row[i], run->dim, 1,
		                &out[i]);
		inertia += out[i];
		nw_kmeans_allow_interrupt(run, 1);
	}
	return inertia;
}

/*
 * Give each cluster without members the row farthest from its own centre.
 *
 * Returns how many rows changed.  Where all rows of clusters with more than
 * one member coincide with their centres, the cluster stays empty.
 */
static int
fill_empty(NwKmeansRun *run)
{
	int n_changed = 0;
	bool measured = false;

	for (int c = 0; c < run->k; c++)
	{
		int farthest = -1;

		if (run->count[c] > 0)
			continue;
		if (!measured)
			(void) measure_own(run, run->weight);
		measured = true;
		for (int i = 0; i < run->n; i++)
		{
			if (run->count[run->cluster[i]] > 1 && run->weight[i] > 0 &&
			    (farthest < 0 || run->weight[i] > run->weight[farthest]))
				farthest = i;
		}
		if (farthest < 0)
			break;

		count_row(run, farthest, run->cluster[farthest], -1);
		count_row(run, farthest, c, 1);
		run->cluster[farthest] = c;
		run->weight[farthest] = 0;

		/* the bounds are of another centre */
		run->upper[farthest] = HUGE_VAL;
		memset(run->lower + (size_t) farthest * run->k, 0, sizeof(double) * run->k);
		n_changed++;
	}
	return n_changed;
}

/* Scale a vector to length 1; zero stays zero. */
static void
normalise(double *x, int dim)
{
	double sum = 0;

	for (int j = 0; j < dim; j++)
		sum += x[j] * x[j];
	if (sum > 0)
	{
		double scale = 1.0 / sqrt(sum);

		for (int j = 0; j < dim; j++)
			x[j] *= scale;
	}
}

/* Move centres to the means of their members, and the bounds with them. */
static void
move_centres(NwKmeansRun *run)
{
	int k = run->k;
	int dim = run->dim;

	for (int c = 0; c < k; c++)
	{
		double *centre = run->centre + (size_t) c * dim;
		double *sum = run->sum + (size_t) c * dim;
		double *next = run->candidate;
		double moved = 0;

		run->moved[c] = 0;
		if (run->count[c] == 0)
			continue;
		for (int j = 0; j < dim; j++)
			next[j] = sum[j] / run->count[c];
		if (run->task->spherical)
			normalise(next, dim);
		for (int j = 0; j < dim; j++)
		{
			moved += (next[j] - centre[j]) * (next[j] - centre[j]);
			centre[j] = next[j];
		}
		run->moved[c] = sqrt(moved);
	}

	for (int i = 0; i < run->n; i++)
	{
		double *lower = run->lower + (size_t) i * k;

		run->upper[i] += run->moved[run->cluster[i]];
		for (int c = 0; c < k; c++)
			lower[c] -= run->moved[c];
	}
}

/*
 * Set centres to the means of their members, with twice double's digits: the
 * sums kept so far have had rows added and taken away, each with an error.
 */
static void
settle_centres(NwKmeansRun *run)
{
	int dim = run->dim;
	double *error = run->candidate; /* of the sums of one cluster */

	memset(run->sum, 0, sizeof(double) * run->k * dim);
	memset(run->count, 0, sizeof(int) * run->k);
	for (int c = 0; c < run->k; c++)
	{
		double *sum = run->sum + (size_t) c * dim;
		double *centre = run->centre + (size_t) c * dim;

		memset(error, 0, sizeof(double) * dim);
		for (int i = 0; i < run->n; i++)
		{
			const float *x = run->row[i];

			if (run->cluster[i] != c)
				continue;
			run->count[c]++;
			for (int j = 0; j < dim; j++)
			{
				/* what rounding takes from a sum is itself a double */
				double a = sum[j];
				double b = x[j];
				double s = a + b;
				double t = s - a;

				error[j] += (a - (s - t)) + (b - t);
				sum[j] = s;
			}
		}

		if (run->count[c] == 0)
			nw_kmeans_widen(run->row[0], dim, centre);
		else
		{
			for (int j = 0; j < dim; j++)
				centre[j] = (sum[j] + error[j]) / run->count[c];
			if (run->task->spherical)
				normalise(centre, dim);
		}
		nw_kmeans_allow_interrupt(run, run->n / run->k + 1);
	}
}

/* Iterate from chosen centres until nothing changes; returns the inertia. */
static double
iterate(NwKmeansRun *run)
{
	memset(run->sum, 0, sizeof(double) * run->k * run->dim);
	memset(run->count, 0, sizeof(int) * run->k);
	for (int i = 0; i < run->n; i++)
		run->cluster[i] = -1;

	for (int round = 0; round < run->task->max_iterations || round == 0; round++)
	{
		int n_changed = assign_rows(run, round == 0);

		n_changed += fill_empty(run);
		if (n_changed == 0)
			break;
		move_centres(run);
	}
	return measure_own(run, run->weight);
}

/* Let every row be a cluster. */
static void
copy_rows(const NwKmeans *task, const float *const *row, float *centroid, int *assignment,
          int *members)
{
	for (int c = 0; c < task->k; c++)
	{
		/* clusters without a row of their own coincide with the last one */
		int i = c < task->n ? c : task->n - 1;

		memcpy(centroid + (size_t) c * task->dim, row[i], sizeof(float) * task->dim);
		members[c] = c < task->n;
		if (c < task->n)
			assignment[c] = c;
	}
}

/*
 * Cluster rows row[i] [dim] into centroid [k][dim], assignment [n] and the
 * number of members [k].  Returns the inertia: the sum of squared distances
 * of the rows to their centroids, before these are rounded to float.
 *
 * Where n <= k, row i is cluster i; clusters n .. k - 1 have no members.
 * Where k = 1, the centroid is the mean, added up with twice double's digits.
 * work is aligned as malloc() aligns.
 */
double
nw_kmeans(const NwKmeans *task, const float *const *row, void *work, float *centroid,
          int *assignment, int *members)
{
	NwKmeansRun run;
	double best = HUGE_VAL;

	/* one row is the mean of one all the same */
	if (task->n <= task->k)
	{
		copy_rows(task, row, centroid, assignment, members);
		return 0;
	}

	(void) nw_kmeans_lay_out(&run, task, nw_kmeans_trials(task->k), work);
	run.row = row;

	/* assignment keeps the best so far */
	memset(assignment, 0, sizeof(int) * task->n);
	for (int restart = 0; restart < task->restarts && task->k > 1; restart++)
	{
		double inertia;

		nw_random_seed(&run.random, nw_random_derive(task->seed, restart));
		nw_kmeans_choose_centres(&run);
		inertia = iterate(&run);
		/* the first of equals stays */
		if (inertia < best)
		{
			best = inertia;
			memcpy(assignment, run.cluster, sizeof(int) * task->n);
		}
	}

	memcpy(run.cluster, assignment, sizeof(int) * task->n);
	settle_centres(&run);
	memcpy(members, run.count, sizeof(int) * task->k);
	for (size_t j = 0; j < (size_t) task->k * task->dim; j++)
		centroid[j] = (float) run.centre[j];
	return measure_own(&run, run.weight);
}
