/*
 * test_code.c
 *		Codes of one byte a dimension: no score may be outside its bounds.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "check.h"
#include "code.h"
#include "simd.h"

#define ROWS	9

static const char *const names[] = {"scalar", "avx2", "avx512"};
static const NwKernel kernels[] = {
	NW_EUCLIDEAN, NW_GAUSSIAN, NW_HYPERSPHERE, NW_COSINE, NW_DOT
};
static const int dims[] = {
	1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 100, 127, 128,
	129, 200, 511, 768, 1023, 1999, 2000
};
static const double magnitudes[] = {
	1e-44, 1e-40, 1e-30, 1e-22, 1e-10, 1e-3, 1, 50, 1e10, 1e18, 1e25, 1e38
};
static const double taus[] = {NW_TAU_MIN, 1e-3, 0.02, 1, 30, 1e3, NW_TAU_MAX};

#define COUNT(array)	((int) (sizeof(array) / sizeof((array)[0])))

/* A set of vectors, coded; what tests need of it. */
typedef struct Rows
{
	int			dim;
	float	   *x;				/* [ROWS][dim] */
	float	   *center;			/* [dim] or NULL */
	float	   *q;				/* [dim] */
	int8_t	   *code;			/* [ROWS][dim] */
	float		scale[ROWS];
	float		error[ROWS];
	float		sqnorm[ROWS];
	float		norm[ROWS];
} Rows;

/* Draw a number that a standard normal might give. */
static double
draw_normal(void)
{
	double		sum = 0;

	for (int i = 0; i < 12; i++)
		sum += check_uniform(-0.5, 0.5);
	return sum;
}

/* Keep a number within float. */
static float
to_float(double value)
{
	return (float) fmax(fmin(value, FLT_MAX), -FLT_MAX);
}

/* Draw a vector: normal, one of zeros, one-hot, constant or of two sizes. */
static void
draw_vector(float *x, int dim, double magnitude, const float *offset)
{
	int			kind = check_below(12);
	int			hot = check_below(dim);

	for (int j = 0; j < dim; j++)
	{
		double		v = draw_normal() * magnitude;

		if (kind == 0 || (kind == 1 && j != hot))
			v = 0;
		if (kind == 2)
			v = magnitude;
		if (kind == 3 && j % 2 == 0)
			v *= 1e-6;
		x[j] = to_float(v + (offset && kind != 4 ? offset[j] : 0));
	}
}

/* Code the rows. */
static void
encode_rows(Rows *rows)
{
	for (int i = 0; i < ROWS; i++)
	{
		NwCodeInfo	info;

		nw_code_encode(rows->x + i * rows->dim, rows->center, rows->dim,
					   rows->code + i * rows->dim, &info);
		rows->scale[i] = info.scale;
		rows->error[i] = info.error;
		rows->sqnorm[i] = info.sqnorm;
		rows->norm[i] = info.norm;
	}
}

/* Make room for rows. */
static void
alloc_rows(Rows *rows, int dim)
{
	rows->dim = dim;
	rows->x = check_alloc(sizeof(float) * ROWS * dim);
	rows->q = check_alloc(sizeof(float) * dim);
	rows->center = check_alloc(sizeof(float) * dim);
	rows->code = check_alloc(ROWS * dim);
}

static void
free_rows(Rows *rows)
{
	free(rows->x);
	free(rows->q);
	free(rows->center);
	free(rows->code);
}

/*
 * Draw rows around an offset, which may be far larger than they are, and a
 * query that may be one of them.
 */
static void
draw_rows(Rows *rows, int dim, double magnitude)
{
	float	   *offset;
	int			kind = check_below(5);

	alloc_rows(rows, dim);
	offset = check_alloc(sizeof(float) * dim);
	draw_vector(offset, dim, kind == 0 ? 0 :
				magnitude * pow(10, check_uniform(-2, 5)), NULL);
	for (int i = 0; i < ROWS; i++)
		draw_vector(rows->x + i * dim, dim, magnitude, offset);
	if (check_below(6) == 0)
		memcpy(rows->x + dim, rows->x, sizeof(float) * dim);

	draw_vector(rows->q, dim, magnitude * pow(10, check_uniform(-1, 2)),
				check_below(3) == 0 ? NULL : offset);
	if (check_below(4) == 0)
		memcpy(rows->q, rows->x + check_below(ROWS) * dim,
			   sizeof(float) * dim);

	switch (check_below(5))
	{
		case 0:
			free(rows->center);
			rows->center = NULL;
			break;
		case 1:
			memcpy(rows->center, rows->x + check_below(ROWS) * dim,
				   sizeof(float) * dim);
			break;
		case 2:
			draw_vector(rows->center, dim, magnitude, NULL);
			break;
		default:
			for (int j = 0; j < dim; j++)
			{
				double		sum = 0;

				for (int i = 0; i < ROWS; i++)
					sum += rows->x[i * dim + j];
				rows->center[j] = to_float(sum / ROWS);
			}
	}
	free(offset);
	encode_rows(rows);
}

