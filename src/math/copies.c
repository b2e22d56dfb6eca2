/*
 * math/copies.c
 *		Half-size copies of vectors, and how far their distances can be off.
 */
#include "math/copies.h"

#include <float.h>
#include <math.h>

#include "math/simd/simd.h"

/* Vectors measured at a time. */
#define BATCH 64

/* Half the distance from 1 to the next float. */
#define UNIT (FLT_EPSILON / 2.0)

/* True where a kernel's scores come from distances, which copies bound. */
bool
nw_copies_serves(NwKernel kernel)
{
	return kernel == NW_EUCLIDEAN || kernel == NW_GAUSSIAN || kernel == NW_HYPERSPHERE;
}

/* The largest magnitude among n numbers. */
float
nw_copies_magnitude(const float *x, int64_t n)
{
	float lane[NW_LANES] = {0};
	int64_t i = 0;
	float largest = 0;

	for (; i + NW_LANES <= n; i += NW_LANES)
	{
		for (int j = 0; j < NW_LANES; j++)
		{
			float size = fabsf(x[i + j]);

			lane[j] = lane[j] > size ? lane[j] : size;
		}
	}
	for (; i < n; i++)
		largest = fmaxf(largest, fabsf(x[i]));
	for (int j = 0; j < NW_LANES; j++)
		largest = fmaxf(largest, lane[j]);
	return largest;
}

/*
 * Choose the step for numbers up to a magnitude; false where it would be too
 * small or too large to compute with.
 */
bool
nw_copies_init(NwCopies *copies, double magnitude)
{
	copies->step = magnitude / NW_COPY_MAX;
	copies->error = 0;

	/* squares of distances in steps, and back, must stay within double */
	return copies->step > 1e-30 && copies->step < 1e30;
}

/*
 * Copy n vectors x [n][dim], each times scale[i] where scale is given, and
 * widen the error to cover them.
 */
void
nw_copies_copy(NwCopies *copies, const float *x, const double *scale, int dim, int n, int16_t *copy)
{
	for (int i = 0; i < n; i++)
	{
		double sum = nw_simd->copies_copy(x, dim, scale ? scale[i] : 1, copies->step, copy);

		copies->error = fmax(copies->error, sqrt(sum));
		x += dim;
		copy += dim;
	}
}

/* Make a query ready: t [dim] is q / step. */
void
nw_copies_query(const NwCopies *copies, const NwQuery *query, float *t)
{
	for (int j = 0; j < query->dim; j++)
		t[j] = (float) (query->q[j] / copies->step);
}

/* measure[i] of the copies of n vectors, as nw_query_measure() has it, nearly */
void
nw_copies_measure(const NwCopies *copies, const float *t, const int16_t *copy, int dim, int n,
                  double *measure)
{
	double unit = copies->step * copies->step;

	for (int i = 0; i < n; i += BATCH)
	{
		float sqdist[BATCH];
		int batch = n - i < BATCH ? n - i : BATCH;

		nw_simd->copies_sqdist(t, copy + (int64_t) i * dim, dim, batch, sqdist);
		for (int k = 0; k < batch; k++)
			measure[i + k] = sqdist[k] * unit;
	}
}

/*
 * How far the score of a copy is from that of its vector, at the most, where
 * no measure of a copy was above max_measure.
 *
 * Let d be the distance between query and vector, D that which the copy has
 * by nw_copies_measure().
 *
 * Without rounding they differ by no more than error, by the triangle
 * inequality.  t is within |q| * UNIT of q, in the query's own unit.  A
 * difference of two floats and its square are off by 3 UNITs of the square,
 * together; the sum of dim of them in 16 lanes by another dim / 16 of the sum,
 * since no term is negative, folding the lanes and adding what is left over by
 * no more than 20; and so the root by half of all that.  The whole is taken for
 * the half, which leaves room for what double precision loses; and the exact
 * engine's own scores and sums are off by some units in their last place, which
 * slack covers.
 */
double
nw_copies_score_error(const NwCopies *copies, const NwQuery *query, double max_measure)
{
	double distance = sqrt(max_measure);
	double norm = 0;
	double off;
	double slack;

	for (int j = 0; j < query->dim; j++)
		norm += query->q[j] * query->q[j];
	off =
		copies->error * (1 + 1e-9) + UNIT * (sqrt(norm) + distance * (query->dim / NW_LANES + 24));
	if (query->kernel == NW_GAUSSIAN)
	{
		slack = max_measure;
		off *= 2 * distance + off;
	}
	else
		slack = distance;
	return (off + 64 * DBL_EPSILON * slack) * query->inverse_tau + 1e-12;
}
