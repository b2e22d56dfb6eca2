/*
 * test_half.c
 *		Rounding to half precision: all halves, and what lies between them.
 */
#include <math.h>

#include "check.h"
#include "math/half.h"

/* The value of a positive half, by its bits. */
static float
half_value(int bits)
{
	int exponent = bits >> 10;
	int fraction = bits & 0x3ff;

	return exponent == 0 ? ldexpf((float) fraction, -24)
	                     : ldexpf((float) (fraction + 0x400), exponent - 25);
}

/* Check a number and its opposite. */
static void
check_round(float x, float wanted)
{
	CHECK(nw_half_round(x) == wanted, "%a rounds to %a, not to %a", (double) x,
	      (double) nw_half_round(x), (double) wanted);
	CHECK(nw_half_round(-x) == -wanted, "%a rounds to %a, not to %a", (double) -x,
	      (double) nw_half_round(-x), (double) -wanted);
}

int
main(void)
{
	const float a[3] = {1.0F / 3, 2, -1e-7F};
	float b[3];

	check_start("half");
	for (int bits = 0; bits < 0x7bff; bits++)
	{
		float low = half_value(bits);
		float high = half_value(bits + 1);
		float middle = (low + high) / 2;

		check_round(low, low);
		check_round(middle, bits % 2 == 0 ? low : high);
		check_round(nextafterf(middle, 0), low);
		check_round(nextafterf(middle, INFINITY), high);
	}
	check_round(65504, 65504);

	for (int i = 0; i < 3; i++)
		b[i] = nw_half_round(a[i]);
	CHECK(a[0] != b[0] && nw_half_same(a, b, 3), "a copy is taken for another vector");
	b[1] = 2.01F;
	CHECK(!nw_half_same(a, b, 3) && nw_half_same(a, b, 1), "another vector is taken for a copy");
	return check_finish();
}
