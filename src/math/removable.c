/*
 * math/removable.c
 *		What the loss of a query would be without one of the supports.
 */
#include "math/removable.h"

#include <math.h>

#include "math/elementary.h"

void
nw_removable_clear(NwRemovable *sum)
{
	nw_mass_clear(&sum->others);
	sum->bin = -HUGE_VAL;
	sum->hi = 0;
	sum->lo = 0;
}

/* Tell whether one term is larger than another. */
static inline bool
is_larger(double bin_a, uint64_t hi_a, uint64_t lo_a, double bin_b, uint64_t hi_b, uint64_t lo_b)
{
	if (bin_a != bin_b)
		return bin_a > bin_b;
	if (hi_a != hi_b)
		return hi_a > hi_b;
	return lo_a > lo_b;
}

/* Put a term in the place of the largest, which joins the others. */
static void
replace_largest(NwRemovable *sum, double bin, uint64_t hi, uint64_t lo)
{
	if (sum->bin != -HUGE_VAL)
		nw_mass_add_split(&sum->others, sum->bin, sum->hi, sum->lo);
	sum->bin = bin;
	sum->hi = hi;
	sum->lo = lo;
}

/* Add n terms as NwSimd.exp_split makes them. */
void
nw_removable_add_run(NwRemovable *sum, int n, const double *bin, const uint64_t *hi,
                     const uint64_t *lo)
{
	int largest = 0;

	if (n <= 0)
		return;
	for (int i = 1; i < n; i++)
	{
		if (is_larger(bin[i], hi[i], lo[i], bin[largest], hi[largest], lo[largest]))
			largest = i;
	}

	/* a new largest term stays out of the sum, be it in the middle */
	if (is_larger(bin[largest], hi[largest], lo[largest], sum->bin, sum->hi, sum->lo))
	{
		nw_mass_add_run(&sum->others, largest, bin, hi, lo);
		replace_largest(sum, bin[largest], hi[largest], lo[largest]);
		largest++;
		bin += largest;
		hi += largest;
		lo += largest;
		n -= largest;
	}
	nw_mass_add_run(&sum->others, n, bin, hi, lo);
}

/* Add all terms of another sum. */
void
nw_removable_merge(NwRemovable *sum, const NwRemovable *other)
{
	if (other->bin == -HUGE_VAL)
		return;
	nw_removable_add_run(sum, 1, &other->bin, &other->hi, &other->lo);
	nw_mass_merge(&sum->others, &other->others);
}

/* The sum of all terms: the bits of an NwMass that was given them. */
void
nw_removable_mass(const NwRemovable *sum, NwMass *mass)
{
	*mass = sum->others;
	if (sum->bin != -HUGE_VAL)
		nw_mass_add_split(mass, sum->bin, sum->hi, sum->lo);
}

/*
 * The value of the sum without one of its terms: the bits of an NwMass that
 * was given the others, 0 only where there are none.
 *
 * Where it is the largest, the others were never mixed with it.  Where it is
 * not, what it may have pushed out of the others is too small to show beside
 * the largest.
 */
NwScaled
nw_removable_without(const NwRemovable *sum, double bin, uint64_t hi, uint64_t lo)
{
	NwMass mass;
	NwScaled rest;

	/* equal terms are as good as one another */
	if (bin == sum->bin && hi == sum->hi && lo == sum->lo)
		return nw_mass_value(&sum->others);

	nw_removable_mass(sum, &mass);
	(void) nw_mass_without(&mass, bin, hi, lo, &rest);
	return rest;
}

/* Take log(1 + x) of a number beyond double's range. */
static double
log_one_plus(NwScaled x)
{
	const NwScaled one = {1, 0};

	/* 1 does not show beside 2^64 */
	if (x.fraction != 0 && x.exponent > 64)
		return nw_scaled_log(x);
	return nw_log1p(nw_scaled_ratio(x, one));
}

/*
 * The influence of a support on a query whose truth has a support.
 *
 * own: the support's label is the truth; term: exp(its score); rest: the mass
 * of its class without it; others: the mass of all other classes.
 *
 * +HUGE_VAL where own and rest is 0 (the class loses its only support), and
 * -HUGE_VAL where not own and nothing is left at all (then the truth had no
 * support).  Otherwise finite; never NaN.
 */
double
nw_influence_log(bool own, NwScaled term, NwScaled rest, NwScaled others)
{
	NwScaled parts[3] = {others, rest, term};

	if (own)
	{
		NwScaled total = nw_scaled_sum(parts, 3);

		if (rest.fraction == 0)
			return HUGE_VAL;
		return log_one_plus(
			nw_scaled_product(nw_scaled_quotient(others, total), nw_scaled_quotient(term, rest)));
	}
	else
	{
		NwScaled left = nw_scaled_sum(parts, 2);

		if (left.fraction == 0)
			return -HUGE_VAL;
		/* 0 rather than -0 where the term does not show */
		return 0.0 - log_one_plus(nw_scaled_quotient(term, left));
	}
}

/*
 * The same for a support of a member of a mixture, where the truth has a support in any.
 *
 * With the member's share w, what the others say of the truth s and of all else d (each
 * times its share), and t, r, o as in removable.h, l = r + o, and u the member's mass of
 * the truth, the difference that the support makes is, over the smaller probability,
 *
 *		w * o * t / (l * (l + t)) / (s + w * r / l)		where its label is the truth,
 *		w * u * t / (l * (l + t)) / (s + w * u / (l + t))	where it is not.
 *
 * A member that is left with nothing leaves the mixture; without the support, the truth
 * has s / (s + d) then.  Again nothing is subtracted.
 */
double
nw_influence_mixed(bool own, NwScaled term, NwScaled rest, NwScaled others, NwScaled truth,
                   const NwInMixture *in)
{
	NwScaled parts[3] = {others, rest, term};
	NwScaled total = nw_scaled_sum(parts, 3);
	NwScaled left = nw_scaled_sum(parts, 2);
	NwScaled elsewhere[3] = {in->truth, in->doubt, in->share};
	NwScaled sum[2] = {in->truth};
	NwScaled change;

	if (left.fraction == 0)
	{
		NwScaled without = nw_scaled_sum(elsewhere, 2);

		if (own && in->truth.fraction == 0)
			return HUGE_VAL;
		if (without.fraction == 0)
			return -HUGE_VAL;
		if (!own)
			return 0.0 - log_one_plus(nw_scaled_quotient(in->share, without));
		change = nw_scaled_quotient(in->share, nw_scaled_sum(elsewhere, 3));
		return log_one_plus(nw_scaled_product(change, nw_scaled_quotient(in->doubt, in->truth)));
	}
	change = nw_scaled_product(in->share, nw_scaled_quotient(term, total));
	if (own)
	{
		sum[1] = nw_scaled_product(in->share, nw_scaled_quotient(rest, left));
		sum[0] = nw_scaled_sum(sum, 2);
		if (sum[0].fraction == 0)
			return HUGE_VAL;
		change = nw_scaled_product(change, nw_scaled_quotient(others, left));
		return log_one_plus(nw_scaled_quotient(change, sum[0]));
	}
	sum[1] = nw_scaled_product(in->share, nw_scaled_quotient(truth, total));
	sum[0] = nw_scaled_sum(sum, 2);
	change = nw_scaled_product(change, nw_scaled_quotient(truth, left));
	return change.fraction == 0 ? 0 : 0.0 - log_one_plus(nw_scaled_quotient(change, sum[0]));
}
