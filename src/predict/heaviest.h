/*
 * predict/heaviest.h
 *		The heaviest supports of a query.
 */
#ifndef NW_PREDICT_HEAVIEST_H
#define NW_PREDICT_HEAVIEST_H

#include "postgres.h"

#include "storage/itemptr.h"

#include "sets/labels.h"

/* One support among the heaviest. */
typedef struct NwHeavy
{
	double score;
	double measure;
	int class;
	int member;          /* of a mixture: its place among those with an answer */
	const char *id;      /* output text; NULL for a null id */
	bool unnamed;        /* the id is not known yet */
	int part;            /* where unnamed: which table of the index's reader the row is in */
	ItemPointerData tid; /* where unnamed: the row's place there */
} NwHeavy;

/* Name a support whose id is not known yet. */
typedef char *(*NwHeavyNamer)(const NwHeavy *item, void *arg);

/* A heap with the lightest item at its root, until it is sorted. */
typedef struct NwHeaviest
{
	MemoryContext mcxt;
	const NwLabels *labels;
	int limit; /* on n */
	int n;
	int allocated;
	NwHeavy *item;      /* [n] */
	NwHeavyNamer namer; /* asked where ids decide, and at the end */
	void *namer_arg;
} NwHeaviest;

extern void nw_heaviest_init(NwHeaviest *heaviest, int limit, const NwLabels *labels,
                             MemoryContext mcxt);
extern void nw_heaviest_offer(NwHeaviest *heaviest, const NwHeavy *item);
extern void nw_heaviest_sort(NwHeaviest *heaviest);

#endif /* NW_PREDICT_HEAVIEST_H */
