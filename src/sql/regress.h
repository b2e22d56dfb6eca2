/*
 * sql/regress.h
 *		Means of numeric labels.
 */
#ifndef NW_SQL_REGRESS_H
#define NW_SQL_REGRESS_H

#include "postgres.h"

#include "predict/batch.h"

/* The labels of a set as numbers, each read once. */
typedef struct NwNumbers
{
	MemoryContext mcxt;
	const char *set; /* its name */
	double *number;  /* [n] by class */
	int n;
	int allocated;
} NwNumbers;

extern double nw_label_number(NwBytes label, const char *set);
extern double nw_regress_mean(const NwTally *tally, NwNumbers *numbers);

#endif /* NW_SQL_REGRESS_H */
