/*
 * math/kmeans_run.h
 *		The work space of k-means, and what is measured in it.
 */
#ifndef NW_MATH_KMEANS_RUN_H
#define NW_MATH_KMEANS_RUN_H

#include <stddef.h>

#include "math/kmeans.h"
#include "math/random.h"

/* Rows measured at a time. */
#define NW_KMEANS_TILE 64

/* The work space, and what the whole run needs. */
typedef struct NwKmeansRun
{
	const NwKmeans *task;
	const float *const *row; /* [n] */
	int n;
	int dim;
	int k;
	NwRandom random;
	int since_interrupt; /* rows worked on */

	double *centre;    /* [k][dim] */
	double *sum;       /* [k][dim]: of the members */
	double *moved;     /* [k]: how far in this iteration */
	double *apart;     /* [k][k]: half of the distance of two */
	double *nearest;   /* [k]: half of that to the nearest other */
	double *upper;     /* [n]: distance to the own centre, at most */
	double *lower;     /* [n][k]: distance to each centre, at least */
	double *weight;    /* [n]: squared distance to the nearest centre
	                    * chosen so far */
	double *trial;     /* [trials][n]: the same with one more */
	double *candidate; /* [trials][dim] */
	double *measure;   /* [k or trials][NW_KMEANS_TILE] */
	float *tile;       /* [NW_KMEANS_TILE][dim] */
	int *todo;         /* [NW_KMEANS_TILE]: rows to measure */
	int *cluster;      /* [n] */
	int *count;        /* [k] */

	int trials; /* candidates for each centre */
} NwKmeansRun;

extern size_t nw_kmeans_lay_out(NwKmeansRun *run, const NwKmeans *task, int trials, char *space);
extern void nw_kmeans_allow_interrupt(NwKmeansRun *run, int rows);
extern void nw_kmeans_measure_tile(NwKmeansRun *run, const double *centre, int nq, const int *todo,
                                   int first, int m);

/* Widen a row. */
static inline void
nw_kmeans_widen(const float *x, int dim, double *out)
{
	for (int j = 0; j < dim; j++)
		out[j] = x[j];
}

#endif /* NW_MATH_KMEANS_RUN_H */
