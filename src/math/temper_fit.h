/*
 * math/temper_fit.h
 *		Find how sharp probabilities should be, given the masses of classes.
 *
 * Pure C: no PostgreSQL, no allocation, no errors.
 */
#ifndef NW_MATH_TEMPER_FIT_H
#define NW_MATH_TEMPER_FIT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The loss of queries as a function of sharpness, which is 1 / temper.  It is convex.
 * Each round adds all queries at the sharpness at hand, and then steps to another.
 */
typedef struct NwTemperFit
{
	double sharpness;
	bool done;
	bool flawless; /* no query is wrong: the loss has no least value */
	double loss;   /* expected at the sharpness stepped to */

	/* where the answer is known to be */
	double low;
	double high;

	/* the round under way */
	double round_loss;
	double slope;
	double curvature;
	double limit;  /* of the loss, were it ever so sharp */
	int64_t wrong; /* queries with another class ahead of theirs */
} NwTemperFit;

extern void nw_temper_fit_init(NwTemperFit *fit, double sharpness, double low, double high);
extern void nw_temper_fit_add(NwTemperFit *fit, const double *ratio, int n, double truth);
extern void nw_temper_fit_step(NwTemperFit *fit);
extern double nw_tempered_total(const double *ratio, int n, double sharpness);

#endif /* NW_MATH_TEMPER_FIT_H */
