/*
 * index/build_state.h
 *		What the two halves of an index build share: build.c, which decides what
 *		goes where, and build_pages.c, which writes it.
 */
#ifndef NW_INDEX_BUILD_STATE_H
#define NW_INDEX_BUILD_STATE_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "nodes/execnodes.h"
#include "utils/tuplesort.h"

#include "index/build_labels.h"
#include "index/page.h"
#include "math/random.h"
#include "sets/text_out.h"

/* A class while the index is built. */
typedef struct NwBuildClass
{
	uint32 rows;       /* or as many as it can tell */
	uint32 sampled;    /* rows in the sample */
	uint32 first_list; /* of its own */
	uint32 nlists;     /* 0 where its rows go to the common list */
} NwBuildClass;

/* A list while the index is built. */
typedef struct NwBuildList
{
	NwListData data;
	int64 rows;
	BlockNumber first_vectors; /* of its vector pages, which are consecutive */
} NwBuildList;

typedef struct NwBuild
{
	Relation heap;
	Relation index;
	IndexInfo *info;
	NwLayout layout;
	NwTextOut label_out;
	MemoryContext mcxt;     /* of all of it */
	MemoryContext row_mcxt; /* emptied after each row */

	NwBuildLabels *labels; /* labels' images, numbered: the classes */
	NwBuildClass *class;   /* [class_allocated] */
	int class_allocated;

	NwRandom random;     /* draws the sample */
	int sample_size;     /* at most so many rows */
	int sampled;         /* rows in the sample */
	int64 seen;          /* rows met while sampling */
	float *sample;       /* [sampled][dim] */
	int32 *sample_class; /* [sampled] */

	uint32 most_lists; /* of a class */
	uint32 nlists;     /* the common list included */
	NwBuildList *list; /* [nlists] */
	float *centre;     /* [nlists][dim] */
	double *wide;      /* [dim] the row at hand */
	double *distance;  /* [lists of a class] */

	Tuplesortstate *sort; /* rows by list, then by class */
	TupleDesc desc;       /* of what is sorted: list, tid, class, vector */
	TupleTableSlot *slot; /* of the same */
	int64 rows;           /* handed to the sort */
	NwMeta meta;
} NwBuild;

#endif /* NW_INDEX_BUILD_STATE_H */
