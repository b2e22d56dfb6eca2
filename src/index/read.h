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

#include "index/label_lookup.h"
#include "index/page.h"
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
	Buffer buffer; /* that had the block */
	int step;      /* from buffer to buffer: 1, -1, or 0 for none */
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
	int32 *class; /* [nclasses] the reader's number of each; NULL where it is its own */
	Datum *label; /* [nclasses] NULL where a cursor reads them */
	NwMapPage map[NW_MAP_PAGES]; /* of the visibility map, kept pinned */
	BlockNumber heap_blocks;     /* of the table, as far as known */
	NwTrail codes;               /* where code pages were found lately */
	NwTrail vectors;             /* where vector pages were */
	IndexFetchTableData *fetch;  /* looks rows up in the heap; NULL until reading begins */
	TupleTableSlot *slot;        /* of the table */
} NwIndexPart;

typedef struct NwIndexReader
{
	MemoryContext mcxt;
	Snapshot snapshot;
	NwLabels *labels;      /* classes by output text, of all parts; may be NULL */
	NwLabelCursor *cursor; /* reads labels one by one, where labels stays empty; else NULL */
	int nclasses;          /* that the reader numbers */
	int nparts;
	NwIndexPart *part; /* [nparts] */
	bool begun;        /* at least once */
	NwIndexWork work;
} NwIndexReader;

/* Where a list goes on, and what has to be there. */
typedef struct NwPageAt
{
	BlockNumber block; /* of codes; invalid at the end */
	uint32 list;
	uint32 nth;   /* page of the list */
	uint32 class; /* of no meaning in the common list */
} NwPageAt;

/* The visible rows of a code page. */
typedef struct NwPageRows
{
	uint32 nth;                           /* page of its list */
	BlockNumber vectors[NW_VECTOR_PAGES]; /* as the code page names them */
	Buffer pinned[NW_VECTOR_PAGES];       /* those that are needed, else InvalidBuffer */
	int n;
	int16 slot[NW_MAX_SLOTS];  /* on the code page */
	int32 class[NW_MAX_SLOTS]; /* the part's number */
	ItemPointerData tid[NW_MAX_SLOTS];
	bool visible[NW_MAX_SLOTS]; /* to everyone, while rows are collected */
} NwPageRows;

/* The pages of one list, one after the other; zeroed before the first use. */
typedef struct NwIndexPages
{
	NwIndexReader *reader;
	NwIndexPart *part;
	const bool *wanted; /* classes, by the reader's numbers; NULL for all */
	NwPageAt next;
	NwPageRows *ahead;  /* the page behind the one at hand, or NULL */
	int turn;           /* which of rows is filled next */
	float *x;           /* [slots][dim] room for vectors */
	char *whole;        /* [vector_size] room for one as stored */
	NwPageRows rows[2]; /* the page at hand and the one behind it */
} NwIndexPages;

/* All pages of all lists, one after the other; zeroed before the first. */
typedef struct NwIndexWalk
{
	NwIndexPages pages; /* of the list at hand */
	int part;
	uint32 list; /* the one after it */
} NwIndexWalk;

/* A reader. */
extern BlockNumber nw_index_blocks(const NwIndexReader *reader);
extern bool nw_index_has_dim(const NwIndexReader *reader, int dim);
extern void nw_index_begin(NwIndexReader *reader, NwLabels *labels);
extern void nw_index_begin_search(NwIndexReader *reader, NwLabels *labels, bool filtered);
extern void nw_index_end(NwIndexReader *reader);

/* Classes. */
extern NwBytes nw_index_class_text(NwIndexReader *reader, int class);
extern int nw_index_find_class(NwIndexReader *reader, NwBytes text);

/* Visibility. */
extern bool nw_index_look_at_map(NwIndexPart *part, BlockNumber block);
extern bool nw_index_row_visible(NwIndexReader *reader, NwIndexPart *part, ItemPointer tid);

/* Pages. */
extern Buffer nw_index_pin(NwIndexPart *part, BlockNumber block, NwTrail *trail, int from,
                           bool by_sums);
extern void nw_index_read_page(NwIndexReader *reader, NwIndexPart *part, NwPageAt *at,
                               const bool *wanted, NwPageRows *rows);
extern void nw_index_first_page(NwIndexPages *pages, NwIndexReader *reader, NwIndexPart *part,
                                NwPageAt first, const bool *wanted);
extern NwPageRows *nw_index_next_page(NwIndexPages *pages);
extern NwPageRows *nw_index_walk(NwIndexReader *reader, NwIndexWalk *walk);

/* Rows. */
extern void nw_index_read_vectors(NwIndexPages *pages, NwPageRows *rows, float *x);
extern void nw_index_measure_page(NwIndexPages *pages, NwPageRows *rows, const NwQuery *query,
                                  double *measure);
extern void nw_index_read_rows(NwIndexReader *reader, NwRowCallback callback, void *arg);
extern char *nw_index_fetch_id(NwIndexReader *reader, const NwSource *source, NwTextOut *id_out,
                               int number, ItemPointer tid);

/* Where a list begins. */
static inline NwPageAt
nw_list_start(uint32 list, const NwListData *data)
{
	return (NwPageAt) {data->first_page, list, 0, data->class};
}

/* The reader's number of a part's class. */
static inline int32
nw_index_class(const NwIndexPart *part, uint32 class)
{
	return part->class ? part->class[class] : (int32) class;
}

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

#endif /* NW_INDEX_READ_H */
