/*
 * simd_code.c
 *		Inner products with codes of one byte a dimension: see code.h.
 *
 * The result bounds scores that are computed elsewhere, so here, unlike in the
 * sums of simd.h, the implementations need not agree to the last bit.  All
 * keep to 16 lanes at least, which the bound on their rounding counts on.
 */
#include "simd.h"
#include "simd_impl.h"

void
nw_scalar_code_dot(const float *t, const int8_t *code, int dim, int n,
				   float *out)
{
	for (int i = 0; i < n; i++)
	{
		float		lane[NW_LANES] = {0};

		for (int j = 0; j < dim; j++)
			lane[j % NW_LANES] += t[j] * code[j];
		for (int width = NW_LANES / 2; width > 0; width /= 2)
		{
			for (int j = 0; j < width; j++)
				lane[j] += lane[j + width];
		}
		out[i] = lane[0];
		code += dim;
	}
}
