/*
 * report.h: what a test program says of its checks.
 */
#ifndef NW_TEST_REPORT_H
#define NW_TEST_REPORT_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

static int failed;

/* Report one check. */
static inline void
check(bool ok, const char *what)
{
	printf("%s %s\n", ok ? "ok" : "not ok", what);
	failed += !ok;
}

/* Return the larger of two errors; one that is not a number is larger than any. */
static inline double
worse(double a, double b)
{
	return a >= b || isnan(a) ? a : b;
}

#endif
