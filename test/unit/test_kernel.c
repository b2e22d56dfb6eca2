/*
 * test_kernel.c
 *		Kernels: names, measures, scores and distances.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "check.h"
#include "math/kernel.h"
#include "math/simd/simd.h"
#include "simd_names.h"

static const NwKernel kernels[] = {NW_EUCLIDEAN, NW_GAUSSIAN, NW_HYPERSPHERE, NW_COSINE, NW_DOT};

#define KERNEL_COUNT 5

/* Tell whether two numbers agree to nearly all digits. */
static bool
near(double a, double b)
{
	return fabs(a - b) <= 1e-15 * (1 + fabs(b));
}

/* Look names up and back. */
static void
check_names(void)
{
	static const char *const names[] = {"euclidean", "gaussian", "hypersphere", "cosine", "dot"};
	NwKernel kernel;
	char list[100] = "";

	for (int k = 0; k < KERNEL_COUNT; k++)
	{
		CHECK(nw_kernel_parse(names[k], &kernel) && kernel == kernels[k], "%s", names[k]);
		CHECK(strcmp(nw_kernel_name(kernels[k]), names[k]) == 0, "%s", names[k]);
		CHECK(nw_kernel_needs_norms(kernels[k]) == (k == 2 || k == 3), "%s", names[k]);
		strcat(strcat(list, k > 0 ? ", " : ""), names[k]);
	}
	CHECK(strcmp(list, NW_KERNEL_NAMES) == 0, "%s", list);
	CHECK(!nw_kernel_parse("Cosine", &kernel), "case counts");
	CHECK(!nw_kernel_parse("", &kernel), "an empty name");
}

/* Check which temperatures are usable. */
static void
check_tau(void)
{
	CHECK(nw_tau_is_valid(1) && nw_tau_is_valid(NW_TAU_MIN) && nw_tau_is_valid(NW_TAU_MAX),
	      "within the limits");
	CHECK(!nw_tau_is_valid(0) && !nw_tau_is_valid(-1) && !nw_tau_is_valid(NAN) &&
	          !nw_tau_is_valid(HUGE_VAL) && !nw_tau_is_valid(-HUGE_VAL) &&
	          !nw_tau_is_valid(NW_TAU_MIN / 2) && !nw_tau_is_valid(NW_TAU_MAX * 2),
	      "outside of them");
}

/* Check values worked out by hand. */
static void
check_values(void)
{
	static const float q[2] = {3, 4};
	static const float x[5][2] = {{3, 4}, {0, 0}, {6, 8}, {-4, 3}, {-3, -4}};
	static const double measures[KERNEL_COUNT][5] = {{0, 25, 25, 50, 100},
	                                                 {0, 25, 25, 50, 100},
	                                                 {0, 1, 0, 2, 4},
	                                                 {1, 0, 1, 0, -1},
	                                                 {25, 0, 50, 0, -25}};
	static const double distances[KERNEL_COUNT][5] = {{0, 5, 5, 7.0710678118654755, 10},
	                                                  {0, 5, 5, 7.0710678118654755, 10},
	                                                  {0, 1, 0, 1.4142135623730951, 2},
	                                                  {0, 1, 0, 1, 2},
	                                                  {-25, 0, -50, 0, 25}};
	static const double scores[KERNEL_COUNT][5] = {{0, -10, -10, -14.142135623730951, -20},
	                                               {0, -50, -50, -100, -200},
	                                               {0, -2, 0, -2.8284271247461903, -4},
	                                               {2, 0, 2, 0, -2},
	                                               {50, 0, 100, 0, -50}};
	double norms[5];

	nw_inverse_norms(x[0], 2, 5, norms);
	CHECK(norms[0] == 0.2 && norms[1] == 0 && norms[2] == 0.1, "%a %a %a", norms[0], norms[1],
	      norms[2]);

	for (int k = 0; k < KERNEL_COUNT; k++)
	{
		NwQuery query;
		double space[2];
		double measure[5];
		double score[5];

		nw_query_init(&query, kernels[k], 0.5, q, 2, space);
		nw_query_measure(&query, x[0], nw_kernel_needs_norms(kernels[k]) ? norms : NULL, 5,
		                 measure);
		nw_query_score(&query, measure, 5, score);
		for (int i = 0; i < 5; i++)
		{
			CHECK(near(measure[i], measures[k][i]), "%s, row %d: %.17g", nw_kernel_name(kernels[k]),
			      i, measure[i]);
			CHECK(near(nw_query_distance(&query, measure[i]), distances[k][i]), "%s, row %d: %.17g",
			      nw_kernel_name(kernels[k]), i, nw_query_distance(&query, measure[i]));
			CHECK(near(score[i], scores[k][i]), "%s, row %d: %.17g", nw_kernel_name(kernels[k]), i,
			      score[i]);
		}

		/* in place */
		nw_query_score(&query, measure, 5, measure);
		CHECK(memcmp(measure, score, sizeof(score)) == 0, "%s", nw_kernel_name(kernels[k]));
	}
}

