/*
 * math/kernel.c
 *		How the distance between a query and a support becomes a score.
 */
#include "math/kernel.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "math/simd/simd.h"

/* indexed by NwKernel */
static const char *const kernel_names[] = {"euclidean", "gaussian", "hypersphere", "cosine", "dot"};

/* Rows measured at a time. */
#define ROWS 256

#define KERNEL_COUNT ((int) (sizeof(kernel_names) / sizeof(kernel_names[0])))

/* Look up a kernel; false where there is none of that name. */
bool
nw_kernel_parse(const char *name, NwKernel *kernel)
{
	for (int i = 0; i < KERNEL_COUNT; i++)
	{
		if (strcmp(name, kernel_names[i]) == 0)
		{
			*kernel = (NwKernel) i;
			return true;
		}
	}
	return false;
}

const char *
nw_kernel_name(NwKernel kernel)
{
	return kernel_names[kernel];
}

/* Tell whether a temperature is usable; NaN is not. */
bool
nw_tau_is_valid(double tau)
{
	return tau >= NW_TAU_MIN && tau <= NW_TAU_MAX;
}

/* True where a kernel compares directions: supports need nw_inverse_norms(). */
bool
nw_kernel_needs_norms(NwKernel kernel)
{
	return kernel == NW_HYPERSPHERE || kernel == NW_COSINE;
}

/* out[i] = 1 / |x[i]|, or 0 for a zero vector; x [n][dim] */
void
nw_inverse_norms(const float *x, int dim, int n, double *out)
{
	nw_simd->sqnorm(x, dim, n, out);

	/* float's range squared is well within double's */
	for (int i = 0; i < n; i++)
		out[i] = out[i] > 0 ? 1.0 / sqrt(out[i]) : 0.0;
}

/* True where norms of rows are worth keeping beside their vectors. */
bool
nw_kernel_keeps_norms(NwKernel kernel)
{
	return kernel != NW_DOT;
}

/* What is kept of rows: |x|^2, or 1 / |x| where the kernel needs norms. */
void
nw_row_norms(NwKernel kernel, const float *x, int dim, int n, double *out)
{
	if (nw_kernel_needs_norms(kernel))
		nw_inverse_norms(x, dim, n, out);
	else
		nw_simd->sqnorm(x, dim, n, out);
}

/* Give a query another temperature. */
void
nw_query_set_tau(NwQuery *query, double tau)
{
	query->tau = tau;
	query->inverse_tau = 1.0 / tau;
}

/* Make a query; space [dim] must outlive it. */
void
nw_query_init(NwQuery *query, NwKernel kernel, double tau, const float *x, int dim, double *space)
{
	query->kernel = kernel;
	nw_query_set_tau(query, tau);
	query->dim = dim;
	query->q = space;

	for (int j = 0; j < dim; j++)
		space[j] = x[j];
	nw_simd->sqnorm(x, dim, 1, &query->sqnorm);

	if (nw_kernel_needs_norms(kernel))
	{
		double scale;

		nw_inverse_norms(x, dim, 1, &scale);
		for (int j = 0; j < dim; j++)
			space[j] *= scale;
	}
}

/* Turn inner products with unit queries into cosines. */
static void
cosines(const double *inverse_norm, int n, double *measure)
{
	for (int i = 0; i < n; i++)
	{
		double cosine = measure[i] * inverse_norm[i];

		/* rounding may lead just outside */
		cosine = cosine < 1.0 ? cosine : 1.0;
		measure[i] = cosine > -1.0 ? cosine : -1.0;
	}
}

/*
 * Turn inner products of a query of norm q2 with rows of norms x2 into squared
 * distances.
 */
static void
close_distances(const double *q, double q2, const float *x, int dim, const double *x2, int n,
                double *measure)
{
	if (!nw_simd->close_sqdist(q2, x2, NW_CANCELLED, n, measure))
		return;
	for (int i = 0; i < n; i++)
	{
		if (!(measure[i] > (q2 + x2[i]) * NW_CANCELLED))
			nw_simd->sqdist(q, x + (int64_t) i * dim, dim, 1, &measure[i]);
	}
}

