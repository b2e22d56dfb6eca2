/*
 * math/mass.c
 *		Sums of exponentials that do not depend on the order of their terms.
 */
#include "math/mass.h"

#include <math.h>
#include <string.h>

#include "math/elementary.h"
#include "math/simd/simd.h"

_Static_assert(NW_BINS == 3 && NW_BIN_BITS == 32,
               "scatter and value are written for three bins of 32 bits");

/* How many terms nw_mass_add_run() takes one by one, and how many at once:
 * these stay in the nearest cache between the two passes over them. */
#define RUN_SHORT 4
#define RUN_BLOCK 1024

/* How many scores are split at a time. */
#define SPLIT_BLOCK 256

_Static_assert(RUN_BLOCK <= NW_BIN_SUM_MAX, "no overflow");

/* exponents beyond double's whole range, subnormals included */
#define EXPONENT_LIMIT 2200.0

/* exponents from here on have no room for small differences */
#define EXPONENT_EXACT 0x1p52

/* Join the halves of a term. */
static inline nw_uint128
join(uint64_t hi, uint64_t lo)
{
	return ((nw_uint128) hi << 64) | lo;
}

void
nw_mass_clear(NwMass *mass)
{
	memset(mass, 0, sizeof(*mass));
	mass->top = -HUGE_VAL;
}

bool
nw_mass_is_empty(const NwMass *mass)
{
	return mass->top == -HUGE_VAL;
}

/*
 * Raise the highest bin to top, which is above it, dropping what falls below
 * the lowest.
 *
 * Indexes beyond 2^53 leave gaps; the difference of two is exact all the same
 * wherever it is below NW_BINS.
 */
void
nw_mass_raise(NwMass *mass, double top)
{
	double gap = top - mass->top;
	int by = gap < NW_BINS ? (int) gap : NW_BINS;

	for (int k = NW_BINS - 1; k >= 0; k--)
		mass->bin[k] = k >= by ? mass->bin[k - by] : 0;
	mass->top = top;
}

/* Add exp(score). */
void
nw_mass_add(NwMass *mass, double score)
{
	double bin;
	uint64_t hi;
	uint64_t lo;

	nw_simd->exp_split(&score, 1, &bin, &hi, &lo);
	nw_mass_add_split(mass, bin, hi, lo);
}

/* Add all terms of another sum. */
void
nw_mass_merge(NwMass *mass, const NwMass *other)
{
	double gap;

	if (nw_mass_is_empty(other))
		return;
	if (other->top > mass->top)
		nw_mass_raise(mass, other->top);
	gap = mass->top - other->top;
	if (gap < NW_BINS)
	{
		int by = (int) gap;

		for (int k = by; k < NW_BINS; k++)
			mass->bin[k] += other->bin[k - by];
	}
}

/* Split exp(score[i]), i = 0 .. n - 1, to terms; -HUGE_VAL becomes a term of nothing. */
void
nw_mass_split(const double *score, int n, double *bin, uint64_t *hi, uint64_t *lo)
{
	nw_simd->exp_split(score, n, bin, hi, lo);
	for (int i = 0; i < n; i++)
	{
		if (score[i] == -HUGE_VAL)
		{
			bin[i] = -HUGE_VAL;
			hi[i] = lo[i] = 0;
		}
	}
}

/* Add terms i = 0 .. n - 1 to masses[class_of[i]]. */
void
nw_mass_scatter(NwMass *masses, const int32_t *class_of, int n, const double *bin,
                const uint64_t *hi, const uint64_t *lo)
{
	for (int i = 0; i < n; i++)
	{
		NwMass *mass = &masses[class_of[i]];
		double gap = mass->top - bin[i];
		uint64_t keep;
		int k;

		if (gap < 0)
		{
			/* a new highest bin: seldom, and the first term of a class */
			nw_mass_add_split(mass, bin[i], hi[i], lo[i]);
			continue;
		}

		/*
		 * Which bin a term falls into is as good as random; arithmetic is
		 * cheaper than branches guessed wrong.  A term too small adds 0.
		 */
		keep = -(uint64_t) (gap < NW_BINS);
		k = (gap >= 1) + (gap >= 2);
		mass->bin[k] += join(hi[i] & keep, lo[i] & keep);
	}
}

