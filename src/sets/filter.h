/*
 * sets/filter.h
 *		Which rows of a set count.
 */
#ifndef NW_SETS_FILTER_H
#define NW_SETS_FILTER_H

#include "postgres.h"

#include "sets/labels.h"

typedef struct NwFilter
{
	NwBytes *classes; /* [nclasses] these classes only; NULL for all */
	int nclasses;
	NwByteSet *admitted; /* the same, to look one up */
	NwByteSet *exclude;  /* not these ids; NULL for none */
} NwFilter;

#endif /* NW_SETS_FILTER_H */
