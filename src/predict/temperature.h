/*
 * predict/temperature.h
 *		Find the temperature at which confidence can be trusted most.
 */
#ifndef NW_PREDICT_TEMPERATURE_H
#define NW_PREDICT_TEMPERATURE_H

#include "postgres.h"

#include "math/sweep.h"
#include "predict/batch.h"

/* Bins of the calibration error that the functions here report. */
#define NW_CALIBRATION_BINS 15

/*
 * Whatever can be asked how good its predictions are at given temperatures.
 * pass() goes over all queries once, in batches attached to the search.
 */
typedef struct NwTuning
{
	void (*pass)(struct NwTuning *tuning);
	void *arg;
	MemoryContext mcxt; /* for what outlives a pass */

	/* the pass under way */
	const NwBatch *batch; /* that keeps measures */
	NwSweep *sweep;       /* NULL where only spreads are collected */
	double *spread;       /* [nspread], (largest - median) score */
	int nspread;
	int spread_allocated;
} NwTuning;

/* What a search found. */
typedef struct NwTuned
{
	double tau;
	double nll;
	double ece;
	double nll_before; /* at the temperature given */
	double ece_before;
	int64 n;
	int64 seen;    /* queries whose class has support */
	bool flawless; /* no query was wrong, so the loss has no
	                * least value: see nw_tune */
} NwTuned;

/* Make an empty sweep over given temperatures. */
extern NwSweep *nw_sweep_create(const double *tau, int n);

/* Fill a list with values from low to high, evenly spaced. */
extern void nw_fill_evenly(double *tau, int n, double low, double high);

/* Let the answers of a batch go to a search, one after the other. */
extern void nw_tuning_attach(NwTuning *tuning, NwBatch *batch);

/*
 * Find the temperature of the least loss, never worse than before.  With low
 * and high (0 where not given) among steps values evenly spaced between them;
 * else over a geometric grid that the distances suggest, extended while the
 * best lies at an edge, then refined.
 *
 * Where every query is predicted right, the loss falls with tau for ever, and
 * the limit would be infinitely sure of its next mistake.  Then the largest
 * tau of the grid is taken whose loss, over all queries, exceeds the least by
 * no more than one coin toss.
 */
extern NwTuned nw_tune(NwTuning *tuning, double before, double low, double high, int steps);

#endif /* NW_PREDICT_TEMPERATURE_H */
