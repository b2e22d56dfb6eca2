/*
 * math/predict.h: Nadaraya-Watson predictions, and how good they are.
 */
#ifndef NW_PREDICT_H
#define NW_PREDICT_H

#include <stdint.h>

#include "math/kernel.h"

#define NW_CALIBRATION_BINS 15

/* labelled vectors that answer */
typedef struct NwSupports
{
	NwKernel kernel;
	double tau;
	const float *x;   /* [n, dim] */
	const int *label; /* [n]: classes by number */
	int64_t n;
	int dim;
	int classes;
} NwSupports;

/* what predictions added up to so far; zeros at first */
typedef struct NwJudgement
{
	int64_t n;
	int64_t wrong;
	double loss;
	int64_t right[NW_CALIBRATION_BINS];
	double confidence[NW_CALIBRATION_BINS];
} NwJudgement;

/* how good predictions are */
typedef struct NwFigures
{
	double error; /* share of wrong labels */
	double ece;   /* expected calibration error */
	double nll;   /* mean negative log-likelihood */
} NwFigures;

void nw_predict(const NwSupports *s, const float *q, int n, double *log_p);
void nw_judgement_add(NwJudgement *j, const double *log_p, int classes, int truth);
NwFigures nw_judgement_figures(const NwJudgement *j);

#endif
