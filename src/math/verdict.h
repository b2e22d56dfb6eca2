/*
 * math/verdict.h
 *		Which class wins, and how probable each class is.
 *
 * Pure C: no PostgreSQL, no allocation, no errors.
 */
#ifndef NW_MATH_VERDICT_H
#define NW_MATH_VERDICT_H

#include "math/mass.h"

/* The classes of a prediction that have mass, in byte order of their labels. */
typedef struct NwVerdict
{
	int n;
	int *class;      /* [n] their numbers */
	NwScaled *value; /* [n] their masses */
	NwScaled total;
	double temper; /* 1 where probabilities are the shares themselves; elsewhere there are: */
	int winner;    /* its place */
	double tempered_total; /* the sum of tempered shares, in units of the winner's */
} NwVerdict;

/* How sharp or flat probabilities can be made. */
#define NW_TEMPER_MIN 0.001
#define NW_TEMPER_MAX 1000.0

extern bool nw_temper_is_valid(double temper);

extern bool nw_verdict_close(NwVerdict *verdict, const NwMass *mass, const int *order, int n);
extern void nw_verdict_temper(NwVerdict *verdict, double temper);
extern int nw_verdict_find(const NwVerdict *verdict, int class);
extern int nw_verdict_winner(const NwVerdict *verdict);
extern int nw_verdict_rival(const NwVerdict *verdict, int place);
extern int nw_verdict_rank(const NwVerdict *verdict, int i, int j);
extern double nw_verdict_share(const NwVerdict *verdict, int i);
extern double nw_verdict_probability(const NwVerdict *verdict, int i);
extern NwScaled nw_verdict_scaled(const NwVerdict *verdict, int i, bool share);
extern double nw_verdict_log_probability(const NwVerdict *verdict, int i);

#endif /* NW_MATH_VERDICT_H */
