/*
 * base/random.c: seeded random numbers, and a hash.
 */
#include <math.h>

#include "base/random.h"

/* Mix the bits of a number (the finaliser of splitmix64). */
static uint64_t
mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* Start a generator that depends on nothing but its three numbers. */
NwRandom
nw_random(uint64_t seed, uint64_t stream, uint64_t step)
{
	NwRandom r = {mix(mix(mix(seed + UINT64_C(0x9e3779b97f4a7c15)) + stream) + step)};

	return r;
}

/* Draw 64 random bits. */
uint64_t
nw_random_next(NwRandom *r)
{
	r->state += UINT64_C(0x9e3779b97f4a7c15);
	return mix(r->state);
}

/* Draw a number in [0, n) without bias (Lemire's method). */
uint32_t
nw_random_below(NwRandom *r, uint32_t n)
{
	uint64_t m = (uint64_t) (uint32_t) nw_random_next(r) * n;

	if ((uint32_t) m < n)
	{
		uint32_t floor = (uint32_t) -n % n;

		while ((uint32_t) m < floor)
			m = (uint64_t) (uint32_t) nw_random_next(r) * n;
	}
	return (uint32_t) (m >> 32);
}

/* Draw a number in [0, 1). */
double
nw_random_double(NwRandom *r)
{
	return (double) (nw_random_next(r) >> 11) * 0x1p-53;
}

/* Draw from the standard normal distribution (Box-Muller). */
double
nw_random_normal(NwRandom *r)
{
	double u = 1.0 - nw_random_double(r);
	double v = nw_random_double(r);

	return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

/* Hash bytes (FNV-1a, mixed). */
uint64_t
nw_hash(const void *data, size_t len)
{
	const unsigned char *p = data;
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * UINT64_C(0x100000001b3);
	return mix(h);
}
