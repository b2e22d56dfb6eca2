/*
 * index/read.h
 *		Read a set's rows out of an nw index, as the active snapshot sees them.
 */
#ifndef NW_INDEX_READ_H
#define NW_INDEX_READ_H

#include "postgres.h"

#include "access/tableam.h"
#include "access/visibilitymapdefs.h"
#include "utils/snapshot.h"

#include "index/am.h"
#include "math/kernel.h"
#include "math/simd/simd.h"
#include "sets/labels.h"
#include "sets/scan.h"

/* Slots of a code page of one dimension: as many as there can be. */
#define NW_MAX_SLOTS 320

/* What reading has cost. */
typedef struct NwIndexWork
{
	int64 pages;       /* of the index */
	int64 heap_checks; /* rows looked up in the heap */
} NwIndexWork;

/* Where pages of an index were found lately in shared buffers. */
typedef struct NwTrail
{
	BlockNumber block;
	Buffer buffer;
	int step; /* from buffer to buffer: 1, -1, or 0 for none */
} NwTrail;

/* A page of the visibility map. */
typedef struct NwMapPage
{
	Buffer buffer;
	BlockNumber first;          /* heap block it tells of */
	const volatile uint8 *bits; /* what it says; NULL for no page */
} NwMapPage;

/* So many are kept: a list's rows may be anywhere in the table. */
#define NW_MAP_PAGES 16

/* A table and its index: the whole set, or a partition of it. */
typedef struct NwIndexPart
{
	Relation heap;
	Relation index;
	NwMeta meta;
	NwLayout layout;
	int nclasses;
	int32 *class;                /* [nclasses] the reader's number of a class;
	                              * NULL where that is its own */
	Datum *label;                /* [nclasses] */
	NwMapPage map[NW_MAP_PAGES]; /* of the visibility map, kept pinned */
	BlockNumber heap_blocks;     /* of the table, as far as known */
	NwTrail codes;               /* where code pages were found lately, */
	NwTrail vectors;             /* and vector pages */
	IndexFetchTableData *fetch;
	TupleTableSlot *slot;
} NwIndexPart;

typedef struct NwIndexReader
{
	MemoryContext mcxt;
	Snapshot snapshot;
	NwLabels *labels;      /* classes by output text, of all parts; may
	                        * be NULL */
	NwLabelCursor *cursor; /* reads labels one by one, where they are not
	                        * among those; else NULL */
	int nclasses;          /* that the reader numbers */
	int nparts;
	NwIndexPart *part;
	bool begun; /* at least once */
	NwIndexWork work;
} NwIndexReader;

/* Where a list goes on, and what has to be there. */
typedef struct NwPageAt
{
	BlockNumber block; /* of codes; invalid at the end */
	uint32 list;
	uint32 nth;
	uint32 class; /* of no meaning in the common list */
} NwPageAt;

/* Where a list begins. */
static inline NwPageAt
nw_list_start(uint32 list, const NwListData *data)
{
	return (NwPageAt) {data->first_page, list, 0, data->class};
}

/* The visible rows of a code page. */
typedef struct NwPageRows
{
	uint32 nth;
	BlockNumber vectors[NW_VECTOR_PAGES];
	Buffer pinned[NW_VECTOR_PAGES];
	int n;
	int16 slot[NW_MAX_SLOTS];
	int32 class[NW_MAX_SLOTS]; /* the part's number */
	ItemPointerData tid[NW_MAX_SLOTS];
	bool visible[NW_MAX_SLOTS];
} NwPageRows;

/* The size of the indexes found. */
extern BlockNumber nw_index_blocks(const NwIndexReader *reader);

/* Begin reading, from the start; labels, where given, number the classes. */
extern void nw_index_begin(NwIndexReader *reader, NwLabels *labels);

/*
 * The same for a search, which wants few labels, or those filtered by.  Where
 * that may be, they are read when they are asked for; then labels stay empty.
 */
extern void nw_index_begin_search(NwIndexReader *reader, NwLabels *labels, bool filtered);

/* The reader's number of a part's class. */
static inline int32
nw_index_class(const NwIndexPart *part, uint32 class)
{
	return part->class ? part->class[class] : (int32) class;
}

/* The output text of a class, by the reader's number. */
extern NwBytes nw_index_class_text(NwIndexReader *reader, int class);

/* The class of a text, by the reader's number, or -1. */
extern int nw_index_find_class(NwIndexReader *reader, NwBytes text);

/*
 * Say whether a query has the dimensions of all indexes.  Whether another one
 * is an error depends on the rows there are: that is for an exact pass to say.
 */
extern bool nw_index_has_dim(const NwIndexReader *reader, int dim);

/* End reading, and close what was found. */
extern void nw_index_end(NwIndexReader *reader);

