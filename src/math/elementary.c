/*
 * math/elementary.c
 *		log, log1p and exp of our own.
 *
 * Logarithms: x = 2^k (1 + f) with 1 + f between the square roots of 1/2 and
 * 2, about.  With s = f / (2 + f) and z = s^2,
 *
 *		log(1 + f) = 2 atanh(s) = 2 s + s z P(z),
 *
 * P being a polynomial of degree 7, within 2^-60 of the true value.  Since
 * 2 s = f - s f, and s f = f^2 / 2 - s f^2 / 2, this is
 *
 *		f - (f^2 / 2 - s (f^2 / 2 + z P(z))),
 *
 * where what rounding can hurt is small beside f.  k log(2) is added in two
 * parts, the higher one with so few bits that its product with k is exact.
 *
 * Exponentials: x = k log(2) + r with |r| <= log(2) / 2, about, and
 * exp(r) = 1 + r + r^2 Q(r), Q of degree 10, within 2^-61.
 */
#include "math/elementary.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define LN2_HI 0x1.62e42fefa38p-1 /* 42 bits */
#define LN2_LO 0x1.ef35793c7673p-45
#define LOG2E 0x1.71547652b82fep+0

/* The coefficients of P, minimax over z of s within its bounds. */
#define P0 0x1.5555555555555p-1
#define P1 0x1.9999999999a3ap-2
#define P2 0x1.2492492476765p-2
#define P3 0x1.c71c7201f207cp-3
#define P4 0x1.745cf8c4c7bcap-3
#define P5 0x1.3b1c42e3df02cp-3
#define P6 0x1.0fbd2bafa02d6p-3
#define P7 0x1.0c1263e1bac13p-3

/* The coefficients of Q. */
#define Q0 0x1.0000000000000p-1
#define Q1 0x1.5555555555557p-3
#define Q2 0x1.5555555555556p-5
#define Q3 0x1.11111111100bep-7
#define Q4 0x1.6c16c16c162c3p-10
#define Q5 0x1.a01a01abf85abp-13
#define Q6 0x1.a01a01a6e1e2ap-16
#define Q7 0x1.71de01fdbf9cap-19
#define Q8 0x1.27e4db46cddd1p-22
#define Q9 0x1.af4e554377204p-26
#define Q10 0x1.1f7340dbc337ep-29

/* Adding this rounds a number of magnitude below 2^51 to an integer. */
#define ROUND 0x1.8p52

/* Where the first terms of the series of log(1 + x) suffice, to 2^-59. */
#define NEAR_ZERO 0x1p-8

/* exp of what is above overflows, of what is below is 0. */
#define EXP_MAX 710.0
#define EXP_MIN (-746.0)

#define EXPONENT_BITS 52
#define EXPONENT_BIAS 1023
#define MANTISSA_MASK UINT64_C(0x000fffffffffffff)

/* Bits of the mantissa of the square root of 1/2: where a new power begins. */
#define ROOT_HALF_BITS UINT64_C(0x3fe6a09e667f3bcd)

/* The bits of a double. */
static inline uint64_t
to_bits(double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

/* A double of given bits. */
static inline double
from_bits(uint64_t bits)
{
	double x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

/* 2^k, for k of a normal number. */
static inline double
power_of_two(int k)
{
	return from_bits((uint64_t) (k + EXPONENT_BIAS) << EXPONENT_BITS);
}

/* Take k log(2) + log(1 + f) + c, c being far below the last digit of f. */
static inline double
join(double k, double f, double c)
{
	double s = f / (2.0 + f);
	double z = s * s;
	double z2 = z * z;
	double half = 0.5 * f * f;
	double low = (P0 + z * P1) + z2 * (P2 + z * P3);
	double high = (P4 + z * P5) + z2 * (P6 + z * P7);
	double rest = z * (low + z2 * z2 * high);

	return k * LN2_HI - ((half - (s * (half + rest) + (k * LN2_LO + c))) - f);
}

/* Split a positive, normal number into 2^k (1 + f). */
static inline double
split(double x, double *k)
{
	uint64_t bits = to_bits(x) - ROOT_HALF_BITS;
	int power = (int) ((int64_t) bits >> EXPONENT_BITS);

	*k = power;
	return from_bits((bits & MANTISSA_MASK) + ROOT_HALF_BITS) - 1.0;
}

/* log(x): -HUGE_VAL for 0, HUGE_VAL for itself, NaN below 0. */
double
nw_log(double x)
{
	double k;
	double f;
	double scaled = 0;

	if (!(x > 0))
		return x == 0 ? -HUGE_VAL : (double) NAN;
	if (x == HUGE_VAL)
		return x;
	if (x < 0x1p-1022)
	{
		x *= 0x1p54;
		scaled = 54;
	}
	f = split(x, &k);
	return join(k - scaled, f, 0);
}

/* Take log(1 + x) of a number below NEAR_ZERO in magnitude. */
static inline double
log1p_near_zero(double x)
{
	double x2 = x * x;
	double low = 1.0 / 2 - x * (1.0 / 3);
	double middle = 1.0 / 4 - x * (1.0 / 5);
	double high = 1.0 / 6 - x * (1.0 / 7);

	return x - x2 * (low + x2 * (middle + x2 * high));
}

/* log(1 + x) without losing the digits of a small x: as nw_log(1 + x). */
double
nw_log1p(double x)
{
	double sum = 1.0 + x;
	double k;
	double f;
	double lost;

	/* weights are mostly small: no division for these */
	if (fabs(x) < NEAR_ZERO)
		return log1p_near_zero(x);

	/* bits of 1 + x would be lost, so f is x itself */
	if (x > -0.29 && x < 0.41)
		return join(0, x, 0);
	if (!(sum > 0))
		return sum == 0 ? -HUGE_VAL : (double) NAN;
	if (sum == HUGE_VAL)
		return sum;

	/* what the sum has lost, exactly, as a share of it */
	lost = x < 1 ? x - (sum - 1.0) : 1.0 - (sum - x);
	f = split(sum, &k);
	return join(k, f, lost / sum);
}

/* exp(x): 0 and HUGE_VAL where it underflows and overflows. */
double
nw_exp(double x)
{
	double k;
	double high;
	double low;
	double r;
	double r2;
	double r4;
	double q;
	double p;
	int power;

	if (!(x <= EXP_MAX))
		return x > 0 ? HUGE_VAL : x; /* NaN as it is */
	if (x < EXP_MIN)
		return 0;

	k = (x * LOG2E + ROUND) - ROUND;
	high = x - k * LN2_HI; /* the product is exact */
	low = k * LN2_LO;
	r = high - low;

	r2 = r * r;
	r4 = r2 * r2;
	q = (Q8 + r * Q9) + r2 * Q10;
	q = ((Q4 + r * Q5) + r2 * (Q6 + r * Q7)) + r4 * q;
	q = ((Q0 + r * Q1) + r2 * (Q2 + r * Q3)) + r4 * q;

	/* r again in two parts: its last digits matter beside 1 */
	p = 1.0 + (high + (r2 * q - low));

	power = (int) k;
	if (power > EXPONENT_BIAS)
		return p * 2.0 * power_of_two(power - 1);
	if (power < -1022)
		return p * power_of_two(power + 54) * 0x1p-54;
	return p * power_of_two(power);
}
