/*
 * math/predict.c: Nadaraya-Watson predictions.
 *
 * In double precision and log space throughout, as the extension predicts.  Supports
 * stream by once for each group of queries, whose coordinates lie side by side.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/memory.h"
#include "math/kernel.h"
#include "math/predict.h"

#define GROUP 8 /* queries measured at a time */

/* log sum exp of what was added so far */
typedef struct Mass
{
	double top; /* the largest; -INFINITY where there is none */
	double sum; /* of exp(x - top) */
} Mass;

static void
add(Mass *m, double x)
{
	if (x > m->top)
	{
		m->sum = m->sum * exp(m->top - x) + 1;
		m->top = x;
	}
	else if (x > -INFINITY)
		m->sum += exp(x - m->top);
}

/* Say whether a kernel compares directions. */
static bool
scales(NwKernel kernel)
{
	return kernel == NW_HYPERSPHERE || kernel == NW_COSINE;
}

/* Return what scales a vector to length 1; a zero vector stays zero. */
static double
inverse_norm(const float *x, int dim)
{
	double sum = 0;

	for (int j = 0; j < dim; j++)
		sum += (double) x[j] * x[j];
	return sum > 0 ? 1 / sqrt(sum) : 0;
}

/* Measure squared distances of queries [dim, GROUP] to a support. */
static void
square_distances(const double *q, const float *x, double scale, int dim, double *out)
{
	double sum[GROUP] = {0};

	for (int j = 0; j < dim; j++, q += GROUP)
		for (int k = 0; k < GROUP; k++)
		{
			double diff = q[k] - x[j] * scale;

			sum[k] += diff * diff;
		}
	for (int k = 0; k < GROUP; k++)
		out[k] = sum[k];
}

/* Measure inner products likewise. */
static void
products(const double *q, const float *x, double scale, int dim, double *out)
{
	double sum[GROUP] = {0};

	for (int j = 0; j < dim; j++, q += GROUP)
		for (int k = 0; k < GROUP; k++)
			sum[k] += q[k] * (x[j] * scale);
	for (int k = 0; k < GROUP; k++)
		out[k] = sum[k];
}

/* Score a support for queries [dim, GROUP], both scaled where the kernel wants it. */
static void
scores(const NwSupports *s, const double *q, const float *x, double scale, double *out)
{
	switch (s->kernel)
	{
		case NW_EUCLIDEAN:
		case NW_HYPERSPHERE:
			square_distances(q, x, scale, s->dim, out);
			for (int k = 0; k < GROUP; k++)
				out[k] = -sqrt(out[k]) / s->tau;
			break;
		case NW_GAUSSIAN:
			square_distances(q, x, scale, s->dim, out);
			for (int k = 0; k < GROUP; k++)
				out[k] = -out[k] / s->tau;
			break;
		case NW_COSINE:
			products(q, x, scale, s->dim, out);
			for (int k = 0; k < GROUP; k++) /* rounding may lead just outside */
				out[k] = fmax(-1, fmin(1, out[k])) / s->tau;
			break;
		case NW_DOT:
			products(q, x, scale, s->dim, out);
			for (int k = 0; k < GROUP; k++)
				out[k] /= s->tau;
			break;
	}
}

/* Lay up to GROUP queries side by side [dim, GROUP], scaled where the kernel wants it. */
static void
lay_out(const NwSupports *s, const float *q, int n, double *out)
{
	for (int k = 0; k < GROUP; k++)
	{
		const float *from = q + (size_t) (k < n ? k : 0) * (size_t) s->dim;
		double scale = scales(s->kernel) ? inverse_norm(from, s->dim) : 1;

		for (int j = 0; j < s->dim; j++)
			out[j * GROUP + k] = from[j] * scale;
	}
}

/*
 * Turn the masses of classes into log-probabilities.  The tops may be so large that a logarithm
 * added to one is lost: they meet each other alone, as the sums do.
 */
static void
normalise(const Mass *mass, int classes, double *log_p)
{
	Mass all = {-INFINITY, 0};

	for (int c = 0; c < classes; c++)
		all.top = fmax(all.top, mass[c].top);
	for (int c = 0; c < classes; c++)
		if (mass[c].sum > 0)
			all.sum += mass[c].sum * exp(mass[c].top - all.top);
	for (int c = 0; c < classes; c++)
		log_p[c] =
			mass[c].sum > 0 ? mass[c].top - all.top + (log(mass[c].sum) - log(all.sum)) : -INFINITY;
}

/* Predict n queries q [n, dim]: log-probabilities [n, classes], -INFINITY without a support. */
void
nw_predict(const NwSupports *s, const float *q, int n, double *log_p)
{
	size_t classes = (size_t) s->classes;
	double *group = nw_alloc((size_t) s->dim * GROUP * sizeof(double));
	Mass *mass = nw_alloc(GROUP * classes * sizeof(Mass));
	double *scale = scales(s->kernel) ? nw_alloc((size_t) s->n * sizeof(double)) : NULL;

	for (int64_t i = 0; scale != NULL && i < s->n; i++)
		scale[i] = inverse_norm(s->x + i * s->dim, s->dim);
	for (int first = 0; first < n; first += GROUP)
	{
		int here = n - first < GROUP ? n - first : GROUP;

		lay_out(s, q + (size_t) first * (size_t) s->dim, here, group);
		for (size_t i = 0; i < GROUP * classes; i++)
			mass[i] = (Mass) {-INFINITY, 0};
		for (int64_t i = 0; i < s->n; i++)
		{
			double score[GROUP];

			scores(s, group, s->x + i * s->dim, scale ? scale[i] : 1, score);
			for (int k = 0; k < here; k++)
				add(&mass[(size_t) k * classes + (size_t) s->label[i]], score[k]);
		}
		for (int k = 0; k < here; k++)
			normalise(mass + (size_t) k * classes, s->classes,
			          log_p + (size_t) (first + k) * classes);
	}
	free(scale);
	free(mass);
	free(group);
}