/* Compare what is kept of a row with the row, in more digits. */
static void
check_info(const Rows *rows, int i)
{
	const float *x = rows->x + i * rows->dim;
	const int8_t *code = rows->code + i * rows->dim;
	long double missed = 0;
	long double sqnorm = 0;
	long double norm = 0;
	long double largest = 0;
	long double distance = 0;
	float		rounded;
	bool		good = true;

	for (int j = 0; j < rows->dim; j++)
	{
		long double r = (long double) x[j] -
			(rows->center ? rows->center[j] : 0);
		long double y = (long double) rows->scale[i] * code[j];

		missed += (r - y) * (r - y);
		sqnorm += y * y;
		norm += (long double) x[j] * x[j];
		distance += r * r;
		largest = fmaxl(largest, fabsl(r));
		good &= code[j] >= -NW_CODE_MAX;
	}
	CHECK(good, "a code is below -127");
	missed = sqrtl(missed);
	norm = sqrtl(norm);
	distance = sqrtl(distance);

	CHECK(rows->error[i] >= missed, "error %g, %Lg missed", rows->error[i],
		  missed);
	CHECK(isinf(rows->norm[i]) ? norm > 0.9999L * FLT_MAX :
		  fabsl(rows->norm[i] - norm) <= norm * 0x1p-23L + 0x1p-149L,
		  "norm %g, not %Lg", rows->norm[i], norm);
	CHECK((rows->norm[i] == 0) == (norm == 0), "norm %g, not %Lg",
		  rows->norm[i], norm);
	if (isinf(rows->error[i]))
		CHECK(rows->scale[i] == 0 && rows->sqnorm[i] == 0 &&
			  (distance > 1e19L || norm > 0.9999L * FLT_MAX),
			  "no code at distance %Lg", distance);
	else
	{
		CHECK(rows->error[i] <= missed * (1 + 1e-6L) + distance * 1e-14L +
			  0x1p-149L, "error %g, only %Lg missed", rows->error[i], missed);
		CHECK(rows->scale[i] <= largest / NW_CODE_MAX * (1 + 1e-6L) + 0x1p-149L,
			  "scale %g, largest %Lg", rows->scale[i], largest);
		CHECK(rows->error[i] <= rows->scale[i] * sqrtl(rows->dim) *
			  (0.5L + 1e-6L) + 0x1p-149L, "error %g, scale %g",
			  rows->error[i], rows->scale[i]);
		CHECK(fabsl(rows->sqnorm[i] - sqnorm) <= sqnorm * 0x1p-23L + 0x1p-149L,
			  "sqnorm %g, not %Lg", rows->sqnorm[i], sqnorm);
	}

	rounded = nw_code_distance_up(x, rows->center, rows->dim);
	CHECK(rounded >= distance, "distance %g, not %Lg", rounded, distance);
	CHECK(isinf(rounded) ? distance > 0.9999L * FLT_MAX :
		  rounded <= distance * (1 + 1e-6L) + 0x1p-149L,
		  "distance %g, not %Lg", rounded, distance);
}

/* Compare scores of rows with their bounds. */
static void
check_bounds(const Rows *rows, NwKernel kernel, double tau, double magnitude)
{
	int			dim = rows->dim;
	double	   *space = check_alloc(sizeof(double) * dim);
	float	   *t = check_alloc(sizeof(float) * dim);
	double		norms[ROWS];
	double		score[ROWS];
	double		lower[ROWS];
	double		upper[ROWS];
	double		most = kernel == NW_DOT ? HUGE_VAL :
		kernel == NW_COSINE ? 1 / tau : 0;
	double		radius = 0;
	double		norm_min = HUGE_VAL;
	double		norm_max = 0;
	double		low;
	double		high;
	NwQuery		query;
	NwCodeQuery cq;

	nw_query_init(&query, kernel, tau, rows->q, dim, space);
	nw_row_norms(kernel, rows->x, dim, ROWS, norms);
	nw_query_measure(&query, rows->x, norms, ROWS, score);
	nw_query_score(&query, score, ROWS, score);

	nw_code_query(&cq, &query, rows->center, t);
	nw_code_bounds(&cq, rows->code, rows->scale, rows->error, rows->sqnorm,
				   rows->norm, ROWS, lower, upper);
	for (int i = 0; i < ROWS; i++)
	{
		CHECK(lower[i] <= score[i] && score[i] <= upper[i] &&
			  upper[i] <= most,
			  "%s %s dim %d magnitude %g tau %g: %.17g not in %.17g .. %.17g",
			  nw_simd->name, nw_kernel_name(kernel), dim, magnitude, tau,
			  score[i], lower[i], upper[i]);
	}

	/* a ball of any number of the rows */
	for (int i = 0; i < ROWS; i++)
	{
		radius = fmax(radius, nw_code_distance_up(rows->x + i * dim,
												  rows->center, dim));
		norm_min = fmin(norm_min, rows->norm[i]);
		norm_max = fmax(norm_max, rows->norm[i]);
		nw_ball_bounds(&query, rows->center, radius, norm_min, norm_max, &low,
					   &high);
		for (int k = 0; k <= i; k++)
		{
			CHECK(low <= score[k] && score[k] <= high && high <= most,
				  "ball %s %s dim %d magnitude %g tau %g: %.17g not in %.17g .. %.17g",
				  nw_simd->name, nw_kernel_name(kernel), dim, magnitude, tau,
				  score[k], low, high);
		}
	}
	free(space);
	free(t);
}

/* Compare rows of one kind with their bounds, by all kernels. */
static void
check_rows(int dim, double magnitude)
{
	Rows		rows;

	draw_rows(&rows, dim, magnitude);
	for (int i = 0; i < ROWS; i++)
		check_info(&rows, i);
	for (int k = 0; k < COUNT(kernels); k++)
		check_bounds(&rows, kernels[k], taus[check_below(COUNT(taus))],
					 magnitude);
	free_rows(&rows);
}

int
main(void)
{
	check_start("code");
	for (int s = 0; s < COUNT(names); s++)
	{
		const NwSimd *simd = nw_simd_find(names[s]);

		if (simd == NULL)
			continue;
		nw_simd = simd;
		for (int d = 0; d < COUNT(dims); d++)
		{
			for (int m = 0; m < COUNT(magnitudes); m++)
			{
				for (int r = 0; r < (dims[d] > 200 ? 2 : 20); r++)
					check_rows(dims[d], magnitudes[m]);
			}
		}
	}
	return check_finish();
}
