/*
 * index/build.h
 *		What the two halves of an index build share.
 */
#ifndef NW_INDEX_BUILD_H
#define NW_INDEX_BUILD_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "utils/tuplesort.h"

#include "index/am.h"
#include "index/label_images.h"
#include "math/random.h"

/* A class while the index is built. */
typedef struct BuildClass
{
	uint32 rows; /* or as many as it can tell */
	uint32 sampled;
	uint32 first_list;
	uint32 nlists;
} BuildClass;

/* A list while the index is built. */
typedef struct BuildList
{
	NwListData data;
	int64 rows;
	BlockNumber first_vectors;
} BuildList;

typedef struct Build
{
	Relation heap;
	Relation index;
	IndexInfo *info;
	NwLayout layout;
	NwTextOut label_out;
	MemoryContext row_mcxt; /* emptied after each row */

	NwImages *images;  /* labels' images, numbered: the classes */
	BuildClass *class; /* [class_allocated] */
	int class_allocated;

	NwRandom random;
	int sample_size; /* at most so many rows */
	int sampled;
	int64 seen;
	float *sample;       /* [sampled][dim] */
	int32 *sample_class; /* [sampled] */

	uint32 most_lists; /* of a class */
	uint32 nlists;
	BuildList *list;  /* [nlists] */
	float *center;    /* [nlists][dim] */
	double *wide;     /* [dim] the row at hand */
	double *distance; /* [lists of a class] */

	Tuplesortstate *sort;
	TupleDesc desc;
	TupleTableSlot *slot;
	int64 rows;
	NwMeta meta;
} Build;

/* Insist on columns that an nw index can serve, and describe them. */
extern void nw_index_describe(Relation index, NwLayout *layout, Oid *label_type);

/* Write the rows that were sorted by list, and all else. */
extern void nw_index_write(Build *build);

#endif /* NW_INDEX_BUILD_H */
