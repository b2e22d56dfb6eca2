/*
 * math/temper_fit.c
 *		Find how sharp probabilities should be, given the masses of classes.
 *
 * With r the logarithms of the classes' masses in units of the largest, a class has
 * the probability exp(b r) / sum of exp(b r) at sharpness b = 1 / temper.  A query's
 * loss log(sum of exp(b r)) - b r[truth] is convex in b; its slope is the mean of r
 * under these probabilities less r[truth], and its curvature their variance.  So
 * Newton's steps within a bracket lead to the least loss.
 *
 * Where no query has another class ahead of its own, the loss falls for ever, and
 * the limit would be infinitely sure of its next mistake.  Then the least sharpness
 * is taken whose loss, over all queries, exceeds that limit by one coin toss, log 2:
 * about as much doubt as n successes in a row leave of the next.
 *
 * Queries are added in an order that the caller fixes.
 */
#include "math/temper_fit.h"

#include <math.h>

#include "math/elementary.h"
#include "math/simd/simd.h"

/* Terms below exp(-FORGOTTEN) of the largest do not show. */
#define FORGOTTEN 45.0

/* Classes this close to the largest count as its equals; so does rounding. */
#define TIED 1e-12

/* A step of this share of the sharpness is the last: the next would be its square. */
#define LAST_STEP 1e-6

#define LOG_2 0.69314718055994530942

/* Begin a search between two values of sharpness. */
void
nw_temper_fit_init(NwTemperFit *fit, double sharpness, double low, double high)
{
	*fit = (NwTemperFit) {.low = low, .high = high};
	fit->sharpness = fmin(fmax(sharpness, low), high);
}

/* Sum exp(sharpness * ratio[i]), i = 0 .. n - 1. */
double
nw_tempered_total(const double *ratio, int n, double sharpness)
{
	return nw_simd->exp_sum(ratio, n, sharpness, 0);
}

/*
 * Add a query: ratio [n] are the logarithms of the classes' masses in units of the
 * largest, that of the largest included, and truth that of its own class.
 */
void
nw_temper_fit_add(NwTemperFit *fit, const double *ratio, int n, double truth)
{
	double b = fit->sharpness;
	double total = 0;
	double first = 0;
	double second = 0;
	int tied = 0;

	for (int i = 0; i < n; i++)
	{
		double r = ratio[i];
		double p;

		tied += r >= -TIED;
		if (b * r < -FORGOTTEN)
			continue;
		p = nw_exp(b * r);
		total += p;
		first += p * r;
		second += p * r * r;
	}
	first /= total;
	second /= total;
	fit->round_loss += nw_log(total) - b * truth;
	fit->slope += first - truth;
	fit->curvature += fmax(second - first * first, 0);
	if (truth < -TIED)
		fit->wrong++;
	else if (tied > 1)
		fit->limit += nw_log(tied);
}

/* End a round: step to the next sharpness, and say whether it is the last. */
void
nw_temper_fit_step(NwTemperFit *fit)
{
	double b = fit->sharpness;
	double value = fit->slope;      /* is to become 0 */
	double change = fit->curvature; /* of that with sharpness */
	double next;

	fit->flawless = fit->wrong == 0;
	if (fit->flawless)
	{
		value = fit->limit + LOG_2 - fit->round_loss;
		change = -fit->slope;
	}
	if (value < 0)
		fit->low = b;
	else
		fit->high = b;

	/* far from the answer a straight line may lead anywhere */
	next = change > 0 ? b - value / change : (value < 0 ? HUGE_VAL : 0);
	next = fmin(fmax(next, b / 8), b * 8);
	if (!(next >= fit->low && next <= fit->high))
		next = sqrt(fit->low * fit->high);
	fit->done = fabs(next - b) <= LAST_STEP * b;
	fit->loss =
		fit->round_loss + (next - b) * fit->slope + (next - b) * (next - b) / 2 * fit->curvature;
	fit->sharpness = next;
	fit->round_loss = fit->slope = fit->curvature = fit->limit = 0;
	fit->wrong = 0;
}
