/*
 * test_nearest.c
 *		The k nearest, against sorting; the same in any order.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "math/nearest.h"

#define MOST 300

static int
compare(const void *a, const void *b)
{
	double x = *(const double *) a;
	double y = *(const double *) b;

	return (x > y) - (x < y);
}

/* The distance of the k-th neighbour by a list. */
static double
by_list(const NwQuery *query, int k, const double *measure, int n)
{
	double *space = check_alloc(sizeof(double) * (size_t) k);
	NwNearest nearest;
	double distance;

	nw_nearest_init(&nearest, query->kernel, k, space);
	for (int i = 0; i < n; i++)
	{
		if (nw_nearest_admits(&nearest, measure[i]))
			nw_nearest_add(&nearest, measure[i]);
	}
	distance = nw_nearest_distance(&nearest, query);
	free(space);
	return distance;
}

/* The same by sorting all distances. */
static double
by_sorting(const NwQuery *query, int k, const double *measure, int n)
{
	double distance[MOST];

	for (int i = 0; i < n; i++)
		distance[i] = nw_query_distance(query, measure[i]);
	qsort(distance, (size_t) n, sizeof(double), compare);
	return k <= n ? distance[k - 1] : HUGE_VAL;
}

/* Compare lists of random measures, many of them equal, in two orders. */
static void
check_kernel(NwKernel kernel)
{
	NwQuery query = {.kernel = kernel, .tau = 1};

	for (int round = 0; round < 2000; round++)
	{
		double measure[MOST];
		int n = check_below(MOST + 1);
		int k = 1 + check_below(round % 2 ? 8 : MOST);
		double low = kernel == NW_COSINE || kernel == NW_DOT ? -1 : 0;
		double got;
		double expected;

		for (int i = 0; i < n; i++)
			measure[i] = round % 3 ? check_uniform(low, 1) : floor(check_uniform(low * 4, 5)) / 4;
		expected = by_sorting(&query, k, measure, n);
		got = by_list(&query, k, measure, n);
		CHECK(got == expected, "%s, %d of %d: %a, not %a", nw_kernel_name(kernel), k, n, got,
		      expected);
		for (int i = n - 1; i > 0; i--)
		{
			int j = check_below(i + 1);
			double swap = measure[i];

			measure[i] = measure[j];
			measure[j] = swap;
		}
		CHECK(by_list(&query, k, measure, n) == got, "%s, shuffled", nw_kernel_name(kernel));
	}
}

/* Of zeros of both signs one comes out, whichever was first. */
static void
check_zeros(void)
{
	NwQuery query = {.kernel = NW_DOT, .tau = 1};
	const double zeros[3] = {-0.0, 0.0, -0.0};

	for (int n = 1; n <= 3; n++)
	{
		CHECK(!signbit(by_list(&query, 1, zeros, n)), "%d", n);
		CHECK(!signbit(by_list(&query, n, zeros + 3 - n, n)), "%d", n);
	}
}

int
main(void)
{
	check_start("nearest");
	check_kernel(NW_EUCLIDEAN);
	check_kernel(NW_GAUSSIAN);
	check_kernel(NW_HYPERSPHERE);
	check_kernel(NW_COSINE);
	check_kernel(NW_DOT);
	check_zeros();
	return check_finish();
}
