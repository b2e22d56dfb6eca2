/*
 * math/conformal.c
 *		Split conformal prediction: scores, ranks, and what coverage to expect.
 *
 * Of n scores and one more, in any order equally probable, the last is at most the
 * k-th smallest of the others with probability k / (n + 1) or more.  So what scores no
 * more than that covers the truth with probability c, where k is the least integer
 * with k / (n + 1) >= c.
 *
 * Given the n scores, the coverage itself varies: where no two are equal it has the
 * distribution Beta(k, n + 1 - k), and the number of m further queries that are
 * covered a beta-binomial one.  Equal scores make it larger.
 */
#include "math/conformal.h"

#include <math.h>

/*
 * The rank of the score that covers so large a share of queries; n + 1 where n scores
 * are too few.  A coverage stands for the decimal it was written as, so 0.9 of 10 is
 * 9: a quotient that rounds to it is as large.
 */
int64_t
nw_conformal_rank(int64_t n, double coverage)
{
	double of = (double) n + 1;
	int64_t rank = (int64_t) floor(coverage * of) - 1;

	if (rank < 1)
		rank = 1;
	while (rank <= n && (double) rank / of < coverage)
		rank++;
	return rank;
}

/* The score of the class at a place: what its probability lacks. */
double
nw_conformal_score(const NwVerdict *verdict, int place)
{
	double score = 1 - nw_verdict_probability(verdict, place);

	/* rounding may put a probability above 1 */
	return score > 0 ? score : 0;
}

/*
 * The scores [n] of all classes by the other rule, by their places: the probability of
 * the class and all that rank before it, added up in the order of the ranking [n].  The
 * last has 1, whatever rounding makes of the sum.
 */
void
nw_conformal_adaptive(const NwVerdict *verdict, const int *ranking, double *score)
{
	double sum = 0;

	for (int i = 0; i < verdict->n; i++)
	{
		sum += nw_verdict_probability(verdict, ranking[i]);
		score[ranking[i]] = sum < NW_WORST_SCORE && i < verdict->n - 1 ? sum : NW_WORST_SCORE;
	}
}

/* How many times as probable j + 1 of m is than j, under a beta-binomial of a and b. */
static double
step_up(double j, double m, double a, double b)
{
	return (m - j) / (j + 1) * ((j + a) / (m - j - 1 + b));
}

/*
 * Between which numbers of queries, of so many, those that are covered fall with a
 * probability of NW_LIMITS_SHARE or more.  The distribution is walked from its mean in
 * units of the term there.  For a, b >= 1 it has one peak, which is not much higher, and
 * both ways the terms shrink to 0 in the end.
 */
void
nw_coverage_limits(int64_t scores, int64_t rank, int64_t queries, int64_t *low, int64_t *high)
{
	double a = (double) rank;
	double b = (double) (scores + 1 - rank);
	double m = (double) queries;
	double tail = (1 - NW_LIMITS_SHARE) / 2;
	int64_t middle = (int64_t) floor(m * (a / (a + b)));
	double below = 0;
	double above = 0;
	double term = 1;
	double left;

	for (int64_t j = middle; j > 0 && term > 0; j--)
		below += term /= step_up((double) (j - 1), m, a, b);
	term = 1;
	for (int64_t j = middle; j < queries && term > 0; j++)
		above += term *= step_up((double) j, m, a, b);

	/* the nearest on each side that leaves no more than the tail beyond it */
	tail *= below + 1 + above;
	left = below;
	term = 1;
	for (*low = middle; *low < queries && left + term <= tail; (*low)++)
	{
		left += term;
		term *= step_up((double) *low, m, a, b);
	}
	for (; *low > 0 && left > tail; (*low)--)
		left -= term /= step_up((double) (*low - 1), m, a, b);
	left = above;
	term = 1;
	for (*high = middle; *high > 0 && left + term <= tail; (*high)--)
	{
		left += term;
		term /= step_up((double) (*high - 1), m, a, b);
	}
	for (; *high < queries && left > tail; (*high)++)
		left -= term *= step_up((double) *high, m, a, b);
}
