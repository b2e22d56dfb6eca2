/*
 * bare.c
 *		The least that any exact prediction must do: stream the vectors.
 *
 * usage: bare N DIM REPEATS
 *
 * Prints the median time, in milliseconds, of one pass that computes the
 * Euclidean distance from a query to each of N float vectors: a plain C loop
 * in float, as good as the compiler makes it for AVX2, with nothing around
 * it; no exponential, no classes.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Compare doubles for qsort. */
static int
compare(const void *a, const void *b)
{
	double x = *(const double *) a, y = *(const double *) b;

	return (x > y) - (x < y);
}

/* Measure one vector. */
__attribute__((target("avx2,fma"), optimize("O3,fast-math"))) static float
distance(const float *restrict q, const float *restrict x, int dim)
{
	float sum = 0;

	for (int j = 0; j < dim; j++)
	{
		float diff = q[j] - x[j];

		sum += diff * diff;
	}
	return sqrtf(sum);
}

int
main(int argc, char **argv)
{
	int n, dim, repeats;
	float *x;
	float *q;
	double *ms;
	uint32_t seed = 1;
	volatile float sink = 0;

	if (argc != 4)
	{
		fprintf(stderr, "usage: bare N DIM REPEATS\n");
		return 2;
	}
	n = atoi(argv[1]);
	dim = atoi(argv[2]);
	repeats = atoi(argv[3]);
	x = malloc(sizeof(float) * n * dim);
	q = malloc(sizeof(float) * dim);
	ms = malloc(sizeof(double) * repeats);
	if (!x || !q || !ms)
		return 1;
	for (size_t i = 0; i < (size_t) n * dim; i++)
	{
		seed = seed * 1664525 + 1013904223;
		x[i] = (float) (seed >> 8) / (1 << 24);
	}

	for (int r = 0; r < repeats; r++)
	{
		struct timespec from, to;
		float sum = 0;

		for (int j = 0; j < dim; j++)
			q[j] = (float) (r + j) / (repeats + dim);
		clock_gettime(CLOCK_MONOTONIC, &from);
		for (int i = 0; i < n; i++)
			sum += distance(q, x + (size_t) i * dim, dim);
		clock_gettime(CLOCK_MONOTONIC, &to);
		sink += sum;
		ms[r] = (to.tv_sec - from.tv_sec) * 1e3 + (to.tv_nsec - from.tv_nsec) / 1e6;
	}
	qsort(ms, repeats, sizeof(double), compare);
	printf("%.6f\n", ms[repeats / 2]);
	(void) sink;
	return 0;
}
