/*
 * math/sample.h
 *		A sample of rows, by a fixed seed.
 *
 * Pure C: no PostgreSQL, no allocation, no errors.
 */
#ifndef NW_MATH_SAMPLE_H
#define NW_MATH_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "math/random.h"

/* A sample that is drawn while going over all rows in their order. */
typedef struct NwSample
{
	NwRandom random;
	int64_t left;   /* rows to come */
	int64_t wanted; /* of these */
} NwSample;

extern void nw_sample_begin(NwSample *sample, int64_t n, int64_t max);
extern bool nw_sample_next(NwSample *sample);

#endif /* NW_MATH_SAMPLE_H */
