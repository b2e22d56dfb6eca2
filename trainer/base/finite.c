/*
 * base/finite.c: whether floats are numbers.
 */
#include <string.h>

#include "base/finite.h"

/* Say whether all are finite. */
bool
nw_all_finite(const float *v, int64_t n)
{
	int bad = 0;

	for (int64_t i = 0; i < n; i++)
	{
		int32_t bits;

		memcpy(&bits, &v[i], 4);
		bad |= (bits & 0x7fffffff) > 0x7f7fffff; /* by bits, several at a time */
	}
	return !bad;
}