/* Check that zero and extreme vectors lead to finite numbers. */
static void
check_extremes(void)
{
	static const float vectors[][3] = {{0, 0, 0},
	                                   {1e-45f, 0, 0},
	                                   {-FLT_MAX, FLT_MAX, FLT_MAX},
	                                   {FLT_MAX, -FLT_MAX, -FLT_MAX},
	                                   {FLT_MIN, 1, 0},
	                                   {-0.0f, 0, -0.0f}};
	enum
	{
		count = sizeof(vectors) / sizeof(vectors[0])
	};
	static const double taus[] = {NW_TAU_MIN, 1, NW_TAU_MAX};
	double norms[count];

	for (int k = 0; k < KERNEL_COUNT; k++)
	{
		nw_row_norms(kernels[k], vectors[0], 3, count, norms);
		for (int j = 0; j < count * 3; j++)
		{
			NwQuery query;
			double space[3];
			double measure[count];
			double score[count];

			nw_query_init(&query, kernels[k], taus[j % 3], vectors[j / 3], 3, space);
			nw_query_measure(&query, vectors[0], norms, count, measure);
			nw_query_score(&query, measure, count, score);
			for (int i = 0; i < count; i++)
				CHECK(isfinite(measure[i]) && isfinite(score[i]) &&
				          isfinite(nw_query_distance(&query, measure[i])),
				      "%s, tau %g, %d against %d: %g %g", nw_kernel_name(kernels[k]), taus[j % 3],
				      j / 3, i, measure[i], score[i]);
		}
	}
}

/* Check properties of random vectors, with the implementation in use. */
static void
check_random_vectors(void)
{
	enum
	{
		dim = 37,
		rows = 51
	};
	float x[rows * dim];
	double norms[rows];

	for (int i = 0; i < rows * dim; i++)
		x[i] = (float) check_uniform(-1, 1);

	for (int k = 0; k < KERNEL_COUNT; k++)
	{
		double tau = check_uniform(0.01, 3);
		NwQuery query;
		double space[dim];
		double measure[rows];
		double score[rows];

		/* the query is row 7 */
		nw_row_norms(kernels[k], x, dim, rows, norms);
		nw_query_init(&query, kernels[k], tau, x + 7 * dim, dim, space);
		nw_query_measure(&query, x, norms, rows, measure);
		nw_query_score(&query, measure, rows, score);
		for (int i = 0; i < rows; i++)
		{
			double distance = nw_query_distance(&query, measure[i]);
			double alone;

			if (kernels[k] == NW_COSINE)
				CHECK(fabs(measure[i]) <= 1, "%a", measure[i]);
			if (kernels[k] == NW_EUCLIDEAN)
			{
				double same = nw_distance_score(distance, tau);

				CHECK(memcmp(&same, &score[i], sizeof(double)) == 0, "%a, not %a", same, score[i]);
			}

			/*
			 * a row has one measure and one score, wherever it stands and
			 * whether its norm was kept or not
			 */
			nw_query_measure(&query, x + i * dim,
			                 nw_kernel_needs_norms(kernels[k]) ? norms + i : NULL, 1, &alone);
			CHECK(memcmp(&alone, &measure[i], sizeof(double)) == 0, "%s: %a, not %a",
			      nw_kernel_name(kernels[k]), alone, measure[i]);
			nw_query_score(&query, &alone, 1, &alone);
			CHECK(memcmp(&alone, &score[i], sizeof(double)) == 0, "%s: %a, not %a",
			      nw_kernel_name(kernels[k]), alone, score[i]);
			if (kernels[k] != NW_DOT)
				CHECK(score[i] <= score[7], "%s: %a above %a", nw_kernel_name(kernels[k]), score[i],
				      score[7]);
		}
		if (kernels[k] == NW_EUCLIDEAN || kernels[k] == NW_GAUSSIAN)
			CHECK(measure[7] == 0, "%a", measure[7]);
		if (kernels[k] == NW_HYPERSPHERE)
			CHECK(measure[7] < 1e-30, "%a", measure[7]);
		if (kernels[k] == NW_COSINE)
			CHECK(near(measure[7], 1), "%a", measure[7]);
	}
}

