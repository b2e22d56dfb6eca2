/*
 * check.h
 *		A small harness for tests that need no server.
 *
 * A program calls check_start(), any number of CHECKs, and returns
 * check_finish() from main().
 */
#ifndef NW_CHECK_H
#define NW_CHECK_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK_SHOWN 20 /* failures printed in full */

static const char *check_name;
static long check_count;
static long check_failures;
static uint64_t check_state;

/* Name the program, and start its random numbers anew. */
static inline void
check_start(const char *name)
{
	check_name = name;
	check_count = 0;
	check_failures = 0;
	check_state = 0;
}

/* Count a check, and describe it where it failed. */
static inline __attribute__((format(printf, 4, 5))) void
check_report(int good, const char *file, int line, const char *format, ...)
{
	va_list args;

	check_count++;
	if (good)
		return;
	if (check_failures++ >= CHECK_SHOWN)
		return;

	va_start(args, format);
	printf("not ok - %s:%d: ", file, line);
	vprintf(format, args);
	printf("\n");
	va_end(args);
}

/* Check a condition; the rest is printf's and says which values failed it. */
#define CHECK(condition, ...) \
	check_report((condition) != 0, __FILE__, __LINE__, #condition ": " __VA_ARGS__)

/* Sum up; the result is the program's exit status. */
static inline int
check_finish(void)
{
	printf("%s - unit: %ld checks, %ld failed (%s)\n", check_failures == 0 ? "ok" : "not ok",
	       check_count, check_failures, check_name);
	return check_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Draw 64 random bits (splitmix64): the same in every run. */
static inline uint64_t
check_random(void)
{
	uint64_t z = (check_state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* Draw a number in [low, high). */
static inline double
check_uniform(double low, double high)
{
	return low + (high - low) * ((double) (check_random() >> 11) * 0x1p-53);
}

/* Draw a number that a standard normal might give. */
static inline double
check_normal(void)
{
	double sum = 0;

	for (int i = 0; i < 12; i++)
		sum += check_uniform(-0.5, 0.5);
	return sum;
}

/* Draw an integer in 0 .. n - 1. */
static inline int
check_below(int n)
{
	return (int) (check_random() % (uint64_t) n);
}

/* Allocate exactly so much, so that a sanitizer sees one byte too many. */
static inline void *
check_alloc(size_t size)
{
	void *space = malloc(size > 0 ? size : 1);

	if (space == NULL)
	{
		printf("not ok - out of memory\n");
		exit(EXIT_FAILURE);
	}
	return space;
}

#endif /* NW_CHECK_H */
