/*
 * math/class_mass.c
 *		The masses of classes at any temperature, out of one query's scores.
 *
 * At temperature tau a score is the score at temperature 1 divided by tau, so
 * one pass over the distances serves all temperatures.  Each class is summed
 * against its own largest score, in the order of its rows: a far class at a
 * small tau does not underflow.
 *
 * These sums are plain ones.  Their order is that of the rows, which the caller
 * fixes.
 */
#include "math/class_mass.h"

#include <math.h>
#include <stddef.h>

#include "math/elementary.h"
#include "math/simd/simd.h"

/*
 * Find the largest score of each class; NW_SCORE_NONE where it has no row.
 *
 * score [rows] are at temperature 1, NW_SCORE_NONE where a row is left out, rows
 * sorted by class; class_start [nclasses + 1] says where the rows of a class begin.
 */
void
nw_class_largest(const double *score, const int64_t *class_start, int nclasses, double *largest)
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

/*
 * The logarithms of the masses [nclasses] at one temperature, -HUGE_VAL where a
 * class has no row; largest is what nw_class_largest() found, log_weight [rows] may
 * be NULL, scratch is [rows] where it is not.
 */
void
nw_class_log_masses(const double *score, const double *log_weight, const int64_t *class_start,
                    int nclasses, const double *largest, double inverse_tau, double *scratch,
                    double *mass)
{
	for (int c = 0; c < nclasses; c++)
	{
		int64_t from = class_start[c];

		mass[c] = largest[c] == NW_SCORE_NONE
		              ? -HUGE_VAL
		              : log_mass(score + from, log_weight ? log_weight + from : NULL,
		                         class_start[c + 1] - from, largest[c], inverse_tau, scratch);
	}
}
