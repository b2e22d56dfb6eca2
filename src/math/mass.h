/*
 * math/mass.h
 *		Sums of exponentials that do not depend on the order of their terms.
 *
 * A class's mass is the sum of exp(score) over its supports.  Floating-point
 * addition is not associative, so a plain sum would depend on row order, on
 * the plan and on the engine, and near-ties could flip from call to call.
 * Here each term is an integer of 53 bits times a power of two.  Powers of
 * two are grouped in bins of NW_BIN_BITS; a mass keeps the exact integer sums
 * of its highest NW_BINS bins and forgets the rest.  Whether a term is kept
 * depends only on the largest term of the whole sum, never on what came
 * first, so any order, any split and any merge give the same bits.
 *
 * What is forgotten is below 2^-64 of the largest term, each; a bin holds
 * 2^44 terms before it could overflow.
 *
 * Pure C: no PostgreSQL, no allocation, no errors.
 */
#ifndef NW_MATH_MASS_H
#define NW_MATH_MASS_H

#include <stdbool.h>
#include <stdint.h>

#define NW_BINS 3

/* aligned as allocators align, which is less than the compiler would assume */
typedef unsigned __int128 nw_uint128 __attribute__((aligned(8)));

/*
 * A sum of terms.  bin[0] is the highest bin, of index top; bin[k] has index
 * top - k.  Indexes are integers held as doubles, since a small tau makes
 * them larger than any integer type.
 */
typedef struct NwMass
{
	nw_uint128 bin[NW_BINS];
	double top; /* -HUGE_VAL where nothing was added */
} NwMass;

/*
 * A non-negative number beyond double's range: fraction * 2^exponent.  Where
 * the exponent is so large that 1 more would not show in it, the fraction is
 * any positive number instead.
 */
typedef struct NwScaled
{
	double fraction; /* in [1, 2), or 0 */
	double exponent; /* an integer; 0 where fraction is 0 */
} NwScaled;

extern void nw_mass_clear(NwMass *mass);
extern bool nw_mass_is_empty(const NwMass *mass);
extern void nw_mass_add(NwMass *mass, double score);
extern void nw_mass_raise(NwMass *mass, double top);

/* Add a term as NwSimd.exp_split makes it. */
static inline void
nw_mass_add_split(NwMass *mass, double bin, uint64_t hi, uint64_t lo)
{
	double gap;

	if (bin > mass->top)
		nw_mass_raise(mass, bin);
	gap = mass->top - bin;
	if (gap < NW_BINS)
		mass->bin[(int) gap] += ((nw_uint128) hi << 64) | lo;
}

extern void nw_mass_split(const double *score, int n, double *bin, uint64_t *hi, uint64_t *lo);
extern void nw_mass_merge(NwMass *mass, const NwMass *other);
extern void nw_mass_scatter(NwMass *masses, const int32_t *class_of, int n, const double *bin,
                            const uint64_t *hi, const uint64_t *lo);
extern void nw_mass_add_run(NwMass *mass, int n, const double *bin, const uint64_t *hi,
                            const uint64_t *lo);
extern void nw_mass_add_scores(NwMass *mass, int n, const double *score);
extern bool nw_mass_without(const NwMass *mass, double bin, uint64_t hi, uint64_t lo,
                            NwScaled *rest);
extern NwScaled nw_mass_value(const NwMass *mass);
extern NwScaled nw_scaled_exp(double score);
extern int nw_scaled_compare(NwScaled a, NwScaled b);
extern NwScaled nw_scaled_sum(const NwScaled *values, int n);
extern NwScaled nw_scaled_of(double value);
extern NwScaled nw_scaled_product(NwScaled a, NwScaled b);
extern NwScaled nw_scaled_quotient(NwScaled a, NwScaled b);
extern double nw_scaled_ratio(NwScaled a, NwScaled b);

/*
 * A mass made ready to tell of many terms what share of it they are: terms of
 * its own bin and of those below, as far down as a double goes.
 */
#define NW_SHARE_BINS 36
#define NW_SHARE_SCALE 96 /* so that no unit is subnormal */

typedef struct NwShares
{
	double bin;
	double unit[NW_SHARE_BINS]; /* 2^NW_SHARE_SCALE times what a term of
	                             * 2^52 in that bin is of the mass */
} NwShares;

extern void nw_shares_init(NwShares *shares, NwScaled mass);

/*
 * What a term as NwSimd.exp_split makes it is of the mass, which is no
 * smaller: 0 where that underflows.  Off by less than 2 units in the last place.
 */
static inline double
nw_share(const NwShares *shares, double bin, uint64_t hi, uint64_t lo)
{
	double gap = shares->bin - bin;
	double value;

	if (!(gap >= 0 && gap < NW_SHARE_BINS))
		return 0;

	/* three parts that are signed integers, too; the sum has 53 bits */
	value = (double) (int64_t) hi * 0x1p-84 + ((double) (int64_t) (lo >> 32) * 0x1p-116 +
	                                           (double) (int64_t) (lo & UINT32_MAX) * 0x1p-148);
	return value * shares->unit[(int) gap];
}

extern double nw_scaled_log(NwScaled a);
extern double nw_scaled_log_ratio(NwScaled a, NwScaled b);

#endif /* NW_MATH_MASS_H */
