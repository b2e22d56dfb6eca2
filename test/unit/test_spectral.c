/*
 * test_spectral.c
 *		Bounds on the norm of a matrix, against a power iteration in long
 *		double.
 */
#include <math.h>
#include <string.h>

#include "check.h"
#include "math/simd/simd.h"
#include "math/spectral.h"
#include "simd_names.h"

static const int dims[] = {1, 2, 7, 16, 33, 100, 255, 256, 257, 300};
static const int counts[] = {1, 2, 5, 60, 255, 256, 257, 300};
static const double sizes[] = {1e-40, 1e-20, 1, 1e30};

#define COUNT(array) ((int) (sizeof(array) / sizeof((array)[0])))

/* The norm of x [n][dim], from below, by many steps in its direction. */
static long double
norm_of(const float *x, int n, int dim, int steps)
{
	long double *v = check_alloc(sizeof(long double) * dim);
	long double *next = check_alloc(sizeof(long double) * dim);
	long double norm = 0;

	for (int j = 0; j < dim; j++)
		v[j] = check_uniform(-1, 1);
	for (int step = 0; step < steps; step++)
	{
		long double length = 0;
		long double image = 0;

		for (int j = 0; j < dim; j++)
		{
			length += v[j] * v[j];
			next[j] = 0;
		}
		for (int i = 0; i < n; i++)
		{
			long double dot = 0;

			for (int j = 0; j < dim; j++)
				dot += x[(long) i * dim + j] * v[j];
			image += dot * dot;
			for (int j = 0; j < dim; j++)
				next[j] += dot * x[(long) i * dim + j];
		}
		if (image == 0)
			break;
		norm = sqrtl(image / length);
		length = 0;
		for (int j = 0; j < dim; j++)
			length += next[j] * next[j];
		for (int j = 0; j < dim; j++)
			v[j] = next[j] / sqrtl(length);
	}
	free(v);
	free(next);
	return norm;
}

/*
 * Draw a matrix: of directions at random, of one direction mostly, of zeros
 * mostly, of one row again and again.
 */
static void
draw_matrix(float *x, int n, int dim, double size, int kind)
{
	for (int i = 0; i < n; i++)
	{
		for (int j = 0; j < dim; j++)
		{
			double v = check_normal() * size;

			if (kind == 1)
				v = v * 0.01 + size * (j % 3);
			if (kind == 2 && check_below(10) != 0)
				v = 0;
			if (kind == 3 && i > 0)
				v = x[j];
			x[(long) i * dim + j] = (float) v;
		}
	}
}

/* Bound the norm of one matrix, twice with the same memory. */
static void
check_matrix(int n, int dim, double size, int kind)
{
	float *x = check_alloc(sizeof(float) * n * dim);
	void *space = check_alloc(nw_spectral_memory(dim));
	int blocks = dim <= NW_SPECTRAL_SIDE ? 1 : (n + NW_SPECTRAL_SIDE - 1) / NW_SPECTRAL_SIDE;
	NwSpectral matrix;

	draw_matrix(x, n, dim, size, kind);
	nw_spectral_init(&matrix, dim, true, space);
	for (int turn = 0; turn < 2; turn++)
	{
		int rows = turn == 0 ? n : (n + 1) / 2;
		long double norm = norm_of(x, rows, dim, 60);
		double off = turn == 0 ? 0 : size * 0.001;
		double slack = off * sqrt(rows);
		double most;
		double least;

		for (int i = 0; i < rows; i++)
			nw_spectral_add(&matrix, x + (long) i * dim, off);
		nw_spectral_norm(&matrix, &most, &least);
		CHECK(most >= norm + slack * 0.999 && least <= most,
		      "%s %d x %d size %g kind %d: %g .. %g, not %Lg", nw_simd->name, rows, dim, size, kind,
		      least, most, norm);

		/* the 16th root of the side, and as many blocks as there are */
		CHECK(most - slack <= norm * 1.25L * sqrtl(blocks) + slack * 1e-5L &&
		          (least + slack) * sqrtl(blocks) >= norm * 0.97L &&
		          (blocks > 1 || least <= norm * (1 + 0.02L)),
		      "%s %d x %d size %g kind %d: %g .. %g, far from %Lg", nw_simd->name, rows, dim, size,
		      kind, least, most, norm);
	}
	free(space);
	free(x);
}

/* A matrix of zeros, and one of no rows. */
static void
check_nothing(void)
{
	float zero[20] = {0};
	void *space = check_alloc(nw_spectral_memory(20));
	NwSpectral matrix;
	double most;
	double least;

	nw_spectral_init(&matrix, 20, true, space);
	nw_spectral_norm(&matrix, &most, &least);
	CHECK(most == 0 && least == 0, "no rows: %g .. %g", least, most);
	for (int i = 0; i < 300; i++)
		nw_spectral_add(&matrix, zero, 0);
	nw_spectral_norm(&matrix, &most, &least);
	CHECK(most == 0 && least == 0, "zeros: %g .. %g", least, most);
	free(space);
}

int
main(void)
{
	check_start("spectral");
	for (int i = 0; i < SIMD_COUNT; i++)
	{
		nw_simd = nw_simd_find(simd_names[i]);
		if (nw_simd == NULL)
			continue;
		check_nothing();
		for (int k = 0; k < COUNT(dims); k++)
		{
			for (int kind = 0; kind < 4; kind += dims[k] > 200 ? 3 : 1)
				check_matrix(counts[(k + kind + i) % COUNT(counts)], dims[k],
				             sizes[check_below(COUNT(sizes))], kind);
		}
	}
	return check_finish();
}
