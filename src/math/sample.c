/*
 * math/sample.c
 *		Choose some of many rows, each as likely as any other.
 */
#include "math/sample.h"

/* Begin to choose max of n rows; all where there are no more. */
void
nw_sample_begin(NwSample *sample, int64_t n, int64_t max)
{
	nw_random_seed(&sample->random, 0);
	sample->left = n;
	sample->wanted = n < max ? n : max;
}

/* Say whether the next row is among them. */
bool
nw_sample_next(NwSample *sample)
{
	/* with the odds that leave exactly as many as are wanted in the end */
	if ((int64_t) nw_random_below(&sample->random, (uint64_t) sample->left--) >= sample->wanted)
		return false;
	sample->wanted--;
	return true;
}
