/*
 * index/page.h
 *		Pages of an nw index: where things are, and how to read them.
 *
 * README.md has what they hold, and the order in which they are locked.
 */
#ifndef NW_INDEX_PAGE_H
#define NW_INDEX_PAGE_H

#include "postgres.h"

#include <math.h>

#include "access/generic_xlog.h"
#include "storage/bufmgr.h"
#include "storage/itemptr.h"
#include "utils/rel.h"

#include "bytes/index_page.h"
#include "math/code.h"
#include "sets/pgvector.h"

#define NW_INDEX_MAGIC 0x4e573031
#define NW_INDEX_VERSION 3

/* A code of more dimensions would not fit a page. */
#define NW_INDEX_MAX_DIM 8000

/* The list of rows whose class has none of its own. */
#define NW_COMMON_LIST 0

/* Where it is does not depend on what the header says. */
#define NwPageGetTail(page) \
	((NwPageTail *) ((char *) (page) + BLCKSZ - MAXALIGN(sizeof(NwPageTail))))

/* Bytes between the header and the tail. */
#define NW_PAGE_ROOM (BLCKSZ - MAXALIGN(SizeOfPageHeaderData) - MAXALIGN(sizeof(NwPageTail)))

#define NW_LISTS_PER_PAGE ((int) (NW_PAGE_ROOM / sizeof(NwListData)))

/* What block 0 says: it never changes. */
typedef struct NwMeta
{
	uint32 magic;   /* NW_INDEX_MAGIC */
	uint32 version; /* NW_INDEX_VERSION */
	uint32 dim;
	uint32 vector_type;        /* NwVectorType */
	uint32 nlists;             /* the common list included */
	BlockNumber by_hash;       /* root of the tree that finds classes by label */
	BlockNumber by_class;      /* root of the tree that finds labels by class */
	BlockNumber first_lists;   /* of the pages of lists, which are consecutive */
	BlockNumber first_centres; /* of the pages of centres, likewise */
	uint32 unused;             /* 0 */
	uint64 built_rows;         /* rows that there were when the index was built */
	uint32 checksum;           /* of the above */
} NwMeta;

#define NwPageGetMeta(page) ((NwMeta *) PageGetContents(page))
#define NwPageGetLists(page) ((NwListData *) PageGetContents(page))
#define NwPageGetCodes(page) ((NwCodePage *) PageGetContents(page))

/*
 * Places on code and vector pages, as dimensions and type determine them.  From code
 * to tid: where each array of slots begins, counted from the page's contents.
 */
typedef struct NwLayout
{
	int dim;
	NwVectorType type;
	int vector_size; /* bytes of a stored vector */
	int slots;       /* of a code page */
	int code;
	int scale;
	int error;
	int sqnorm;
	int norm;
	int class;
	int tid;
} NwLayout;

/* The arrays of a code page, an element for each slot. */
typedef struct NwSlots
{
	int8 *code;           /* [slots][dim] */
	float *scale;         /* as in NwCodeInfo */
	float *error;         /* likewise; negative where the list's spread does not cover the row */
	float *sqnorm;        /* as in NwCodeInfo */
	float *norm;          /* likewise */
	uint32 *class;        /* by the index's own number */
	ItemPointerData *tid; /* invalid where the slot is free */
} NwSlots;

/* A row to store. */
typedef struct NwEntry
{
	ItemPointerData tid;
	uint32 class;
	const int8 *code; /* [dim] */
	NwCodeInfo info;
	bool covered;       /* by the spread of its list */
	const char *vector; /* [vector_size] as stored */
} NwEntry;

/* Say whether the spread of its list covers a row, by its stored error. */
static inline bool
nw_slot_is_covered(float error)
{
	return !signbit(error);
}

/* Pages that so many bytes of a stream take. */
static inline uint64
nw_stream_pages(uint64 bytes)
{
	return (bytes + NW_PAGE_ROOM - 1) / NW_PAGE_ROOM;
}

/* Pages that so many lists take. */
static inline uint64
nw_list_pages(uint32 nlists)
{
	return ((uint64) nlists + NW_LISTS_PER_PAGE - 1) / NW_LISTS_PER_PAGE;
}

/* Pages that the centres of so many lists take. */
static inline uint64
nw_centre_pages(uint32 nlists, int dim)
{
	return nw_stream_pages((uint64) nlists * dim * sizeof(float));
}

/* Places. */
extern void nw_layout_init(NwLayout *layout, int dim, NwVectorType type);
extern void nw_page_slots(Page page, const NwLayout *layout, NwSlots *slots);
extern void nw_slot_write(Page page, const NwLayout *layout, int slot, const NwEntry *entry);
extern void nw_vector_place(const NwLayout *layout, uint32 nth, int slot, int *page, int *offset);
extern int nw_vector_pages(const NwLayout *layout, uint32 nth, int slots);
extern BlockNumber nw_list_block(const NwMeta *meta, uint32 list, int *place);

/* Pages of any kind. */
extern void nw_page_init(Page page, NwPageKind kind);
extern Buffer nw_page_extend(Relation index, ForkNumber fork);
extern void nw_block_look(Relation index, BlockNumber block);
extern void nw_page_check(Relation index, Buffer buffer, NwPageKind kind);
extern Buffer nw_page_read(Relation index, BlockNumber block, NwPageKind kind, int lock);
extern void nw_page_copy(Relation index, BlockNumber block, NwPageKind kind, PGAlignedBlock *copy);

/* Pages of codes. */
extern void nw_codes_check(Relation index, const NwMeta *meta, const NwLayout *layout,
                           Buffer buffer, uint32 list, uint32 nth);
extern Buffer nw_codes_read(Relation index, const NwMeta *meta, const NwLayout *layout,
                            BlockNumber block, uint32 list, uint32 nth, int lock);

/* The meta page. */
extern void nw_meta_init(Page page, const NwMeta *meta);
extern void nw_meta_read(Relation index, NwMeta *meta, NwLayout *layout);

/* Lists and their centres. */
extern void nw_list_cover(NwListData *list, float distance, float norm);
extern void nw_list_check_class(Relation index, uint32 list, const NwListData *data, int nclasses);
extern void nw_list_read(Relation index, const NwMeta *meta, uint32 list, NwListData *data);
extern int nw_lists_read(Relation index, const NwMeta *meta, uint32 first, NwListData *data);
extern Buffer nw_list_lock(Relation index, const NwMeta *meta, uint32 list, NwListData *data);
extern void nw_list_write(Relation index, const NwMeta *meta, Buffer buffer, uint32 list,
                          NwListData *data);
extern void nw_centre_read(Relation index, const NwMeta *meta, uint32 list, float *centre);
extern const float *nw_centres_read(Relation index, const NwMeta *meta, uint32 list, float *space,
                                    Buffer *buffer);

/*
 * Insist that a block is there before it is read: to read one that is not fails
 * in a way that helps nobody, and InvalidBlockNumber would add a page.
 */
static inline void
nw_block_check(Relation index, BlockNumber block)
{
	const BlockNumber *known = index->rd_amcache;

	if (known == NULL || block >= *known)
		nw_block_look(index, block);
}

#endif /* NW_INDEX_PAGE_H */
