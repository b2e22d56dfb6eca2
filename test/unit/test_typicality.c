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

/* Compare what is said of ranks with lists of all distances, of which some may be equal. */
static void
check_drift(int n, int queries, int values)
{
	int64_t *count = check_alloc(sizeof(int64_t) * ((size_t) n + 1));
	double *distance = check_alloc(sizeof(double) * (size_t) n);
	double *asked = check_alloc(sizeof(double) * (size_t) queries);
	NwTypical typical = {.k = 1, .n = n, .distance = distance};
	NwDrift drift = {.typical = &typical, .count = count, .queries = queries};
	int64_t below = 0;
	double mean = 0;
	double most[2] = {0, 0};
	double farther;
	double closer;
	double got;

	memset(count, 0, sizeof(int64_t) * ((size_t) n + 1));
	for (int i = 0; i < n; i++)
		distance[i] = check_below(values);
	qsort(distance, (size_t) n, sizeof(double), compare);
	for (int i = 0; i < queries; i++)
	{
		double p;
		int rank;

		asked[i] = check_below(values);
		rank = nw_typical_rank(&typical, asked[i]);
		count[rank - 1]++;
		p = (double) rank / (n + 1);
		mean += p / queries;
		below += p < 0.25;
	}

	/* beyond each distance: the share of the queries, and that of the distances and one more */
	for (int j = 0; j < n; j++)
	{
		double v = distance[j];
		double share = 0;
		double expected = 1;
		double difference;

		for (int i = 0; i < queries; i++)
			share += asked[i] > v;
		for (int i = 0; i < n; i++)
			expected += distance[i] > v;
		difference = share / queries - expected / (n + 1);
		most[0] = fmax(most[0], difference);
		most[1] = fmax(most[1], -difference);
	}
	got = nw_drift_distance(&drift, &farther, &closer);
	CHECK(nw_drift_below(&drift, 0.25) == below, "%d, %d", n, queries);
	CHECK(fabs(nw_drift_mean(&drift) - mean) < 1e-12, "%d, %d", n, queries);
	CHECK(fabs(farther - most[0]) < 1e-12, "%d, %d, %d: %g, %g", n, queries, values, farther,
	      most[0]);
	CHECK(fabs(closer - most[1]) < 1e-12, "%d, %d, %d: %g, %g", n, queries, values, closer,
	      most[1]);
	CHECK(got == fmax(farther, closer), "%d, %d", n, queries);
	CHECK(nw_drift_chance(&drift, 0) == 1, "%d, %d", n, queries);
	CHECK(nw_drift_chance(&drift, 1) < 1, "%d, %d", n, queries);
	free(count);
	free(distance);
	free(asked);
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
		{
			check_drift(n, queries, 1);
			check_drift(n, queries, 5);
			check_drift(n, queries, 1000);
		}
	}
	check_kolmogorov();
	return check_finish();
}
