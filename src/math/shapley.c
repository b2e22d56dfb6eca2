/*
 * math/shapley.c
 *		What each support is worth to a vote of the k nearest neighbours.
 *
 * The worth of some supports S to a query of label y is
 *
 *		v(S) = (1 / k) * (how many of the k nearest of S have label y),
 *
 * the probability that the k nearest give y; neighbours that S is too small to
 * have count as wrong.  The Shapley value of a support is what it adds to v on
 * average, over all orders in which all supports can arrive.  Let e_i be 1
 * where the i-th nearest of n has label y, else 0, and f(i) = 1 / max(k, i).
 * Jia et al. (2019) show that, if no two are equally near,
 *
 *		s_n = e_n f(n),		s_i = s_{i+1} + (e_i - e_{i+1}) f(i),
 *
 * which holds for n < k as well: v is a plain sum then, and every f is 1 / k.
 * Summed up,
 *
 *		s_i = e_i f(i) - R_i,	R_i = sum over j > i of e_j (f(j-1) - f(j)).
 *
 * Supports that are equally near share: the value is the mean over all their
 * orders, that is the Shapley value of a vote that breaks ties at random, so
 * copies of a row are worth the same, and no order of rows shows.  Of m in the
 * places a+1 .. b, c with label y, let d be the mean of f(p) - f(b) over these
 * places.  A support is at each place equally often, and where it is at p, any
 * other place has label y in (c - e) / (m - 1) of the orders; what the places
 * from p+1 to b take away adds up to f(p) - f(b), times that.  So
 *
 *		s = f(b) + d (m - c) / (m - 1) - R_b	with label y,
 *		s =      - d c / (m - 1) - R_b			with another,
 *
 * and R_a = R_b + (c / m) (f(a) - f(b)).  The values of all supports add up to
 * v of all.
 */
#include "math/shapley.h"

#include <math.h>
#include <string.h>

#define DIGIT_BITS 8
#define DIGITS (64 / DIGIT_BITS)
#define DIGIT_VALUES (1 << DIGIT_BITS)

/* A number whose order is the opposite of a score's. */
static uint64_t
key_of(double score)
{
	const uint64_t sign = UINT64_C(1) << 63;
	double plain = score + 0.0; /* -0 is 0 */
	uint64_t bits;

	memcpy(&bits, &plain, sizeof(bits));
	return bits & sign ? bits : ~(bits | sign);
}

/*
 * Make neighbours of the supports of these scores, [n], but for those that are left out
 * (-HUGE_VAL); returns how many.
 */
int64_t
nw_neighbours_take(NwNeighbour *near, const double *score, int64_t n)
{
	int64_t taken = 0;

	for (int64_t i = 0; i < n; i++)
	{
		if (score[i] != -HUGE_VAL)
			near[taken++] = (NwNeighbour) {key_of(score[i]), i};
	}
	return taken;
}

/* The digit of a key that a pass sorts by. */
static int
digit_of(uint64_t key, int pass)
{
	return (int) (key >> (pass * DIGIT_BITS)) & (DIGIT_VALUES - 1);
}

/* Put the nearest first; spare has room for as many. */
void
nw_neighbours_sort(NwNeighbour *near, NwNeighbour *spare, int64_t n)
{
	int64_t start[DIGITS][DIGIT_VALUES] = {{0}};
	NwNeighbour *from = near;
	NwNeighbour *to = spare;

	for (int64_t i = 0; i < n; i++)
	{
		for (int pass = 0; pass < DIGITS; pass++)
			start[pass][digit_of(near[i].key, pass)]++;
	}
	for (int pass = 0; pass < DIGITS; pass++)
	{
		int64_t sum = 0;
		NwNeighbour *sorted = to;

		/* a digit that all have sorts nothing */
		if (n == 0 || start[pass][digit_of(near[0].key, pass)] == n)
			continue;
		for (int digit = 0; digit < DIGIT_VALUES; digit++)
		{
			int64_t count = start[pass][digit];

			start[pass][digit] = sum;
			sum += count;
		}
		for (int64_t i = 0; i < n; i++)
			to[start[pass][digit_of(from[i].key, pass)]++] = from[i];
		to = from;
		from = sorted;
	}
	if (from != near && n > 0)
		memcpy(near, from, (size_t) n * sizeof(NwNeighbour));
}

/* 1 / max(k, i): what the i-th nearest has to say, among all orders of arrival. */
static double
say(int64_t i, int k)
{
	return 1.0 / (double) (i > k ? i : k);
}

/*
 * The values of the neighbours of a query, sorted, by row; match says by row whether a
 * support has the query's label.  Other rows' values stay as they are.
 */
void
nw_shapley_of_query(const NwNeighbour *near, int64_t n, int k, const bool *match, double *value)
{
	double taken = 0; /* R_b */
	int64_t a;

	for (int64_t b = n; b > 0; b = a)
	{
		double last = say(b, k);
		double excess = 0;  /* d, times m */
		double matches = 0; /* c */
		double m;
		double right;
		double wrong;

		for (a = b; a > 0 && near[a - 1].key == near[b - 1].key; a--)
		{
			excess += say(a, k) - last;
			matches += match[near[a - 1].row];
		}
		m = (double) (b - a);
		right = last - taken;
		wrong = -taken;
		if (m > 1)
		{
			right += excess / m * ((m - matches) / (m - 1));
			wrong -= excess / m * (matches / (m - 1));
		}
		for (int64_t i = a; i < b; i++)
			value[near[i].row] = match[near[i].row] ? right : wrong;
		if (a > 0)
			taken += matches / m * (say(a, k) - last);
	}
}
