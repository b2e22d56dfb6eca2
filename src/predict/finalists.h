/*
 * predict/finalists.h
 *		Exact figures of a few temperatures, over all queries.
 */
#ifndef NW_PREDICT_FINALISTS_H
#define NW_PREDICT_FINALISTS_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "utils/tuplestore.h"

#include "math/calibration_bins.h"
#include "math/sum.h"
#include "math/temper_fit.h"
#include "predict/query_scores.h"

/* Bins of the calibration error. */
#define NW_CALIBRATION_BINS 15

/* The temperature before, and those that are compared with it. */
#define NW_FINALISTS 5

/* What predictions are worth. */
typedef struct NwFigures
{
	double nll; /* over queries whose class has support */
	double ece;
} NwFigures;

/* One temperature. */
typedef struct NwFinalist
{
	double tau;
	double sharpness; /* 1 / temper: expected, then the best one */
	double least;     /* no sharpness below will be asked for */
	int64 wrong;
	int64 changed; /* labels that are not those of the temperature before */
	NwTemperFit fit;
} NwFinalist;

/* A few temperatures: the first is that of the set, at which answers come. */
typedef struct NwFinalists
{
	NwFinalist item[NW_FINALISTS];
	int n;
	int64 queries; /* labelled ones */
	int64 seen;    /* those whose class has support */

	/* at the temperatures of the set */
	NwSum loss_before;
	NwBins *bins_before;

	/* the ratios of all masses: a tuple for each query, on disk beyond work_mem */
	Tuplestorestate *store;
	TupleDesc desc;
	TupleTableSlot *slot;
	MemoryContext mcxt;
	double *record; /* [allocated] the query at hand */
	int allocated;
	int used;
	double *work; /* [work_allocated] masses and scores of a query */
	int work_allocated;
} NwFinalists;

extern NwFinalists *nw_finalists_create(MemoryContext mcxt);
extern void nw_finalists_enter(NwFinalists *finalists, double tau, double sharpness);
extern void nw_finalists_add(NwFinalists *finalists, const NwQueryScores *query);
extern void nw_finalists_temper(NwFinalists *finalists, bool tempered);
extern NwFigures nw_finalists_before(const NwFinalists *finalists);
extern NwFigures nw_finalists_figures(NwFinalists *finalists, int i, double sharpness);
extern void nw_finalists_free(NwFinalists *finalists);

#endif /* NW_PREDICT_FINALISTS_H */
