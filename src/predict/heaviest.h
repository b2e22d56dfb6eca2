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
typedef struct NwTopItem
{
	double score;
	double measure;
	int class;
	const char *id;      /* output text; NULL for a null id */
	bool unnamed;        /* the id is not known yet: */
	int part;            /* it is that of the row in this table */
	ItemPointerData tid; /* at this place */
} NwTopItem;

/* Name a support whose id is not known yet. */
typedef char *(*NwTopNamer)(const NwTopItem *item, void *arg);

/* A heap with the lightest item at its root, until it is sorted. */
typedef struct NwTop
{
	MemoryContext mcxt;
	const NwLabels *labels;
	int limit;
	int n;
	int allocated;
	NwTopItem *item;
	NwTopNamer namer; /* asked where ids decide, and at the end */
	void *namer_arg;
} NwTop;

extern void nw_top_init(NwTop *top, int limit, const NwLabels *labels, MemoryContext mcxt);

/* Keep a copy of an item where it is among the heaviest so far. */
extern void nw_top_offer(NwTop *top, const NwTopItem *item);

/* Put the heaviest first.  No more offers after that. */
extern void nw_top_sort(NwTop *top);

#endif /* NW_PREDICT_HEAVIEST_H */
