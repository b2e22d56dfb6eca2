/*
 * math/sweep.c
 *		How good predictions are at many temperatures at once.
 *
 * At temperature tau a score is the score at temperature 1 divided by tau, so
 * one pass over the distances serves all temperatures.  Each class is summed
 * against its own largest score, in the order of its rows, and the classes
 * are combined by log-sum-exp: a far class at a small tau does not underflow.
 *
 * These sums are plain ones.  Their order is that of the rows, which the caller
 * fixes, and that of the classes.  Queries come in any order: what is added up
 * over them is an NwSum or an integer.
 */
#include "math/sweep.h"

#include <math.h>

#include "math/elementary.h"
#include "math/simd/simd.h"

/* Make a point without queries; bins may be NULL. */
void
nw_sweep_point_init(NwSweepPoint *point, double tau, NwBins *bins)
{
	point->tau = tau;
	nw_sum_clear(&point->loss);
	point->wrong = 0;
	point->bins = bins;
}

/* Find the largest score of each class; NW_SCORE_NONE where it has no row. */
static void
find_largest(const double *score, const int64_t *class_start, int nclasses, double *largest)
{
	for (int c = 0; c < nclasses; c++)
	{
		int64_t from = class_start[c];
		double max = nw_simd->max(score + from, (int) (class_start[c + 1] - from));

		largest[c] = max > NW_SCORE_NONE ? max : NW_SCORE_NONE;
	}
}

/* The logarithm of the mass of a class at one temperature. */
static double
log_mass(const double *score, const double *log_weight, int64_t n, double largest,
         double inverse_tau, double *scratch)
{
	double shift = largest * inverse_tau;

	if (log_weight)
	{
		for (int64_t i = 0; i < n; i++)
			scratch[i] = score[i] * inverse_tau + log_weight[i];
		shift = nw_simd->max(scratch, (int) n);
		score = scratch;
		inverse_tau = 1;
	}
	return shift + nw_log(nw_simd->exp_sum(score, (int) n, inverse_tau, shift));
}

/* Add one query at one temperature, from the logarithms of the masses. */
static void
add_point(NwSweepPoint *point, const double *mass, int nclasses, int truth)
{
	double sum;
	int best = 0;

	for (int c = 1; c < nclasses; c++)
	{
		if (mass[c] > mass[best])
			best = c;
	}
	sum = nw_simd->exp_sum(mass, nclasses, 1, mass[best]);
	if (best != truth)
		point->wrong++;
	if (truth >= 0)
		nw_sum_add(&point->loss, nw_log(sum) + (mass[best] - mass[truth]));
	if (point->bins)
		nw_bins_add(point->bins, 1 / sum, best == truth);
}

/*
 * Add one query at all temperatures.
 *
 * score [rows] are its scores at temperature 1, NW_SCORE_NONE where a row is
 * left out, rows sorted by class; log_weight [rows] may be NULL.  The order of
 * a class's rows shows in the last digits, so it must follow from the rows.
 * class_start [nclasses + 1] says where the rows of a class begin; truth is
 * the query's class, or -1 where it has no support.  scratch is [rows], work
 * [2 * nclasses].
 */
void
nw_sweep_add(NwSweep *sweep, const double *score, const double *log_weight,
             const int64_t *class_start, int nclasses, int truth, double *scratch, double *work)
{
	double *largest = work;
	double *mass = work + nclasses;

	find_largest(score, class_start, nclasses, largest);
	if (truth >= 0 && largest[truth] == NW_SCORE_NONE)
		truth = -1;
	sweep->queries++;
	if (truth < 0)
		sweep->unseen++;

	/* where no row is left there is no prediction, right or wrong */
	if (nw_simd->max(largest, nclasses) <= NW_SCORE_NONE)
		return;

	for (int p = 0; p < sweep->n; p++)
	{
		if (sweep->interrupt)
			sweep->interrupt();
		for (int c = 0; c < nclasses; c++)
		{
			int64_t from = class_start[c];

			mass[c] = largest[c] == NW_SCORE_NONE
			              ? -HUGE_VAL
			              : log_mass(score + from, log_weight ? log_weight + from : NULL,
			                         class_start[c + 1] - from, largest[c], 1 / sweep->point[p].tau,
			                         scratch);
		}
		add_point(&sweep->point[p], mass, nclasses, truth);
	}
}

/* Loss at a point, over the queries whose class has support. */
double
nw_sweep_loss(const NwSweep *sweep, int i)
{
	return nw_sum_value(&sweep->point[i].loss);
}

/* The mean of that loss; 0 where there are no such queries. */
double
nw_sweep_nll(const NwSweep *sweep, int i)
{
	int64_t seen = sweep->queries - sweep->unseen;

	return seen > 0 ? nw_sweep_loss(sweep, i) / (double) seen : 0;
}

/* The point of the smallest mean loss; the first of equals. */
int
nw_sweep_best(const NwSweep *sweep)
{
	int best = 0;

	for (int i = 1; i < sweep->n; i++)
	{
		if (nw_sweep_loss(sweep, i) < nw_sweep_loss(sweep, best))
			best = i;
	}
	return best;
}

/*
 * Where a parabola through three points of the loss, over the logarithm of
 * tau, has its minimum; the middle tau where it has none between the outer
 * two.
 */
double
nw_sweep_vertex(const double *tau, const double *nll)
{
	double left = nw_log(tau[0]) - nw_log(tau[1]);
	double right = nw_log(tau[2]) - nw_log(tau[1]);
	double fall = nll[0] - nll[1];
	double rise = nll[2] - nll[1];
	double denominator = 2 * (right * fall - left * rise);
	double step;

	if (!(denominator > 0))
		return tau[1];
	step = (right * right * fall - left * left * rise) / denominator;
	if (!(step > left && step < right))
		return tau[1];
	return tau[1] * nw_exp(step);
}
