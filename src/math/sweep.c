/*
 * math/sweep.c
 *		How good predictions are at many temperatures at once.
 *
 * The masses of classes (math/class_mass.c) are combined by log-sum-exp, in the
 * order of the classes.  Queries come in any order: what is added up over them is
 * an NwSum or an integer.
 */
#include "math/sweep.h"

#include "math/class_mass.h"
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

	nw_class_largest(score, class_start, nclasses, largest);
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
		nw_class_log_masses(score, log_weight, class_start, nclasses, largest,
		                    1 / sweep->point[p].tau, scratch, mass);
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
