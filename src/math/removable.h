/*
 * math/removable.h
 *		What the loss of a query would be without one of the supports.
 *
 * The influence of a support is the cross-entropy of the query's truth
 * without it, minus that with it: above 0 the support helps.  For a support
 * of term t = exp(score), with r the mass of its class without it and o the
 * mass of all other classes, log(1 - w) - [own] * log(1 - w/f) becomes
 *
 *		log1p(o * t / (r * (o + r + t)))	where its label is the truth,
 *		-log1p(t / (o + r))					where it is not.
 *
 * Nothing is subtracted, so every digit is right whether w is near 0 or near
 * 1, and f too, provided that r is: see NwRemovable.
 *
 * Pure C: no PostgreSQL, no allocation, no errors.
 */
#ifndef NW_MATH_REMOVABLE_H
#define NW_MATH_REMOVABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "math/mass.h"

/*
 * The mass of a class that can do without any one of its terms.
 *
 * An NwMass forgets what is below 2^-64 of its largest term, and so cannot
 * tell what is left without that one.  Here the largest term is kept apart
 * from the sum of the others, and both answers are exact.
 */
typedef struct NwRemovable
{
	NwMass others; /* all terms but the largest */
	double bin;    /* of the largest; -HUGE_VAL where there is none */
	uint64_t hi;   /* of the largest */
	uint64_t lo;   /* of the largest */
} NwRemovable;

/* A member of a mixture among the others: each of these is times a share. */
typedef struct NwInMixture
{
	NwScaled share; /* of the member */
	NwScaled truth; /* what the others say of the truth, added up */
	NwScaled doubt; /* and of all else */
} NwInMixture;

extern void nw_removable_clear(NwRemovable *sum);
extern void nw_removable_add_run(NwRemovable *sum, int n, const double *bin, const uint64_t *hi,
                                 const uint64_t *lo);
extern void nw_removable_merge(NwRemovable *sum, const NwRemovable *other);
extern void nw_removable_mass(const NwRemovable *sum, NwMass *mass);
extern NwScaled nw_removable_without(const NwRemovable *sum, double bin, uint64_t hi, uint64_t lo);
extern double nw_influence_log(bool own, NwScaled term, NwScaled rest, NwScaled others);
extern double nw_influence_mixed(bool own, NwScaled term, NwScaled rest, NwScaled others,
                                 NwScaled truth, const NwInMixture *in);

#endif /* NW_MATH_REMOVABLE_H */
