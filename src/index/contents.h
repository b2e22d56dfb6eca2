/*
 * index/contents.h
 *		What an nw index holds, and whether REINDEX would help it.
 */
#ifndef NW_INDEX_CONTENTS_H
#define NW_INDEX_CONTENTS_H

#include "postgres.h"

#include "utils/rel.h"

#include "index/page.h"

/* What the pages of a list hold. */
typedef struct NwListContents
{
	int64 pages; /* of codes */
	int64 slots; /* ever used */
	int64 rows;
	int64 late; /* rows that the list's spread does not cover */
} NwListContents;

/* What all of an index holds. */
typedef struct NwIndexContents
{
	uint32 nclasses;
	uint32 nlists;     /* the common list aside */
	uint64 built_rows; /* when the index was built */
	int64 rows;
	int64 slots;
	int64 unlisted_rows; /* in the common list */
	int64 late_rows;     /* of lists, which their spread does not cover */
	const char *advice;  /* what REINDEX would mend; NULL where nothing */
} NwIndexContents;

extern NwListContents nw_list_contents(Relation index, const NwMeta *meta, const NwLayout *layout,
                                       uint32 list, const NwListData *data);
extern NwIndexContents nw_index_contents(Relation index);

#endif /* NW_INDEX_CONTENTS_H */
