/*
 * math/half.h
 *		Numbers as half precision would keep them, to tell copies of vectors that
 *		went through it.
 *
 * Pure C: no PostgreSQL, no allocation, no errors.
 */
#ifndef NW_MATH_HALF_H
#define NW_MATH_HALF_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Round a float to the 11 bits of a half, ties to even; its range is not minded. */
static inline float
nw_half_round(float x)
{
	uint32_t bits;

	/* below the least normal half the steps are all the same: those of a large sum */
	if (x > -0x1p-14F && x < 0x1p-14F)
	{
		float sum = x + 0x1.8p-1F;

		return sum - 0x1.8p-1F;
	}
	memcpy(&bits, &x, sizeof(bits));
	bits = (bits + 0xfff + (bits >> 13 & 1)) & ~UINT32_C(0x1fff);
	memcpy(&x, &bits, sizeof(x));
	return x;
}

/* Tell whether two vectors are the same, as far as half precision goes. */
static inline bool
nw_half_same(const float *a, const float *b, int dim)
{
	for (int i = 0; i < dim; i++)
		if (a[i] != b[i] && nw_half_round(a[i]) != nw_half_round(b[i]))
			return false;
	return true;
}

#endif /* NW_MATH_HALF_H */
