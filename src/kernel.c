/*
 * kernel.c
 *		How the distance between a query and a support becomes a score.
 */
#include "kernel.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "simd.h"

/* indexed by NwKernel */
static const char *const kernel_names[] = {
	"euclidean", "gaussian", "hypersphere", "cosine", "dot"
};

#define KERNEL_COUNT ((int) (sizeof(kernel_names) / sizeof(kernel_names[0])))

/* Look up a kernel by name. */
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

/* Name a kernel. */
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

/* Tell whether a kernel compares directions. */
bool
nw_kernel_needs_norms(NwKernel kernel)
{
	return kernel == NW_HYPERSPHERE || kernel == NW_COSINE;
}

/* Compute inverse norms of rows. */
void
nw_inverse_norms(const float *x, int dim, int n, double *out)
{
	nw_simd->sqnorm(x, dim, n, out);

	/* float's range squared is well within double's */
	for (int i = 0; i < n; i++)
		out[i] = out[i] > 0 ? 1.0 / sqrt(out[i]) : 0.0;
}

/* Make a query ready. */
void
nw_query_init(NwQuery *query, NwKernel kernel, double tau,
			  const float *x, int dim, double *space)
{
	query->kernel = kernel;
	query->tau = tau;
	query->inverse_tau = 1.0 / tau;
	query->dim = dim;
	query->q = space;

	for (int j = 0; j < dim; j++)
		space[j] = x[j];

	if (nw_kernel_needs_norms(kernel))
	{
		double		scale;

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
		double		cosine = measure[i] * inverse_norm[i];

		/* rounding may lead just outside */
		cosine = cosine < 1.0 ? cosine : 1.0;
		measure[i] = cosine > -1.0 ? cosine : -1.0;
	}
}

/* Measure a query against rows. */
void
nw_query_measure(const NwQuery *query, const float *x,
				 const double *inverse_norm, int n, double *measure)
{
	switch (query->kernel)
	{
		case NW_EUCLIDEAN:
		case NW_GAUSSIAN:
			nw_simd->sqdist(query->q, x, query->dim, n, measure);
			break;
		case NW_HYPERSPHERE:
			nw_simd->sqdist_scaled(query->q, x, inverse_norm, query->dim, n,
								   measure);
			break;
		case NW_COSINE:
			nw_simd->dot(query->q, x, query->dim, n, measure);
			cosines(inverse_norm, n, measure);
			break;
		case NW_DOT:
			nw_simd->dot(query->q, x, query->dim, n, measure);
			break;
	}
}

/* Measure many queries against rows. */
void
nw_query_measure_block(NwKernel kernel, const double *q, int nq, int dim,
					   const float *x, const double *inverse_norm, int n,
					   double *measure)
{
	switch (kernel)
	{
		case NW_EUCLIDEAN:
		case NW_GAUSSIAN:
			nw_simd->sqdist_block(q, nq, x, dim, n, measure);
			break;
		case NW_HYPERSPHERE:
			nw_simd->sqdist_scaled_block(q, nq, x, inverse_norm, dim, n,
										 measure);
			break;
		case NW_COSINE:
			nw_simd->dot_block(q, nq, x, dim, n, measure);
			for (int i = 0; i < nq; i++)
				cosines(inverse_norm, n, measure + (int64_t) i * n);
			break;
		case NW_DOT:
			nw_simd->dot_block(q, nq, x, dim, n, measure);
			break;
	}
}

/* Turn squared distances into -distance * factor. */
static void
root_scores(const double *measure, int n, double factor, double *score)
{
	int			i = 0;

#if defined(__SSE2__)
	/*
	 * Compilers keep a loop over sqrt() scalar, for errno's sake, at half the
	 * speed of two at a time; more at a time are no faster, since hardware
	 * takes wider roots in turns.  Root and product are rounded correctly
	 * either way, so the bits are nw_distance_score()'s.
	 */
	for (; i + 2 <= n; i += 2)
	{
		__m128d		distance = _mm_sqrt_pd(_mm_loadu_pd(measure + i));

		_mm_storeu_pd(score + i, _mm_mul_pd(distance, _mm_set1_pd(-factor)));
	}
#endif
	for (; i < n; i++)
		score[i] = sqrt(measure[i]) * -factor;
}

/* Turn measures into scores. */
void
nw_query_score(const NwQuery *query, const double *measure, int n,
			   double *score)
{
	double		factor = query->inverse_tau;

	switch (query->kernel)
	{
		case NW_EUCLIDEAN:
		case NW_HYPERSPHERE:
			root_scores(measure, n, factor, score);
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

/* Score a distance measured elsewhere. */
double
nw_distance_score(double distance, double tau)
{
	return distance * -(1.0 / tau);
}
