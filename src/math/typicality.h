/*
 * math/typicality.h
 *		How a distance ranks among others, as a p-value, and whether many such
 *		p-values are what they should be.
 *
 * Pure C: no PostgreSQL, no allocation, no errors.
 */
#ifndef NW_MATH_TYPICALITY_H
#define NW_MATH_TYPICALITY_H

#include <stdbool.h>
#include <stdint.h>

/* Distances to k-th neighbours that those of queries are compared with. */
typedef struct NwTypical
{
	int k;
	int n;
	bool own;               /* the distances are of the set's own rows to each other */
	const double *distance; /* [n] ascending */
} NwTypical;

/* How many queries have each rank, and what that says. */
typedef struct NwDrift
{
	const NwTypical *typical; /* what the ranks are among */
	int64_t *count;           /* [typical->n + 1] queries of rank 1, 2, ... */
	int64_t queries;
} NwDrift;

extern int nw_typical_rank(const NwTypical *typical, double distance);
extern double nw_typicality(int rank, int n);
extern int64_t nw_drift_below(const NwDrift *drift, double typicality);
extern double nw_drift_mean(const NwDrift *drift);
extern double nw_drift_distance(const NwDrift *drift, double *farther, double *closer);
extern double nw_drift_chance(const NwDrift *drift, double distance);
extern double nw_kolmogorov(double x);

#endif /* NW_MATH_TYPICALITY_H */
