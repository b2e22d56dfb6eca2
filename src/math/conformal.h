/*
 * math/conformal.h
 *		Scores of labels, and which of them a set of plausible labels admits.
 *
 * Pure C: no PostgreSQL, no allocation, no errors.
 */
#ifndef NW_MATH_CONFORMAL_H
#define NW_MATH_CONFORMAL_H

#include <stdbool.h>
#include <stdint.h>

#include "math/verdict.h"

/* The score of a label that has no support: no label's is worse. */
#define NW_WORST_SCORE 1.0

/* What share of queries falls between limits: this, and half of the rest on each side. */
#define NW_LIMITS_SHARE 0.99

extern int64_t nw_conformal_rank(int64_t n, double coverage);
extern double nw_conformal_score(const NwVerdict *verdict, int place);
extern void nw_conformal_adaptive(const NwVerdict *verdict, const int *ranking, double *score);
extern void nw_coverage_limits(int64_t scores, int64_t rank, int64_t queries, int64_t *low,
                               int64_t *high);

#endif /* NW_MATH_CONFORMAL_H */
