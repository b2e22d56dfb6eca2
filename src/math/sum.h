/*
 * math/sum.h
 *		Sums of numbers that do not depend on the order of their terms.
 *
 * What is added up over queries (losses, squared errors, influences) must not
 * tell in which order a table was read.  A double is an integer of 53 bits
 * times a power of two, so the bins of a mass serve here as well (mass.h);
 * what is below 0 is added as two's complement.  Any order, any split and any
 * merge give the same bits.
 *
 * Range: every double.  What is forgotten is below 2^-64 of the largest
 * magnitude added, for each term; a sum holds 2^43 terms.
 *
 * Pure C: no PostgreSQL, no allocation, no errors.
 */
#ifndef NW_MATH_SUM_H
#define NW_MATH_SUM_H

#include <stdbool.h>

#include "math/mass.h"

typedef struct NwSum
{
	NwMass mass; /* bins in two's complement */
	bool above;  /* HUGE_VAL was added */
	bool below;  /* -HUGE_VAL was added */
} NwSum;

extern void nw_sum_clear(NwSum *sum);
extern void nw_sum_add(NwSum *sum, double value);
extern void nw_sum_merge(NwSum *sum, const NwSum *other);
extern double nw_sum_value(const NwSum *sum);

#endif /* NW_MATH_SUM_H */
