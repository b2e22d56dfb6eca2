/*
 * test_code_sum.c
 *		Sums over rows bounded by codes: no true sum may be outside, whatever
 *		part of the rows it is of.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "check.h"
#include "math/code_sum.h"
#include "math/simd/simd.h"
#include "math/spectral.h"
#include "simd_names.h"

#define ROWS 150

static const NwKernel kernels[] = {NW_EUCLIDEAN, NW_GAUSSIAN, NW_HYPERSPHERE, NW_COSINE, NW_DOT};
static const int dims[] = {1, 2, 3, 16, 31, 128, 300};

#define COUNT(array) ((int) (sizeof(array) / sizeof((array)[0])))

/* A list of rows, coded. */
typedef struct List
{
	int dim;
	int n;
	float *x;      /* [n][dim] */
	float *centre; /* [dim] */
	float *q;      /* [dim] */
	int8_t *code;  /* [n][dim] */
	float scale[ROWS];
	float error[ROWS];
	float sqnorm[ROWS];
	float norm[ROWS];
	double radius;
	double most_error;
	double least_norm;
	double spread;
} List;

/* Draw a list: rows around a centre, and a query as far from it as asked. */
static void
draw_list(List *list, int dim, int n, double size, double offset, double away)
{
	void *space = check_alloc(nw_spectral_memory(dim));
	float *rest = check_alloc(sizeof(float) * dim);
	NwSpectral matrix;
	double least;

	list->dim = dim;
	list->n = n;
	list->x = check_alloc(sizeof(float) * n * dim);
	list->centre = check_alloc(sizeof(float) * dim);
	list->q = check_alloc(sizeof(float) * dim);
	list->code = check_alloc((size_t) n * dim);
	for (int j = 0; j < dim; j++)
	{
		list->centre[j] = (float) (offset * check_normal());
		list->q[j] = (float) (list->centre[j] + away * check_normal());
	}
	list->radius = list->most_error = 0;
	list->least_norm = HUGE_VAL;
	nw_spectral_init(&matrix, dim, false, space);
	for (int i = 0; i < n; i++)
	{
		float *x = list->x + (long) i * dim;
		int8_t *code = list->code + (long) i * dim;
		NwCodeInfo info;
		double off;

		for (int j = 0; j < dim; j++)
			x[j] = (float) (list->centre[j] + size * check_normal());
		nw_code_encode(x, list->centre, dim, code, &info);
		off = nw_code_residual(x, list->centre, dim, code, &info, rest);
		nw_spectral_add(&matrix, rest, off);
		list->scale[i] = info.scale;
		list->error[i] = info.error;
		list->sqnorm[i] = info.sqnorm;
		list->norm[i] = info.norm;
		list->radius = fmax(list->radius, nw_code_distance_up(x, list->centre, dim));
		list->most_error = fmax(list->most_error, info.error);
		list->least_norm = fmin(list->least_norm, info.norm);
	}
	nw_spectral_norm(&matrix, &list->spread, &least);
	free(rest);
	free(space);
}

static void
free_list(List *list)
{
	free(list->x);
	free(list->centre);
	free(list->q);
	free(list->code);
}

/* The logarithm of the sum of exp(score). */
static double
log_sum(const double *score, int n)
{
	double top = -HUGE_VAL;
	long double sum = 0;

	for (int i = 0; i < n; i++)
		top = fmax(top, score[i]);
	for (int i = 0; i < n; i++)
		sum += expl((long double) score[i] - top);
	return (double) (top + logl(sum));
}

/*
 * Compare the sum over a part of the rows, in pages of some, with its bounds.
 * Returns the width of the bounds, or -1 where codes were too vague.
 */
static double
check_sum(const List *list, NwKernel kernel, double tau, int first, int n)
{
	int dim = list->dim;
	double *space = check_alloc(sizeof(double) * dim);
	float *t = check_alloc(sizeof(float) * dim);
	const float *x = list->x + (long) first * dim;
	float dot[ROWS];
	double norms[ROWS];
	double score[ROWS];
	bool sharp = true;
	double width = -1;
	NwQuery query;
	NwCodeQuery cq;
	NwCodeSum sum;

	nw_query_init(&query, kernel, tau, list->q, dim, space);
	nw_row_norms(kernel, x, dim, n, norms);
	nw_query_measure(&query, x, norms, n, score);
	nw_query_score(&query, score, n, score);

	nw_code_query(&cq, &query, list->centre, t);
	nw_code_dots(&cq, list->code + (long) first * dim, n, dot);
	nw_code_sum_init(&sum, &cq, list->radius, list->most_error, list->least_norm);
	for (int i = 0; i < n;)
	{
		int page = 1 + check_below(70);

		page = page < n - i ? page : n - i;
		sharp &=
			nw_code_sum_add(&sum, &cq, dot + i, list->scale + first + i, list->error + first + i,
		                    list->sqnorm + first + i, list->norm + first + i, page);
		i += page;
	}
	if (sharp)
	{
		double truth = log_sum(score, n);

		for (int known = 0; known < 2; known++)
		{
			double lower;
			double upper;

			nw_code_sum_bounds(&sum, &cq, known ? list->spread : HUGE_VAL, &lower, &upper);
			CHECK(lower <= truth + 1e-9 && truth <= upper + 1e-9,
			      "%s %s dim %d tau %g, %d rows, spread %g: %.17g not in %.17g .. %.17g",
			      nw_simd->name, nw_kernel_name(kernel), dim, tau, n, list->spread, truth, lower,
			      upper);
			CHECK(width < 0 || upper - lower <= width + 1e-12,
			      "%s %s dim %d tau %g: a known spread made bounds wider", nw_simd->name,
			      nw_kernel_name(kernel), dim, tau);
			width = upper - lower;
		}
	}
	free(space);
	free(t);
	return width;
}

