/*
 * math/random.h
 *		Random numbers for everything that has a seed.
 *
 * xoshiro256++ (Blackman and Vigna), its state filled by splitmix64.  The
 * same seed gives the same numbers on every machine.
 *
 * Pure C: no PostgreSQL, no allocation, no errors.
 */
#ifndef NW_MATH_RANDOM_H
#define NW_MATH_RANDOM_H

#include <stdint.h>

typedef struct NwRandom
{
	uint64_t state[4];
} NwRandom;

/* Scramble a word so that each bit depends on all (splitmix64's output). */
static inline uint64_t
nw_random_scramble(uint64_t z)
{
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/*
 * Derive the seed of part number key: parts of one seed are independent of
 * each other, and do not depend on which of them are used.
 */
static inline uint64_t
nw_random_derive(uint64_t seed, uint64_t key)
{
	/* scrambled between the two, or (1, 0) and (0, 1) could be the same */
	seed = nw_random_scramble(seed + UINT64_C(0x9e3779b97f4a7c15));
	return nw_random_scramble(seed + (key + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

/* Begin the numbers of a seed. */
static inline void
nw_random_seed(NwRandom *random, uint64_t seed)
{
	for (int i = 0; i < 4; i++)
	{
		seed += UINT64_C(0x9e3779b97f4a7c15);
		random->state[i] = nw_random_scramble(seed);
	}
}

/* Draw 64 bits. */
static inline uint64_t
nw_random_next(NwRandom *random)
{
	uint64_t *s = random->state;
	uint64_t sum = s[0] + s[3];
	uint64_t result = ((sum << 23) | (sum >> 41)) + s[0];
	uint64_t shifted = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= shifted;
	s[3] = (s[3] << 45) | (s[3] >> 19);
	return result;
}

/* Draw a number in [0, 1). */
static inline double
nw_random_double(NwRandom *random)
{
	return (double) (nw_random_next(random) >> 11) * 0x1p-53;
}

/* Draw an integer in 0 .. n - 1, each equally likely; n is at least 1. */
static inline uint64_t
nw_random_below(NwRandom *random, uint64_t n)
{
	/* the first 2^64 mod n words would make some results likelier */
	uint64_t skip = -n % n;
	uint64_t word;

	do
		word = nw_random_next(random);
	while (word < skip);
	return word % n;
}

#endif /* NW_MATH_RANDOM_H */
