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
 * A search for a temperature, over whatever can be asked how good its predictions
 * are at given ones.
 */
typedef struct NwTemperatureSearch
{
	/* goes over all queries once, in batches that were attached to the search */
	void (*pass)(struct NwTemperatureSearch *search);
	void *arg;          /* for pass() */
	MemoryContext mcxt; /* for what outlives a pass */

	/* the pass under way */
	const NwBatch *batch; /* that keeps measures */
	NwSweep *sweep;       /* NULL where only drops are collected */
	double *drop;         /* [ndrops] from the largest score of a query to the median */
	int ndrops;
	int drops_allocated;
} NwTemperatureSearch;

/* What a search found. */
typedef struct NwTemperature
{
	double tau;
	double nll;
	double ece;
	double nll_before; /* at the temperature given */
	double ece_before; /* at the temperature given */
	int64 n;           /* labelled queries */
	int64 seen;        /* those whose class has support */
	bool flawless;     /* no query was wrong, so that the loss has no least value */
} NwTemperature;

extern NwSweep *nw_temperature_grid(double low, double high, int steps);
extern void nw_temperature_attach(NwTemperatureSearch *search, NwBatch *batch);
extern NwTemperature nw_temperature_search(NwTemperatureSearch *search, double before, double low,
                                           double high, int steps);

#endif /* NW_PREDICT_TEMPERATURE_H */
