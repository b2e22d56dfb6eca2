/*
 * index/search.h
 *		Find the most probable class of a query with the help of bounds.
 */
#ifndef NW_INDEX_SEARCH_H
#define NW_INDEX_SEARCH_H

#include "postgres.h"

#include "index/read.h"
#include "sets/filter.h"

/* What a search has cost, and where its supports were settled. */
typedef struct NwSearchWork
{
	int64 lists;        /* the common list aside */
	int64 lists_pruned; /* lists never looked into */
	int64 supports;     /* slots that may hold a row */
	int64 by_list;      /* supports settled by the bound of their list */
	int64 by_code;      /* supports settled by that of their code */
	int64 exact;        /* supports read exactly */
	NwIndexWork reading;
} NwSearchWork;

extern bool nw_index_search(NwIndexReader *reader, const NwQuery *query, const NwFilter *filter,
                            NwSearchWork *work, NwBytes *label);

#endif /* NW_INDEX_SEARCH_H */
