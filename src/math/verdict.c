/*
 * math/verdict.c
 *		Which class wins, and how probable each class is.
 *
 * Classes stand in byte order of their labels.  The largest mass wins, and the
 * first of equals; a probability is a class's share of the total, which is
 * added up in that order.  So a tie and a last digit are the same whatever
 * numbered the classes, or read the rows.
 *
 * A verdict may be tempered: probabilities are then the shares to the power of
 * 1 / temper, divided by their sum.  The order of the classes stays, and so
 * does the winner, which the masses alone decide.
 */
#include "math/verdict.h"

#include "math/elementary.h"

/* Say whether shares can be tempered so. */
bool
nw_temper_is_valid(double temper)
{
	return temper >= NW_TEMPER_MIN && temper <= NW_TEMPER_MAX;
}

/*
 * Take the classes that have mass, in an order [n] of all, and add them up; false
 * where there are none.  The verdict's arrays have room for all.
 */
bool
nw_verdict_close(NwVerdict *verdict, const NwMass *mass, const int *order, int n)
{
	verdict->n = 0;
	for (int i = 0; i < n; i++)
	{
		if (nw_mass_is_empty(&mass[order[i]]))
			continue;
		verdict->class[verdict->n] = order[i];
		verdict->value[verdict->n++] = nw_mass_value(&mass[order[i]]);
	}
	verdict->total = nw_scaled_sum(verdict->value, verdict->n);
	verdict->temper = 1;
	return verdict->n > 0;
}

/* The logarithm of a class's mass in units of the winner's, tempered. */
static double
tempered_log(const NwVerdict *verdict, int i)
{
	return nw_scaled_log_ratio(verdict->value[i], verdict->value[verdict->winner]) /
	       verdict->temper;
}

/* Temper the probabilities of a verdict that is closed, for good. */
void
nw_verdict_temper(NwVerdict *verdict, double temper)
{
	verdict->temper = temper;
	if (temper == 1)
		return;
	verdict->winner = nw_verdict_winner(verdict);
	verdict->tempered_total = 0;
	for (int i = 0; i < verdict->n; i++)
		verdict->tempered_total += nw_exp(tempered_log(verdict, i));
}

/* The place of a class, by its number; -1 where it has no mass. */
int
nw_verdict_find(const NwVerdict *verdict, int class)
{
	for (int i = 0; class >= 0 && i < verdict->n; i++)
	{
		if (verdict->class[i] == class)
			return i;
	}
	return -1;
}

/* The place of the class that would win without the one at a place; -1 for none. */
int
nw_verdict_rival(const NwVerdict *verdict, int place)
{
	const NwScaled *value = verdict->value;
	int best = -1;

	for (int i = 0; i < verdict->n; i++)
	{
		if (i != place && (best < 0 || nw_scaled_compare(value[i], value[best]) > 0))
			best = i;
	}
	return best;
}

/* The place of the class that wins; -1 where there are none. */
int
nw_verdict_winner(const NwVerdict *verdict)
{
	return nw_verdict_rival(verdict, -1);
}

/* Negative where the class at place i comes before that at j, the probable first. */
int
nw_verdict_rank(const NwVerdict *verdict, int i, int j)
{
	int cmp = nw_scaled_compare(verdict->value[j], verdict->value[i]);

	return cmp != 0 ? cmp : i - j;
}

/* The share of all mass that the class at a place has. */
double
nw_verdict_share(const NwVerdict *verdict, int i)
{
	return nw_scaled_ratio(verdict->value[i], verdict->total);
}

/* The probability of the class at a place. */
double
nw_verdict_probability(const NwVerdict *verdict, int i)
{
	if (verdict->temper == 1)
		return nw_verdict_share(verdict, i);
	return nw_exp(tempered_log(verdict, i)) / verdict->tempered_total;
}

/* Its logarithm, which is finite where the probability rounds to 0. */
double
nw_verdict_log_probability(const NwVerdict *verdict, int i)
{
	if (verdict->temper == 1)
		return nw_scaled_log_ratio(verdict->value[i], verdict->total);
	return tempered_log(verdict, i) - nw_log(verdict->tempered_total);
}

/* The probability of the class at a place, or its share, without underflow. */
NwScaled
nw_verdict_scaled(const NwVerdict *verdict, int i, bool share)
{
	if (share || verdict->temper == 1)
		return nw_scaled_quotient(verdict->value[i], verdict->total);
	return nw_scaled_exp(nw_verdict_log_probability(verdict, i));
}
