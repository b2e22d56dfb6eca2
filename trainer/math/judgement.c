/*
 * math/judgement.c: how good predictions are.
 */
#include <math.h>

#include "math/judgement.h"

/* Find the bin of a confidence: number i holds those in (i / n, (i + 1) / n], the first 0 too. */
static int
find_bin(double confidence)
{
	const double n = NW_CALIBRATION_BINS;
	int i = (int) (confidence * n);

	if (!(confidence > 0))
		return 0;
	if (i > NW_CALIBRATION_BINS - 1)
		i = NW_CALIBRATION_BINS - 1;
	while (i > 0 && confidence <= i / n) /* the product is rounded, as the borders are */
		i--;
	while (i < NW_CALIBRATION_BINS - 1 && confidence > (i + 1) / n)
		i++;
	return i;
}

/* Add a prediction: the first of the most probable classes is its label. */
void
nw_judgement_add(NwJudgement *j, const double *log_p, int classes, int truth)
{
	int best = 0;
	int bin;

	for (int c = 1; c < classes; c++)
		if (log_p[c] > log_p[best])
			best = c;
	bin = find_bin(exp(log_p[best]));
	j->n++;
	j->wrong += best != truth;
	j->loss -= log_p[truth];
	j->right[bin] += best == truth;
	j->confidence[bin] += exp(log_p[best]);
}

NwFigures
nw_judgement_figures(const NwJudgement *j)
{
	double n = (double) j->n;
	double gap = 0;

	for (int i = 0; i < NW_CALIBRATION_BINS; i++)
		gap += fabs((double) j->right[i] - j->confidence[i]);
	return (NwFigures) {(double) j->wrong / n, gap / n, j->loss / n};
}
