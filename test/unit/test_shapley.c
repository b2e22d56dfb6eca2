/*
 * test_shapley.c
 *		Values of supports: equal to their definition, over all sets of
 *		supports and, where some are equally near, over all orders of these.
 */
#include <math.h>
#include <string.h>

#include "check.h"
#include "math/shapley.h"

#define MOST 9
#define LARGE 1000

static double score[LARGE];
static bool match[LARGE];
static double value[LARGE];
static NwNeighbour near[LARGE];
static NwNeighbour spare[LARGE];

/*
 * The probability of the query's label among the k nearest of a set of supports, where
 * those that are equally near have places by chance.
 */
static double
worth(unsigned set, int n, int k)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
	{
		int nearer = 0;
		int equal = 0;

		if (!(set & 1u << i) || !match[i])
			continue;
		for (int j = 0; j < n; j++)
		{
			nearer += (set & 1u << j) && score[j] > score[i];
			equal += (set & 1u << j) && score[j] == score[i];
		}
		sum += fmin(1, fmax(0, (double) (k - nearer) / equal));
	}
	return sum / k;
}

/* The Shapley value of a support, by its definition. */
static double
by_definition(int i, int n, int k)
{
	double sum = 0;

	for (unsigned set = 0; set < 1u << n; set++)
	{
		int size = __builtin_popcount(set);

		if (set & 1u << i)
			continue;
		/* size! (n - size - 1)! / n! */
		sum += (worth(set | 1u << i, n, k) - worth(set, n, k)) *
		       exp(lgamma(size + 1) + lgamma(n - size) - lgamma(n + 1));
	}
	return sum;
}

/* Compute all values; returns how many supports are not left out. */
static int64_t
compute(int n, int k)
{
	int64_t taken = nw_neighbours_take(near, score, n);

	memset(value, 0, sizeof(value));
	nw_neighbours_sort(near, spare, taken);
	nw_shapley_of_query(near, taken, k, match, value);
	return taken;
}

static void
test_definition(void)
{
	for (int round = 0; round < 400; round++)
	{
		int n = 1 + check_below(MOST);
		int k = 1 + check_below(MOST + 3);
		int places = round % 3 == 0 ? 2 : round % 3 == 1 ? 4 : 1000000;

		for (int i = 0; i < n; i++)
		{
			score[i] = -check_below(places);
			match[i] = check_below(2);
		}
		compute(n, k);
		for (int i = 0; i < n; i++)
			CHECK(fabs(value[i] - by_definition(i, n, k)) < 1e-12, "n %d, k %d, support %d: %g", n,
			      k, i, value[i]);
	}
}

static void
test_sum(void)
{
	for (int round = 0; round < 200; round++)
	{
		int k = 1 + check_below(LARGE + 100);
		int left_out = round % 2 ? check_below(LARGE) : -1;
		double sum = 0;
		double vote = 0;

		for (int i = 0; i < LARGE; i++)
		{
			score[i] = round % 4 < 2 ? check_normal() : -check_below(50);
			match[i] = check_below(3) == 0;
		}
		if (left_out >= 0)
			score[left_out] = -HUGE_VAL;
		CHECK(compute(LARGE, k) == LARGE - (left_out >= 0), "all but one");
		for (int i = 0; i < LARGE; i++)
		{
			int nearer = 0;
			int equal = 0;

			sum += value[i];
			for (int j = 0; j < LARGE; j++)
			{
				nearer += score[j] > score[i];
				equal += score[j] == score[i];
			}
			if (i != left_out && match[i])
				vote += fmin(1, fmax(0, (double) (k - nearer) / equal)) / k;
		}
		CHECK(fabs(sum - vote) < 1e-12, "k %d: %.17g, not %.17g", k, sum, vote);
		CHECK(left_out < 0 || value[left_out] == 0, "what is left out has no value");
	}
}

static void
test_order(void)
{
	const double scores[] = {1e300, -1e-300, 0.0, -0.0, -1e300, 5e-324, -5e-324, 1, -1};
	const int n = (int) (sizeof(scores) / sizeof(scores[0]));

	memcpy(score, scores, sizeof(scores));
	CHECK(nw_neighbours_take(near, score, n) == n, "all");
	nw_neighbours_sort(near, spare, n);
	for (int i = 1; i < n; i++)
	{
		double nearer = score[near[i - 1].row];
		double farther = score[near[i].row];

		CHECK(nearer >= farther, "%g before %g", nearer, farther);
		CHECK((nearer == farther) == (near[i - 1].key == near[i].key), "%g, %g", nearer, farther);
	}
	nw_neighbours_sort(near, spare, 0);
	nw_shapley_of_query(near, 0, 1, match, value);
}

/* Copies of a row are worth the same, to the last bit, wherever they stand. */
static void
test_copies(void)
{
	for (int i = 0; i < LARGE; i++)
	{
		score[i] = -(i % 7);
		match[i] = i % 7 < 3 && i % 2;
	}
	compute(LARGE, 5);
	for (int i = 14; i < LARGE; i++)
		CHECK(value[i] == value[i - 14], "support %d", i);
}

int
main(void)
{
	check_start("shapley");
	test_definition();
	test_sum();
	test_order();
	test_copies();
	return check_finish();
}