/* Find the page of the visibility map that tells of a heap block. */
extern bool nw_index_look_at_map(NwIndexPart *part, BlockNumber block);

/* The visibility map on disk: two bits for each heap block, in order. */
#define NW_MAP_PER_BYTE 4
#define NW_MAP_PER_PAGE ((BLCKSZ - MAXALIGN(SizeOfPageHeaderData)) * NW_MAP_PER_BYTE)

/*
 * Look at a slot while the code page is locked: true where the row behind it is
 * visible to everyone.  What visibilitymap_get_status() would say, without the
 * call for each row.
 */
static inline bool
nw_index_all_visible(NwIndexPart *part, ItemPointer tid)
{
	BlockNumber block = ItemPointerGetBlockNumber(tid);
	const NwMapPage *map = &part->map[block / NW_MAP_PER_PAGE % NW_MAP_PAGES];
	BlockNumber place = block - map->first;

	if (map->bits == NULL || place >= NW_MAP_PER_PAGE)
		return nw_index_look_at_map(part, block);
	return map->bits[place / NW_MAP_PER_BYTE] >> (place % NW_MAP_PER_BYTE * BITS_PER_HEAPBLOCK) &
	       VISIBILITYMAP_ALL_VISIBLE;
}

/* Ask the heap whether the row behind a TID is visible. */
extern bool nw_index_row_visible(NwIndexReader *reader, NwIndexPart *part, ItemPointer tid);

/* Complain about a row of a class that is not there, or not its list's. */
extern _Noreturn void nw_index_report_class(NwIndexPart *part, ItemPointer tid);

/*
 * Collect the visible rows of a code page, of the classes wanted (by the
 * reader's numbers; NULL for all), and go on to the next page of its list.
 */
extern void nw_index_read_page(NwIndexReader *reader, NwIndexPart *part, NwPageAt *at,
                               const bool *wanted, NwPageRows *rows);

/*
 * Pin a page of the index, and have it fetched to the processor's cache, from
 * a byte on.  What lies before it is not needed, or left to sums over the page
 * before, which nw_index_ahead() tells of it.  The trail helps to find pages
 * that follow each other.
 */
extern Buffer nw_index_pin(NwIndexPart *part, BlockNumber block, NwTrail *trail, int from,
                           bool by_sums);

/*
 * Have sums over a page fetch the same part of the page that comes next, up to
 * nw_index_ahead_end().
 */
static inline void
nw_index_ahead(const NwTrail *trail)
{
	nw_simd_ahead = trail->step < 0 ? -BLCKSZ : BLCKSZ;
}

static inline void
nw_index_ahead_end(void)
{
	nw_simd_ahead = NW_PREFETCH_BYTES;
}

/* The pages of one list, one after the other; zeroed before the first use. */
typedef struct NwIndexPages
{
	NwIndexReader *reader;
	NwIndexPart *part;
	const bool *wanted;
	NwPageAt next;
	NwPageRows *ahead; /* the page behind the one at hand, or NULL */
	int turn;
	float *x;    /* [slots][dim] room for vectors, */
	char *whole; /* and for one as stored */
	NwPageRows rows[2];
} NwIndexPages;

/* Go to the first code page of a list (there may be none). */
extern void nw_index_first_page(NwIndexPages *pages, NwIndexReader *reader, NwIndexPart *part,
                                NwPageAt first, const bool *wanted);

/*
 * Go to the next page; NULL at the end.  Its vectors have to be read, or
 * measured, before the next call.
 */
extern NwPageRows *nw_index_next_page(NwIndexPages *pages);

/* Read the vectors x [n][dim] of the rows of a page. */
extern void nw_index_read_vectors(NwIndexPages *pages, NwPageRows *rows, float *x);

/* All pages of all lists, one after the other; zeroed before the first. */
typedef struct NwIndexWalk
{
	NwIndexPages pages; /* of the list at hand */
	int part;
	uint32 list; /* the one after it */
} NwIndexWalk;

/* Go to the next page of all; NULL at the end. */
extern NwPageRows *nw_index_walk(NwIndexReader *reader, NwIndexWalk *walk);

/* Measure a query against the rows of a page. */
extern void nw_index_measure_page(NwIndexPages *pages, NwPageRows *rows, const NwQuery *query,
                                  double *measure);

/* Hand all rows to a callback, as nw_scan_run() does. */
extern void nw_index_read_rows(NwIndexReader *reader, NwRowCallback callback, void *arg);

/* The output text of the id of a row that was read; NULL for a null id. */
extern char *nw_index_fetch_id(NwIndexReader *reader, const NwSource *source, NwTextOut *id_out,
                               int part, ItemPointer tid);

#endif /* NW_INDEX_READ_H */