/*
 * Check distances of vectors that lie close together and far from the origin,
 * where a difference of norms would lose its digits.
 */
static void
check_cancellation(void)
{
	static const int dims[] = {1, 5, 16, 37, 128, 1000};

	for (int i = 0; i < 3000; i++)
	{
		int dim = dims[check_below(6)];
		double offset = pow(10, check_uniform(-3, 6));
		double apart = pow(10, check_uniform(-7, 1));
		float q[1000];
		float x[1000];
		double space[1000];
		long double exact = 0;
		NwQuery query;
		double norm;
		double measure;
		double kept;

		for (int j = 0; j < dim; j++)
		{
			long double diff;

			q[j] = (float) (offset + check_uniform(-1, 1));
			x[j] = (float) (q[j] * (1 + apart * check_uniform(-1, 1)));
			diff = (long double) q[j] - x[j];
			exact += diff * diff;
		}
		nw_query_init(&query, NW_EUCLIDEAN, 1, q, dim, space);
		nw_row_norms(NW_EUCLIDEAN, x, dim, 1, &norm);
		nw_query_measure(&query, x, NULL, 1, &measure);
		nw_query_measure(&query, x, &norm, 1, &kept);
		CHECK(fabsl(measure - exact) <= exact * (dim / 16 + 8) * 0x1p-43L,
		      "%s dim %d offset %g apart %g: %.17g, not %.17Lg", nw_simd->name, dim, offset, apart,
		      measure, exact);
		CHECK(memcmp(&measure, &kept, sizeof(double)) == 0, "%a, not %a", kept, measure);
	}
}

/* Check that rounding leads no cosine of parallel vectors beyond 1. */
static void
check_parallel(void)
{
	for (int i = 0; i < 2000; i++)
	{
		int dim = 1 + check_below(20);
		float x[40];
		double norms[2];
		NwQuery query;
		double space[20];
		double measure[2];

		for (int j = 0; j < dim; j++)
			x[j] = (float) check_uniform(-1, 1);
		for (int j = 0; j < dim; j++)
			x[dim + j] = -2 * x[j];
		nw_inverse_norms(x, dim, 2, norms);
		nw_query_init(&query, NW_COSINE, 1, x, dim, space);
		nw_query_measure(&query, x, norms, 2, measure);
		CHECK(near(measure[0], 1) && measure[0] <= 1, "%a", measure[0]);
		CHECK(near(measure[1], -1) && measure[1] >= -1, "%a", measure[1]);
	}
}

int
main(void)
{
	check_start("kernel");
	check_names();
	check_tau();
	for (int k = 0; k < SIMD_COUNT; k++)
	{
		nw_simd = nw_simd_find(simd_names[k]);
		if (nw_simd == NULL)
			continue;
		check_values();
		check_extremes();
		check_random_vectors();
		check_parallel();
		check_cancellation();
	}
	CHECK(nw_distance_score(0, 1) == 0, "at no distance");
	CHECK(nw_distance_score(DBL_MAX, NW_TAU_MIN) == -HUGE_VAL, "beyond double's range");
	return check_finish();
}
