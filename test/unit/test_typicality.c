/*
 * test_typicality.c
 *		Ranks among distances against counting, Kolmogorov's distribution against
 *		its tables, and the two series of it against each other.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "math/typicality.h"

#define MOST 50

static int
compare(const void *a, const void *b)
{
	double x = *(const double *) a;
	double y = *(const double *) b;

	return (x > y) - (x < y);
}

/* Compare a rank with its definition. */
static void
check_rank(const NwTypical *typical, double distance)
{
	int rank = 1;

	for (int i = 0; i < typical->n; i++)
		rank += typical->distance[i] >= distance;
	CHECK(nw_typical_rank(typical, distance) == rank, "%a among %d", distance, typical->n);
}

/* Look for distances, between them, and beyond. */
static void
check_ranks(void)
{
	for (int n = 0; n <= MOST; n++)
	{
		double *distance = check_alloc(sizeof(double) * (size_t) n);
		NwTypical typical = {.k = 1, .n = n, .distance = distance};

		for (int i = 0; i < n; i++)
			distance[i] = n % 2 ? check_below(10) : check_uniform(-1, 10);
		qsort(distance, (size_t) n, sizeof(double), compare);
		for (int i = 0; i < n; i++)
		{
			check_rank(&typical, distance[i]);
			check_rank(&typical, nextafter(distance[i], HUGE_VAL));
			check_rank(&typical, nextafter(distance[i], -HUGE_VAL));
		}
		CHECK(nw_typical_rank(&typical, HUGE_VAL) == 1, "%d", n);
		CHECK(nw_typical_rank(&typical, -HUGE_VAL) == n + 1, "%d", n);
		free(distance);
	}
	CHECK(nw_typicality(20, 19) == 1 && nw_typicality(1, 19) == 0.05, "ends");
}

/* Compare what is said of ranks with a list of all queries. */
static void
check_drift(int n, int queries)
{
	int64_t *count = check_alloc(sizeof(int64_t) * ((size_t) n + 1));
	double *p = check_alloc(sizeof(double) * (size_t) queries);
	NwDrift drift = {.n = n, .count = count, .queries = queries};
	int64_t below = 0;
	double mean = 0;
	double most[2] = {0, 0};
	double farther;
	double closer;
	double got;

	memset(count, 0, sizeof(int64_t) * ((size_t) n + 1));
	for (int i = 0; i < queries; i++)
	{
		int rank = 1 + check_below(n + 1);

		count[rank - 1]++;
		p[i] = (double) rank / (n + 1);
		mean += p[i] / queries;
		below += p[i] < 0.25;
	}
	for (int j = 1; j <= n + 1; j++)
	{
		double at = (double) j / (n + 1);
		double share = 0;

		for (int i = 0; i < queries; i++)
			share += p[i] <= at;
		most[0] = fmax(most[0], share / queries - at);
		most[1] = fmax(most[1], at - share / queries);
	}
	got = nw_drift_distance(&drift, &farther, &closer);
	CHECK(nw_drift_below(&drift, 0.25) == below, "%d, %d", n, queries);
	CHECK(fabs(nw_drift_mean(&drift) - mean) < 1e-12, "%d, %d", n, queries);
	CHECK(fabs(farther - most[0]) < 1e-12 && fabs(closer - most[1]) < 1e-12, "%d, %d", n, queries);
	CHECK(got == fmax(farther, closer), "%d, %d", n, queries);
	CHECK(nw_drift_chance(&drift, 0) == 1, "%d, %d", n, queries);
	CHECK(nw_drift_chance(&drift, 1) < 1, "%d, %d", n, queries);
	free(count);
	free(p);
}

/* The distribution by its definition, for x that is not small. */
static double
by_definition(double x)
{
	long double sum = 0;

	for (int i = 200; i > 0; i--)
		sum += (i % 2 ? 2 : -2) * expl(-2.0L * i * i * x * x);
	return (double) sum;
}

static void
check_kolmogorov(void)
{
	double before = 1;

	/* the critical values that textbooks print */
	CHECK(fabs(nw_kolmogorov(1.22385) - 0.1) < 1e-5, "10 percent");
	CHECK(fabs(nw_kolmogorov(1.35810) - 0.05) < 1e-5, "5 percent");
	CHECK(fabs(nw_kolmogorov(1.62762) - 0.01) < 1e-5, "1 percent");
	CHECK(nw_kolmogorov(0) == 1 && nw_kolmogorov(-1) == 1 && nw_kolmogorov(1e-200) == 1, "none");
	CHECK(nw_kolmogorov(50) == 0 && nw_kolmogorov(HUGE_VAL) == 0, "all");
	for (double x = 0.01; x < 8; x += 0.01)
	{
		double got = nw_kolmogorov(x);

		CHECK(got >= 0 && got <= before, "%g: %g after %g", x, got, before);
		if (x > 0.15)
			CHECK(fabs(got - by_definition(x)) < 1e-14, "%g: %g", x, got);
		before = got;
	}
}

int
main(void)
{
	check_start("typicality");
	check_ranks();
	for (int n = 1; n < 40; n += 3)
	{
		for (int queries = 1; queries < 100; queries += 11)
			check_drift(n, queries);
	}
	check_kolmogorov();
	return check_finish();
}
