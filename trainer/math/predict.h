/*
 * math/predict.h: Nadaraya-Watson predictions.
 */
#ifndef NW_PREDICT_H
#define NW_PREDICT_H

#include <stdint.h>

#include "math/kernel.h"

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

void nw_predict(const NwSupports *s, const float *q, int n, double *log_p);

#endif
