/*
 * predict/pilot.h
 *		How good predictions are at any temperature, by a few queries.
 */
#ifndef NW_PREDICT_PILOT_H
#define NW_PREDICT_PILOT_H

#include "postgres.h"

#include "predict/query_scores.h"

/* Some queries, their scores in short. */
typedef struct NwPilot NwPilot;

/* Predictions at one temperature. */
typedef struct NwPilotPoint
{
	double tau;
	double sharpness; /* 1 / temper */
	double loss;      /* of all queries whose class has support */
	double limit;     /* of the loss where flawless, were it ever so sharp */
	int64 wrong;
	bool flawless; /* no query is wrong whose class has support */
} NwPilotPoint;

extern NwPilot *nw_pilot_create(MemoryContext mcxt);
extern void nw_pilot_add(NwPilot *pilot, const NwQueryScores *query);
extern int64 nw_pilot_queries(const NwPilot *pilot);
extern double nw_pilot_scale(const NwPilot *pilot);
extern NwPilotPoint nw_pilot_try(NwPilot *pilot, int every, double tau, bool tempered,
                                 double sharpness);

#endif /* NW_PREDICT_PILOT_H */
