/*
 * math/typicality.c
 *		The rank of a distance among others, and how ranks are spread.
 *
 * The rank of d among d_1 ... d_n is 1 + #{i : d_i >= d}, and its typicality is
 * rank / (n + 1).  Where d and the d_i are exchangeable, no rank is more likely than
 * another, ties counted in favour of d: a typicality of at most a has a probability of
 * at most a.
 *
 * Ranks of many queries are then spread evenly, up to chance.  The largest difference
 * between the share of queries up to a rank and the typicality of that rank is the
 * statistic of Kolmogorov and Smirnov for two samples, of the queries and of the n, but
 * for 1 / (n + 1).  Of equal distances it looks at the last alone, as that statistic does:
 * no query has a rank between them.
 */
#include <math.h>
#include <stdbool.h>

#include "math/elementary.h"
#include "math/typicality.h"

#define PI 3.14159265358979323846

/* One more than there are distances at least as large. */
int
nw_typical_rank(const NwTypical *typical, double distance)
{
	int low = 0;
	int high = typical->n;

	/* find the first that is as large */
	while (low < high)
	{
		int middle = low + (high - low) / 2;

		if (typical->distance[middle] < distance)
			low = middle + 1;
		else
			high = middle;
	}
	return 1 + typical->n - low;
}

/* The typicality of a rank among n distances. */
double
nw_typicality(int rank, int n)
{
	return (double) rank / ((double) n + 1);
}

/* How many queries are less typical than that. */
int64_t
nw_drift_below(const NwDrift *drift, double typicality)
{
	int n = drift->typical->n;
	int64_t below = 0;

	for (int rank = 1; rank <= n + 1 && nw_typicality(rank, n) < typicality; rank++)
		below += drift->count[rank - 1];
	return below;
}

/* The mean typicality of the queries, of which there is one at least. */
double
nw_drift_mean(const NwDrift *drift)
{
	int n = drift->typical->n;
	double mean = 0;

	/* in the order of ranks, so that nothing shows of that of the queries */
	for (int rank = 1; rank <= n + 1; rank++)
		mean += (double) drift->count[rank - 1] / (double) drift->queries * nw_typicality(rank, n);
	return mean;
}

/* Say whether a distance can have a rank, from 1 to n: not where it is between equals. */
static bool
has_rank(const NwTypical *typical, int rank)
{
	const double *above = typical->distance + typical->n - (rank - 1);

	return rank == 1 || above[-1] < above[0];
}

/*
 * The largest difference between the share of queries up to a rank and the typicality of
 * that rank: where they are less typical (farther) than they should be, where they are
 * more (closer), and the larger of both.
 */
double
nw_drift_distance(const NwDrift *drift, double *farther, double *closer)
{
	int n = drift->typical->n;
	int64_t below = 0;

	*farther = *closer = 0;
	for (int rank = 1; rank <= n; rank++)
	{
		double difference;

		below += drift->count[rank - 1];
		if (!has_rank(drift->typical, rank))
			continue;
		difference = (double) below / (double) drift->queries - nw_typicality(rank, n);
		*farther = difference > *farther ? difference : *farther;
		*closer = -difference > *closer ? -difference : *closer;
	}
	return *farther > *closer ? *farther : *closer;
}

/*
 * How many own rows stand for one that is independent of the others.  Of draws of both sets
 * from one source, one in nine had a p-value below 0.05 without this, one in fifty has now.
 */
#define OWN_ROWS 1.5

/*
 * The probability that the largest difference is this large by chance.  The distribution
 * is that of many queries, with Stephens' correction for few; both samples count.  Own
 * rows that are each other's neighbours have distances that go together, as if there
 * were fewer of them.
 */
double
nw_drift_chance(const NwDrift *drift, double distance)
{
	double n = drift->typical->n;
	double queries = (double) drift->queries;
	double size = sqrt(n / (n + queries) * queries / (drift->typical->own ? OWN_ROWS : 1));

	return nw_kolmogorov((size + 0.12 + 0.11 / size) * distance);
}

/* The probability that Kolmogorov's distribution exceeds x. */
double
nw_kolmogorov(double x)
{
	double sum = 0;

	if (!(x > 0))
		return 1;

	/* two series for one function; five terms of either are enough on its side */
	if (x < 1)
	{
		for (int i = 9; i > 0; i -= 2)
			sum += nw_exp(-(i * i) * (PI * PI / 8) / (x * x));
		sum = 1 - sum * sqrt(2 * PI) / x;
	}
	else
	{
		for (int i = 5; i > 0; i--)
			sum += (i % 2 ? 2 : -2) * nw_exp(-2.0 * (i * i) * (x * x));
	}
	return sum > 0 ? (sum < 1 ? sum : 1) : 0;
}