/* Draw lists of all sizes, and check parts of them. */
static void
check_lists(void)
{
	int sharp = 0;
	int tried = 0;

	for (int r = 0; r < 120; r++)
	{
		List list;
		double size = pow(10, check_below(8) ? check_uniform(-6, 4) : check_uniform(-45, 36));

		draw_list(&list, dims[check_below(COUNT(dims))], 1 + check_below(ROWS), size,
		          check_below(2) ? 0 : pow(10, check_uniform(-4, 4)),
		          pow(10, check_uniform(-6, 4)));
		for (int k = 0; k < COUNT(kernels); k++)
		{
			int first = check_below(list.n);
			double tau = pow(10, check_uniform(-5, 5));

			sharp += check_sum(&list, kernels[k], tau, 0, list.n) >= 0;
			sharp += check_sum(&list, kernels[k], tau, first, 1 + check_below(list.n - first)) >= 0;
			tried += 2;
		}
		free_list(&list);
	}
	CHECK(sharp > tried / 3, "codes of %d of %d sums were too vague", tried - sharp, tried);
}

/*
 * Where rows go in all directions, what codes miss cancels out: bounds are much
 * narrower than those of single rows, whose widths are twice the reach.
 */
static void
check_width(void)
{
	for (int k = 0; k < COUNT(kernels); k++)
	{
		NwKernel kernel = kernels[k];
		bool root = kernel == NW_EUCLIDEAN || kernel == NW_HYPERSPHERE;
		double tau = kernel == NW_GAUSSIAN    ? 50
		             : kernel == NW_DOT       ? 30
		             : kernel == NW_EUCLIDEAN ? 1
		                                      : 0.1;
		List list;
		double one;
		double all;

		draw_list(&list, 128, ROWS, 1, kernel == NW_DOT ? 0 : 0.3, 1);
		one = check_sum(&list, kernel, tau, 0, 1);
		all = check_sum(&list, kernel, tau, 0, ROWS);
		CHECK(one > 0 && all > 0 && all < one / (root ? 3 : 2),
		      "%s %s: width %g of one row, %g of all", nw_simd->name, nw_kernel_name(kernel), one,
		      all);
		free_list(&list);
	}
}

/* Codes that tell nothing have to be found out. */
static void
check_vague(void)
{
	static const float huge[] = {FLT_MAX, 0};
	static const float origin[] = {0, 0};
	int8_t code[2];
	float t[2];
	float dot;
	double space[2];
	NwQuery query;
	NwCodeQuery cq;
	NwCodeInfo info;
	NwCodeSum sum;
	double lower;
	double upper;

	for (int k = 0; k < COUNT(kernels); k++)
	{
		nw_query_init(&query, kernels[k], 1, huge, 2, space);
		nw_code_query(&cq, &query, origin, t);
		nw_code_encode(huge, origin, 2, code, &info);
		nw_code_dots(&cq, code, 1, &dot);
		nw_code_sum_init(&sum, &cq, FLT_MAX, info.error, info.norm);
		CHECK(!nw_code_sum_add(&sum, &cq, &dot, &info.scale, &info.error, &info.sqnorm, &info.norm,
		                       1),
		      "%s: a row without a code was added", nw_kernel_name(kernels[k]));
		nw_code_sum_bounds(&sum, &cq, 0, &lower, &upper);
		CHECK(lower == -HUGE_VAL && upper == -HUGE_VAL, "%g .. %g of nothing", lower, upper);
	}
}

/* Compare moments with sums in more digits. */
static void
check_moments(void)
{
	for (int n = 0; n < 40; n++)
	{
		for (int over = 0; over < 2; over++)
		{
			double score[40];
			double shift = check_uniform(-50, 50);
			long double sum = 0;
			long double squares = 0;
			long double peak = 0;
			NwMoments moments;

			for (int i = 0; i < n; i++)
			{
				long double by;
				long double w;

				score[i] = shift - check_uniform(0, i % 7 == 3 ? 900 : 5) + 1;
				by = over ? 1 / fabsl((long double) score[i]) : 1;
				w = score[i] - shift < -700 ? 0 : expl((long double) score[i] - shift);
				sum += w;
				squares += w * by * w * by;
				peak = fmaxl(peak, w * by * by);
			}
			nw_simd->exp_moments(score, n, shift, over, &moments);
			CHECK(fabsl(moments.sum - sum) <= sum * 1e-13L &&
			          fabsl(moments.squares - squares) <= squares * 1e-13L &&
			          fabsl(moments.peak - peak) <= peak * 1e-13L,
			      "%s %d terms: %g %g %g, not %Lg %Lg %Lg", nw_simd->name, n, moments.sum,
			      moments.squares, moments.peak, sum, squares, peak);
		}
	}
}

int
main(void)
{
	check_start("code_sum");
	for (int i = 0; i < SIMD_COUNT; i++)
	{
		const NwSimd *simd = nw_simd_find(simd_names[i]);

		if (simd == NULL)
			continue;
		nw_simd = simd;
		check_moments();
		check_vague();
		check_width();
		check_lists();
	}
	return check_finish();
}
