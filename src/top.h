/*
 * top.h
 *		The heaviest supports of a query.
 */
#ifndef NW_TOP_H
#define NW_TOP_H

#include "postgres.h"

#include "labels.h"

/* One support among the heaviest. */
typedef struct NwTopItem
{
	double		score;
	double		measure;
	int			class;
	const char *id;				/* output text; NULL for a null id */
} NwTopItem;

/* A heap with the lightest item at its root, until it is sorted. */
typedef struct NwTop
{
	MemoryContext mcxt;
	const NwLabels *labels;
	int			limit;
	int			n;
	int			allocated;
	NwTopItem  *item;
} NwTop;

extern void nw_top_init(NwTop *top, int limit, const NwLabels *labels,
						MemoryContext mcxt);

/* Keep a copy of an item where it is among the heaviest so far. */
extern void nw_top_offer(NwTop *top, const NwTopItem *item);

/* Put the heaviest first.  No more offers after that. */
extern void nw_top_sort(NwTop *top);

#endif							/* NW_TOP_H */