/* Measure squared distances. */
static void
measure_distances(const NwQuery *query, const float *x, const double *x2, int n, double *measure)
{
	if (x2)
	{
		nw_simd->dot(query->q, x, query->dim, n, measure);
		close_distances(query->q, query->sqnorm, x, query->dim, x2, n, measure);
		return;
	}
	for (int i = 0; i < n; i += ROWS)
	{
		const float *row = x + (int64_t) i * query->dim;
		int m = n - i < ROWS ? n - i : ROWS;
		double norm[ROWS];

		nw_simd->dot_sqnorm(query->q, row, query->dim, m, measure + i, norm);
		close_distances(query->q, query->sqnorm, row, query->dim, norm, m, measure + i);
	}
}

/* Measure squared distances of many queries. */
static void
measure_distances_block(const double *q, const double *q2, int nq, int dim, const float *x,
                        const double *x2, int n, double *measure)
{
	nw_simd->dot_block(q, nq, x, dim, n, measure);
	for (int i = 0; i < nq; i++)
		close_distances(q + (int64_t) i * dim, q2[i], x, dim, x2, n, measure + (int64_t) i * n);
}

/*
 * measure[i] of n supports x [n][dim] and their nw_row_norms(), which may be
 * NULL where the kernel does not need them: then they are computed on the way.
 */
void
nw_query_measure(const NwQuery *query, const float *x, const double *norm, int n, double *measure)
{
	switch (query->kernel)
	{
		case NW_EUCLIDEAN:
		case NW_GAUSSIAN:
			measure_distances(query, x, norm, n, measure);
			break;
		case NW_HYPERSPHERE:
			nw_simd->sqdist_scaled(query->q, x, norm, query->dim, n, measure);
			break;
		case NW_COSINE:
			nw_simd->dot(query->q, x, query->dim, n, measure);
			cosines(norm, n, measure);
			break;
		case NW_DOT:
			nw_simd->dot(query->q, x, query->dim, n, measure);
			break;
	}
}

/*
 * measure[i][j] of queries q [nq][dim] with their sqnorm [nq], each as NwQuery
 * has them, and supports x [n][dim] with their norms, where the kernel keeps
 * some: the bits of nw_query_measure().
 */
void
nw_query_measure_block(NwKernel kernel, const double *q, const double *sqnorm, int nq, int dim,
                       const float *x, const double *norm, int n, double *measure)
{
	switch (kernel)
	{
		case NW_EUCLIDEAN:
		case NW_GAUSSIAN:
			measure_distances_block(q, sqnorm, nq, dim, x, norm, n, measure);
			break;
		case NW_HYPERSPHERE:
			nw_simd->sqdist_scaled_block(q, nq, x, norm, dim, n, measure);
			break;
		case NW_COSINE:
			nw_simd->dot_block(q, nq, x, dim, n, measure);
			for (int i = 0; i < nq; i++)
				cosines(norm, n, measure + (int64_t) i * n);
			break;
		case NW_DOT:
			nw_simd->dot_block(q, nq, x, dim, n, measure);
			break;
	}
}

/* Turn measures into scores; the arrays may be the same. */
void
nw_query_score(const NwQuery *query, const double *measure, int n, double *score)
{
	double factor = query->inverse_tau;

	switch (query->kernel)
	{
		case NW_EUCLIDEAN:
		case NW_HYPERSPHERE:
			nw_simd->root_scores(measure, n, factor, score);
			break;
		case NW_GAUSSIAN:
			for (int i = 0; i < n; i++)
				score[i] = measure[i] * -factor;
			break;
		case NW_COSINE:
		case NW_DOT:
			for (int i = 0; i < n; i++)
				score[i] = measure[i] * factor;
			break;
	}
}

/* Turn a measure into the distance shown to users. */
double
nw_query_distance(const NwQuery *query, double measure)
{
	switch (query->kernel)
	{
		case NW_EUCLIDEAN:
		case NW_GAUSSIAN:
		case NW_HYPERSPHERE:
			return sqrt(measure);
		case NW_COSINE:
			return 1.0 - measure;
		case NW_DOT:
			break;
	}
	return -measure;
}

/* The score of a distance that was measured elsewhere (euclidean kernel). */
double
nw_distance_score(double distance, double tau)
{
	return distance * -(1.0 / tau);
}
