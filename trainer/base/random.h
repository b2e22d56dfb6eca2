/*
 * base/random.h: seeded random numbers, and a hash.
 */
#ifndef NW_RANDOM_H
#define NW_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* a generator whose whole state is one number */
typedef struct NwRandom
{
	uint64_t state;
} NwRandom;

NwRandom nw_random(uint64_t seed, uint64_t stream, uint64_t step);
uint64_t nw_random_next(NwRandom *r);
uint32_t nw_random_below(NwRandom *r, uint32_t n);
double nw_random_double(NwRandom *r);
double nw_random_normal(NwRandom *r);

uint64_t nw_hash(const void *data, size_t len);

#endif
