/*
 * test_copies.c
 *		Half-size copies: no score may be farther off than they say.
 */
#include <math.h>
#include <string.h>

#include "check.h"
#include "math/copies.h"
#include "math/simd/scalar.h"
#include "math/simd/simd.h"
#include "simd_names.h"

#define ROWS 9

static const NwKernel kernels[] = {NW_EUCLIDEAN, NW_GAUSSIAN, NW_HYPERSPHERE};
static const int dims[] = {1, 2, 3, 7, 15, 16, 17, 31, 33, 64, 100, 128, 129, 768, 1999, 16000};
static const double magnitudes[] = {1e-20, 1e-3, 1, 50, 1e15};

/* Draw a vector; now and then one of zeros, or with one large number. */
static void
draw_vector(float *x, int dim, double magnitude)
{
	int kind = check_below(8);

	for (int j = 0; j < dim; j++)
		x[j] = kind == 0 ? 0 : (float) (check_uniform(-1, 1) * magnitude);
	if (kind == 1)
		x[check_below(dim)] *= 1000;
}

/* Compare the scores of copies with those of their vectors. */
static void
compare_scores(NwKernel kernel, int dim, double magnitude, double tau)
{
	float *x = check_alloc(sizeof(float) * ROWS * dim);
	float *q = check_alloc(sizeof(float) * dim);
	float *t = check_alloc(sizeof(float) * dim);
	double *space = check_alloc(sizeof(double) * dim);
	int16_t *copy = check_alloc(sizeof(int16_t) * ROWS * dim);
	double scale[ROWS];
	double exact[ROWS];
	double copied[ROWS];
	NwCopies common;
	NwQuery query;
	double largest;
	double bound;

	for (int i = 0; i < ROWS; i++)
		draw_vector(x + i * dim, dim, magnitude);
	draw_vector(q, dim, magnitude);
	if (check_below(4) == 0)
		memcpy(q, x, sizeof(float) * dim);
	nw_query_init(&query, kernel, tau, q, dim, space);
	nw_inverse_norms(x, dim, ROWS, scale);

	if (nw_copies_init(&common,
	                   kernel == NW_HYPERSPHERE ? 1 : nw_copies_magnitude(x, (int64_t) ROWS * dim)))
	{
		nw_copies_copy(&common, x, kernel == NW_HYPERSPHERE ? scale : NULL, dim, ROWS, copy);
		nw_copies_query(&common, &query, t);
		nw_copies_measure(&common, t, copy, dim, ROWS, copied);
		nw_query_measure(&query, x, kernel == NW_HYPERSPHERE ? scale : NULL, ROWS, exact);
		largest = nw_simd->max(copied, ROWS);
		nw_query_score(&query, copied, ROWS, copied);
		nw_query_score(&query, exact, ROWS, exact);
		bound = nw_copies_score_error(&common, &query, largest);
		CHECK(isfinite(bound) && bound > 0, "bound %g", bound);
		for (int i = 0; i < ROWS; i++)
			CHECK(fabs(copied[i] - exact[i]) <= bound,
			      "%s kernel %d dim %d magnitude %g: %.17g, not %.17g, bound %g", nw_simd->name,
			      kernel, dim, magnitude, copied[i], exact[i], bound);

		/* and the bound is of some use */
		CHECK(kernel == NW_GAUSSIAN ||
		          bound * tau <= 1e-12 * tau + common.step * sqrt(dim) +
		                             1e-6 * (dim / 16 + 30) *
		                                 (sqrt(largest) + common.step * 32768 * sqrt(dim)),
		      "%s kernel %d dim %d magnitude %g: bound %g", nw_simd->name, kernel, dim, magnitude,
		      bound);
	}
	free(x);
	free(q);
	free(t);
	free(space);
	free(copy);
}

/* Compare the implementations of copying, number by number. */
static void
compare_copies(const NwSimd *fast, int dim)
{
	float *x = check_alloc(sizeof(float) * dim);
	int16_t *expected = check_alloc(sizeof(int16_t) * dim);
	int16_t *got = check_alloc(sizeof(int16_t) * dim);
	double a;
	double b;

	draw_vector(x, dim, 2);
	a = nw_simd_scalar.copies_copy(x, dim, 0.75, 1.0 / 4096, expected);
	b = fast->copies_copy(x, dim, 0.75, 1.0 / 4096, got);
	CHECK(memcmp(expected, got, sizeof(int16_t) * dim) == 0, "%s dim %d", fast->name, dim);
	CHECK(fabs(a - b) <= 1e-12 * a, "%s dim %d: error %g, not %g", fast->name, dim, b, a);
	free(x);
	free(expected);
	free(got);
}

int
main(void)
{
	check_start("copies");
	for (int s = 0; s < SIMD_COUNT; s++)
	{
		const NwSimd *simd = nw_simd_find(simd_names[s]);

		if (simd == NULL)
			continue;
		nw_simd = simd;
		for (unsigned int d = 0; d < sizeof(dims) / sizeof(dims[0]); d++)
		{
			compare_copies(simd, dims[d]);
			for (int k = 0; k < 3; k++)
			{
				for (int m = 0; m < 5; m++)
				{
					for (int r = 0; r < (dims[d] > 1000 ? 2 : 20); r++)
						compare_scores(kernels[k], dims[d], magnitudes[m],
						               pow(10, check_uniform(-3, 3)));
				}
			}
		}
	}
	CHECK(!nw_copies_serves(NW_DOT) && !nw_copies_serves(NW_COSINE),
	      "inner products have no distance");
	return check_finish();
}
