/*
 * math/sum.c
 *		Sums of numbers that do not depend on the order of their terms.
 */
#include "math/sum.h"

#include <math.h>
#include <string.h>

#include "math/simd/simd.h"

#define EXPONENT_BITS 52
#define EXPONENT_BIAS 1023
#define EXPONENT_MASK 0x7ff
#define MANTISSA_MASK UINT64_C(0x000fffffffffffff)
#define MANTISSA_ONE UINT64_C(0x0010000000000000)

/* Negative indexes of bins are made positive before they are divided. */
#define BIN_OFFSET 64

void
nw_sum_clear(NwSum *sum)
{
	nw_mass_clear(&sum->mass);
	sum->above = false;
	sum->below = false;
}

/* Add a number; NaN counts as nothing. */
void
nw_sum_add(NwSum *sum, double value)
{
	uint64_t bits;
	uint64_t mantissa;
	nw_uint128 term;
	int exponent;
	int bin;

	memcpy(&bits, &value, sizeof(bits));
	mantissa = bits & MANTISSA_MASK;
	exponent = (int) (bits >> EXPONENT_BITS) & EXPONENT_MASK;
	if (exponent == EXPONENT_MASK)
	{
		sum->above |= value > 0;
		sum->below |= value < 0;
		return;
	}
	if (exponent > 0)
		mantissa |= MANTISSA_ONE;
	else if (mantissa == 0)
		return; /* and does not make a highest bin */
	else
		exponent = 1; /* subnormal: as 2^-1022 has it */

	exponent += BIN_OFFSET * NW_BIN_BITS - EXPONENT_BIAS;
	bin = exponent / NW_BIN_BITS - BIN_OFFSET;
	term = (nw_uint128) mantissa << (exponent % NW_BIN_BITS);
	if (value < 0)
		term = -term;
	nw_mass_add_split(&sum->mass, bin, (uint64_t) (term >> 64), (uint64_t) term);
}

/* Add all terms of another sum. */
void
nw_sum_merge(NwSum *sum, const NwSum *other)
{
	nw_mass_merge(&sum->mass, &other->mass);
	sum->above |= other->above;
	sum->below |= other->below;
}

/* Let all bins but the highest hold NW_BIN_BITS, none of them below 0. */
static void
carry(NwMass *mass)
{
	const nw_uint128 mask = ((nw_uint128) 1 << NW_BIN_BITS) - 1;

	for (int k = NW_BINS - 1; k > 0; k--)
	{
		nw_uint128 low = mass->bin[k] & mask;
		__int128 high = (__int128) (mass->bin[k] - low);

		/* a multiple of 2^NW_BIN_BITS: the quotient is exact */
		mass->bin[k] = low;
		mass->bin[k - 1] += (nw_uint128) (high / ((__int128) 1 << NW_BIN_BITS));
	}
}

/*
 * The sum, rounded once; 0 of nothing.  Never NaN: an infinite term makes it
 * infinite, HUGE_VAL where there were both.
 */
double
nw_sum_value(const NwSum *sum)
{
	const NwScaled one = {1, 0};
	NwMass mass = sum->mass;
	bool negative;
	double value;

	if (sum->above || sum->below)
		return sum->above ? HUGE_VAL : -HUGE_VAL;
	carry(&mass);

	/* with nothing below 0 under it, the highest bin has the sign */
	negative = (mass.bin[0] >> 127) != 0;
	if (negative)
	{
		for (int k = 0; k < NW_BINS; k++)
			mass.bin[k] = -mass.bin[k];
		carry(&mass);
	}
	value = nw_scaled_ratio(nw_mass_value(&mass), one);
	return negative ? -value : value;
}
