/*
 * math/drops.h
 *		One query's scores in short: how far below the best of their class.
 *
 * Pure C: no PostgreSQL, no allocation, no errors.
 */
#ifndef NW_MATH_DROPS_H
#define NW_MATH_DROPS_H

#include <stdint.h>

/* The scores of one query at temperature 1. */
typedef struct NwDrops
{
	int nclasses;
	double *largest;    /* [nclasses] score; NW_SCORE_NONE where a class has no row */
	int64_t *start;     /* [nclasses + 1] first cell of each class */
	double *drop;       /* [cells] from the largest score of the class */
	double *log_weight; /* [cells] of all rows in the cell */
} NwDrops;

extern int64_t nw_drops_room(const int64_t *class_start, int nclasses);
extern void nw_drops_fold(NwDrops *drops, const double *score, const double *log_weight,
                          const int64_t *class_start);
extern void nw_drops_log_masses(const NwDrops *drops, double inverse_tau, double *scratch,
                                double *mass);

#endif /* NW_MATH_DROPS_H */
