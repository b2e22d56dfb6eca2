/*
 * base/clock.c: time that only goes forward.
 */
#include <time.h>

#include "base/clock.h"

/* Return seconds since some moment. */
double
nw_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double) ts.tv_sec + (double) ts.tv_nsec * 1e-9;
}
