/*
 * math/sweep.h
 *		How good predictions are at many temperatures at once.
 *
 * Pure C: no PostgreSQL, no allocation, no errors.
 */
#ifndef NW_MATH_SWEEP_H
#define NW_MATH_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "math/calibration_bins.h"
#include "math/sum.h"

/* Predictions at one temperature, added up. */
typedef struct NwSweepPoint
{
	double tau;
	NwSum loss; /* over queries whose class has support */
	int64_t wrong;
	NwBins *bins; /* NULL where calibration is not asked for */
} NwSweepPoint;

extern void nw_sweep_point_init(NwSweepPoint *point, double tau, NwBins *bins);

typedef struct NwSweep
{
	int n;
	NwSweepPoint *point; /* [n] */
	int64_t queries;
	int64_t unseen;          /* queries whose class has no support */
	void (*interrupt)(void); /* called for each temperature of a
	                          * query; may be NULL */
} NwSweep;

extern void nw_sweep_add(NwSweep *sweep, const double *score, const double *log_weight,
                         const int64_t *class_start, int nclasses, int truth, double *scratch,
                         double *work);
extern double nw_sweep_loss(const NwSweep *sweep, int i);
extern double nw_sweep_nll(const NwSweep *sweep, int i);

#endif /* NW_MATH_SWEEP_H */
