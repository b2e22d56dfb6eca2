/*
 * predict/temperature.h
 *		Find the temperatures at which confidence can be trusted most.
 */
#ifndef NW_PREDICT_TEMPERATURE_H
#define NW_PREDICT_TEMPERATURE_H

#include "postgres.h"

#include "math/sweep.h"
#include "predict/finalists.h"
#include "predict/pilot.h"

/* What is looked for. */
typedef enum NwTemperatureFit
{
	NW_FIT_BOTH,  /* tau and temper */
	NW_FIT_TAU,   /* tau, for a temper of 1 */
	NW_FIT_TEMPER /* temper, for the tau there is */
} NwTemperatureFit;

/*
 * A search for temperatures, over whatever can be asked about queries.
 */
typedef struct NwTemperatureSearch
{
	/* goes over one of so many queries, in batches that were attached to the search */
	void (*pass)(struct NwTemperatureSearch *search, int64 every);
	void *arg;          /* for pass() */
	MemoryContext mcxt; /* for what outlives a pass */
	int64 queries;      /* that there are */
	int64 supports;     /* each is compared with */

	/* what is asked */
	NwTemperatureFit fit;
	double tau;    /* of the set, as the batches have it */
	double temper; /* of the set */
	double low;    /* 0 where the scores are to suggest a range of tau */
	double high;
	int steps; /* from low to high */

	/* the pass under way, which has one of these */
	const NwBatch *batch; /* that keeps measures */
	NwSweep *sweep;
	NwPilot *pilot;
	NwFinalists *finalists;
	const NwSupport *weights_of; /* whose logarithms of weights are at hand */
	double *log_weight;          /* [weights_of->n] or NULL */
} NwTemperatureSearch;

/* What a search found. */
typedef struct NwTemperature
{
	double tau;
	double temper;
	NwFigures before;
	NwFigures after;
	int64 wrong_before;
	int64 wrong;
	int64 changed; /* labels of queries */
	int64 n;       /* labelled queries */
	int64 seen;    /* those whose class has support */
	bool flawless; /* no such query was wrong, so that the loss has no least value */
} NwTemperature;

extern NwSweep *nw_temperature_grid(double low, double high, int steps);
extern void nw_temperature_attach(NwTemperatureSearch *search, NwBatch *batch);
extern NwTemperature nw_temperature_search(NwTemperatureSearch *search);

#endif /* NW_PREDICT_TEMPERATURE_H */