/*
 * Add terms i = 0 .. n - 1, all to one mass: the bits of n calls of
 * nw_mass_add_split(), several times faster.
 */
void
nw_mass_add_run(NwMass *mass, int n, const double *bin, const uint64_t *hi, const uint64_t *lo)
{
	/* a few terms are not worth the detour */
	if (n < RUN_SHORT)
	{
		for (int i = 0; i < n; i++)
			nw_mass_add_split(mass, bin[i], hi[i], lo[i]);
		return;
	}

	while (n > 0)
	{
		int m = n < RUN_BLOCK ? n : RUN_BLOCK;
		double top = nw_simd->max(bin, m);
		uint64_t low[NW_BINS];
		uint64_t high[NW_BINS];

		if (top > mass->top)
			nw_mass_raise(mass, top);
		nw_simd->bin_sum(mass->top, m, bin, hi, lo, low, high);
		for (int k = 0; k < NW_BINS; k++)
			mass->bin[k] += ((nw_uint128) high[k] << 32) + low[k];
		bin += m;
		hi += m;
		lo += m;
		n -= m;
	}
}

/* Split the exponentials of scores, and add them to one mass. */
static void
add_split_scores(NwMass *mass, int n, const double *score)
{
	double bin[SPLIT_BLOCK];
	uint64_t hi[SPLIT_BLOCK];
	uint64_t lo[SPLIT_BLOCK];

	for (int i = 0; i < n; i += SPLIT_BLOCK)
	{
		int m = n - i < SPLIT_BLOCK ? n - i : SPLIT_BLOCK;

		nw_simd->exp_split(score + i, m, bin, hi, lo);

		/* a term of no mass in no bin is as good as none */
		for (int k = 0; k < m; k++)
		{
			if (score[i + k] == -HUGE_VAL)
			{
				bin[k] = -HUGE_VAL;
				hi[k] = lo[k] = 0;
			}
		}
		nw_mass_add_run(mass, m, bin, hi, lo);
	}
}

/*
 * Add exp(score[i]), i = 0 .. n - 1, all to one mass: the bits of
 * nw_mass_add_run(), faster where the terms themselves are not asked for.
 * -HUGE_VAL adds nothing.
 *
 * A larger score has no lower bin (the power of two that exp_split rounds to
 * grows with the score, and so does f where the power stays), so the largest
 * score tells the highest bin before any other term is known.
 */
void
nw_mass_add_scores(NwMass *mass, int n, const double *score)
{
	while (n > 0)
	{
		int m = n < RUN_BLOCK ? n : RUN_BLOCK;
		double largest = nw_simd->max(score, m);
		double bin;
		uint64_t hi;
		uint64_t lo;

		if (largest == -HUGE_VAL)
			bin = -HUGE_VAL;
		else
			nw_simd->exp_split(&largest, 1, &bin, &hi, &lo);
		if (m < RUN_SHORT || nw_simd->exp_bins == NULL || !(fabs(bin) <= NW_EXP_BINS_TOP - NW_BINS))
			add_split_scores(mass, m, score);
		else
		{
			uint64_t low[NW_BINS];
			uint64_t high[NW_BINS];

			if (bin > mass->top)
				nw_mass_raise(mass, bin);
			if (mass->top - bin < NW_BINS)
			{
				nw_simd->exp_bins(mass->top, m, score, low, high);
				for (int k = 0; k < NW_BINS; k++)
					mass->bin[k] += ((nw_uint128) high[k] << 32) + low[k];
			}
		}
		score += m;
		n -= m;
	}
}

/*
 * The value of a sum without one of its terms, by exact subtraction.
 *
 * True: *rest has the bits of a sum that never had the term.  False: the term
 * was alone in the highest bin, and what it had pushed below the lowest one
 * is missing from *rest.  *rest is then too low: by less than
 * count * 2^-32 of itself where it is not below 2^-32 of the term, by any
 * share of itself where it is, and it may be 0 though terms are left.  A
 * caller that needs more adds up the others anew, or keeps an NwRemovable
 * (removable.h), which is always exact.
 */
