/*
 * math/shapley.h
 *		What each support is worth to a vote of the k nearest neighbours: its
 *		Shapley value, exactly.
 *
 * Pure C: no PostgreSQL, no allocation, no errors.
 */
#ifndef NW_MATH_SHAPLEY_H
#define NW_MATH_SHAPLEY_H

#include <stdbool.h>
#include <stdint.h>

/* A support as one query sees it. */
typedef struct NwNeighbour
{
	uint64_t key; /* the nearer, the smaller; the same where they are equally near */
	int64_t row;  /* of the support */
} NwNeighbour;

extern int64_t nw_neighbours_take(NwNeighbour *near, const double *score, int64_t n);
extern void nw_neighbours_sort(NwNeighbour *near, NwNeighbour *spare, int64_t n);
extern void nw_shapley_of_query(const NwNeighbour *near, int64_t n, int k, const bool *match,
                                double *value);

#endif /* NW_MATH_SHAPLEY_H */
