/*
 * predict/tally.h
 *		Compare one query with every support and add up the classes' masses.
 */
#ifndef NW_PREDICT_TALLY_H
#define NW_PREDICT_TALLY_H

#include "postgres.h"

#include "fmgr.h"

#include "math/kernel.h"
#include "math/mass.h"
#include "math/removable.h"
#include "predict/heaviest.h"
#include "predict/support.h"
#include "sets/labels.h"
#include "sets/pgvector.h"

/* Which supports count. */
typedef struct NwFilter
{
	NwBytes *classes; /* these classes only; NULL for all */
	int nclasses;
	NwByteSet *admitted; /* the same, to look one up */
	NwByteSet *exclude;  /* not these ids; NULL for none */
} NwFilter;

/* What is asked of one call. */
typedef struct NwCall
{
	Oid schema;          /* the extension's */
	const char *support; /* name of a set */
	NwVectorData query;
	NwFilter filter;
	int top;       /* how many heaviest supports to name */
	bool by_truth; /* as many of class truth and of all others */
	NwBytes truth;
	bool label_only;      /* nothing but the most probable class */
	bool once;            /* the query does not change from row to row */
	MemoryContext caller; /* lives as long as the calling expression */
} NwCall;

/* The answer: one mass a class. */
typedef struct NwTally
{
	NwQuery query;
	NwLabels *labels;
	NwMass *mass;           /* [labels->n] */
	NwRemovable *removable; /* [labels->n], only where by_truth */
	int allocated;
	int nclasses;    /* classes with mass */
	int *class;      /* [nclasses] in byte order of their labels */
	NwScaled *value; /* [nclasses] their masses */
	NwScaled total;
	NwTop top;    /* sorted, heaviest first; of class truth only
	               * where by_truth */
	NwTop others; /* of the other classes, where by_truth */
} NwTally;

/*
 * Put the classes that have mass in byte order and add them up; false where
 * there are none.  labels and mass are given, the rest is allocated in mcxt.
 */
extern bool nw_tally_close(NwTally *tally, MemoryContext mcxt);

/* The position in byte order of a class that has mass, or -1. */
extern int nw_tally_position(const NwTally *tally, int class);

/* Compare a query with a set.  Never returns an empty answer. */
extern NwTally *nw_tally(const NwCall *call);

/* The probability of the i-th class in byte order. */
extern double nw_tally_probability(const NwTally *tally, int i);

/* The most probable class: a position in byte order; the first of equals. */
extern int nw_tally_best(const NwTally *tally);

/* The label of the i-th class in byte order. */
extern NwBytes nw_tally_label(const NwTally *tally, int i);

#endif /* NW_PREDICT_TALLY_H */