bool
nw_mass_without(const NwMass *mass, double bin, uint64_t hi, uint64_t lo, NwScaled *rest)
{
	NwMass without = *mass;
	double gap = mass->top - bin;

	if (gap < NW_BINS)
		without.bin[(int) gap] -= join(hi, lo);
	*rest = nw_mass_value(&without);
	return without.bin[0] != 0;
}

/* Number the bits of a word up to its highest one; 0 for 0. */
static inline int
bit_length(uint64_t word)
{
	return word == 0 ? 0 : 64 - __builtin_clzll(word);
}

/*
 * The value of a sum, rounded once: to nearest, ties to even.
 *
 * The bins are first added exactly: sum holds the words of the total, lowest
 * first, in units of the lowest bin.
 */
NwScaled
nw_mass_value(const NwMass *mass)
{
	NwScaled result = {0, 0};
	uint64_t sum[4] = {0, 0, 0, 0};
	nw_uint128 part;
	uint64_t head;
	uint64_t rest;
	int length = 0;
	int word = 0;
	int offset;

	/* the bins begin at bits 64, 32 and 0 */
	part = (nw_uint128) (uint64_t) mass->bin[2] + ((nw_uint128) (uint32_t) mass->bin[1] << 32);
	sum[0] = (uint64_t) part;
	part = (part >> 64) + (mass->bin[2] >> 64) + (uint64_t) (mass->bin[1] >> 32) +
	       (uint64_t) mass->bin[0];
	sum[1] = (uint64_t) part;
	part = (part >> 64) + (mass->bin[1] >> 96) + (mass->bin[0] >> 64);
	sum[2] = (uint64_t) part;
	sum[3] = (uint64_t) (part >> 64);

	for (int i = 3; i >= 0 && length == 0; i--)
	{
		word = i;
		length = bit_length(sum[i]);
	}
	if (length == 0)
		return result;

	/* head: the highest 64 bits; rest: not 0 where a bit below is set */
	offset = 64 * word + length - 64;
	if (offset <= 0)
	{
		head = sum[0] << -offset;
		rest = 0;
	}
	else
	{
		int from = offset / 64;
		int by = offset % 64;

		head = sum[from] >> by;
		rest = 0;
		if (by > 0)
		{
			head |= sum[from + 1] << (64 - by);
			rest = sum[from] << (64 - by);
		}
		for (int i = 0; i < from; i++)
			rest |= sum[i];
	}

	/* keep 53 of head's 64 bits */
	{
		uint64_t kept = head >> 11;
		uint64_t lost = head & 0x7ff;

		if (lost > 0x400 || (lost == 0x400 && (rest != 0 || (kept & 1) != 0)))
			kept++;
		result.fraction = (double) kept * 0x1p-52;
	}

	/*
	 * The bit of value 2^(offset + 63) units leads, a unit being
	 * 2^(NW_BIN_BITS * (top - 2) - 52).
	 */
	offset += 63 - NW_BIN_BITS * (NW_BINS - 1) - 52;
	result.exponent = NW_BIN_BITS * mass->top;
	if (fabs(result.exponent) >= EXPONENT_EXACT)
	{
		result.fraction = ldexp(result.fraction, offset);
		return result;
	}
	result.exponent += offset;
	if (result.fraction == 2.0)
	{
		result.fraction = 1.0;
		result.exponent += 1;
	}
	return result;
}

/* exp(score) as a number of its own. */
NwScaled
nw_scaled_exp(double score)
{
	NwMass mass;

	nw_mass_clear(&mass);
	nw_mass_add(&mass, score);
	return nw_mass_value(&mass);
}

/* Scale a double by a power of two that may be out of int's range. */
static double
scale_by_power(double value, double exponent)
{
	if (exponent < -EXPONENT_LIMIT)
		exponent = -EXPONENT_LIMIT;
	if (exponent > EXPONENT_LIMIT)
		exponent = EXPONENT_LIMIT;
	return ldexp(value, (int) exponent);
}

