/*
 * math/judgement.h: how good predictions are.
 */
#ifndef NW_JUDGEMENT_H
#define NW_JUDGEMENT_H

#include <stdint.h>

#define NW_CALIBRATION_BINS 15

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

void nw_judgement_add(NwJudgement *j, const double *log_p, int classes, int truth);
NwFigures nw_judgement_figures(const NwJudgement *j);

#endif
