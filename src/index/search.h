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
	int64 lists;        /* with a centre of their own, */
	int64 lists_pruned; /* never looked into */
	int64 supports;     /* slots that may hold a row */
	int64 by_list;      /* settled by the bound of their list, */
	int64 by_code;      /* by that of their code, */
	int64 exact;        /* read exactly */
	NwIndexWork reading;
} NwSearchWork;

/*
 * Find the label of the class that has the most mass, among those admitted; false
 * where the bounds leave open whether a class asked for has any support, which is
 * then for an exact pass to say.  The answer is that of an exact pass, ties included.
 */
extern bool nw_index_search(NwIndexReader *reader, const NwQuery *query, const NwFilter *filter,
                            NwSearchWork *work, NwBytes *label);

#endif /* NW_INDEX_SEARCH_H */