/* Negative, zero or positive as a is below, equal to or above b. */
int
nw_scaled_compare(NwScaled a, NwScaled b)
{
	/* 0 has an exponent that does not count */
	if (a.fraction != 0 && b.fraction != 0 && a.exponent != b.exponent)
		a.fraction = scale_by_power(a.fraction, a.exponent - b.exponent);
	return (a.fraction > b.fraction) - (a.fraction < b.fraction);
}

/* The sum of n numbers, in the order given. */
NwScaled
nw_scaled_sum(const NwScaled *values, int n)
{
	NwScaled result = {0, 0};
	double highest = -HUGE_VAL;
	double sum = 0;
	int power;

	for (int i = 0; i < n; i++)
	{
		if (values[i].fraction != 0 && values[i].exponent > highest)
			highest = values[i].exponent;
	}
	if (highest == -HUGE_VAL)
		return result;

	for (int i = 0; i < n; i++)
		sum += scale_by_power(values[i].fraction, values[i].exponent - highest);

	if (fabs(highest) >= EXPONENT_EXACT)
		return (NwScaled) {sum, highest};

	/* frexp's fraction is in [1/2, 1) */
	result.fraction = 2 * frexp(sum, &power);
	result.exponent = highest + (power - 1);
	return result;
}

/* Divide numbers without leaving their range; b is not 0. */
NwScaled
nw_scaled_quotient(NwScaled a, NwScaled b)
{
	NwScaled result = {0, 0};

	if (a.fraction == 0)
		return result;
	result.fraction = a.fraction / b.fraction;
	result.exponent = a.exponent - b.exponent;
	if (result.fraction < 1)
	{
		result.fraction *= 2;
		result.exponent -= 1;
	}
	return result;
}

/* Multiply numbers without leaving their range. */
NwScaled
nw_scaled_product(NwScaled a, NwScaled b)
{
	NwScaled result = {0, 0};

	if (a.fraction == 0 || b.fraction == 0)
		return result;
	result.fraction = a.fraction * b.fraction;
	result.exponent = a.exponent + b.exponent;
	if (result.fraction >= 2)
	{
		result.fraction /= 2;
		result.exponent += 1;
	}
	return result;
}

/* A positive, finite double as such a number. */
NwScaled
nw_scaled_of(double value)
{
	int power;
	double fraction = 2 * frexp(value, &power);

	return (NwScaled) {fraction, power - 1};
}

/* a / b as a double: 0 where it underflows; b is not 0. */
double
nw_scaled_ratio(NwScaled a, NwScaled b)
{
	return scale_by_power(a.fraction / b.fraction, a.exponent - b.exponent);
}

/* Make a mass ready; it is not 0. */
void
nw_shares_init(NwShares *shares, NwScaled mass)
{
	double power;

	shares->bin = floor(mass.exponent / NW_BIN_BITS);
	power = NW_BIN_BITS * shares->bin - mass.exponent + NW_SHARE_SCALE;
	for (int k = 0; k < NW_SHARE_BINS; k++)
		shares->unit[k] = ldexp(1 / mass.fraction, (int) power - NW_BIN_BITS * k);
}

/* The natural logarithm: -HUGE_VAL for 0. */
double
nw_scaled_log(NwScaled a)
{
	if (a.fraction == 0)
		return -HUGE_VAL;
	/* a double of its own: no digits are lost near 1 */
	if (fabs(a.exponent) <= 1000)
		return nw_log(ldexp(a.fraction, (int) a.exponent));
	return nw_log(a.fraction) + a.exponent * M_LN2;
}

/* log(a / b) without losing the digits of a ratio near 1; b is not 0. */
double
nw_scaled_log_ratio(NwScaled a, NwScaled b)
{
	double power = a.exponent - b.exponent;

	if (a.fraction == 0)
		return -HUGE_VAL;
	if (fabs(power) <= 1)
	{
		double scaled = ldexp(a.fraction, (int) power);

		/* the difference is exact where the ratio is within 1/2 .. 2 */
		return nw_log1p((scaled - b.fraction) / b.fraction);
	}
	return nw_log(a.fraction / b.fraction) + power * M_LN2;
}
