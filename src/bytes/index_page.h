/*
 * bytes/index_page.h
 *		Pages of an nw index as bytes, and what is wrong with them.
 *
 * Nothing on disk is taken for granted.  Whatever a page says that is followed,
 * counted with or used as a place is checked here before it is used: pointers,
 * counts, what the page is.  What rows hold (codes, vectors, TIDs) is not:
 * that is up to data checksums, and to nw_check_index.
 *
 * Counts and pointers have checksums of their own, so that one that is damaged
 * but possible does not lead to wrong answers either.
 */
#ifndef NW_BYTES_INDEX_PAGE_H
#define NW_BYTES_INDEX_PAGE_H

#include <stddef.h>
#include <stdint.h>

typedef enum NwPageKind
{
	NW_PAGE_META = 1,
	NW_PAGE_LABELS,
	NW_PAGE_LISTS,
	NW_PAGE_CENTRES,
	NW_PAGE_CODES,
	NW_PAGE_VECTORS,
	NW_PAGE_TREE
} NwPageKind;

/* The pointer to no page. */
#define NW_NO_BLOCK UINT32_MAX

/* The beginning of every page: PostgreSQL's own. */
typedef struct NwPageHead
{
	uint64_t lsn;
	uint16_t checksum;
	uint16_t flags;
	uint16_t lower;
	uint16_t upper;
	uint16_t special;
	uint16_t size_version;
	uint32_t prune_xid;
} NwPageHead;

/* The end of every page. */
typedef struct NwPageTail
{
	uint32_t next;  /* in a chain of codes */
	uint16_t kind;  /* NwPageKind */
	uint16_t magic; /* NW_PAGE_MAGIC */
} NwPageTail;

#define NW_PAGE_MAGIC 0x4e57

/* What an index knows of a list. */
typedef struct NwListData
{
	uint32_t class;       /* of no meaning in the common list */
	float radius;         /* no row is farther from the centre */
	float spread;         /* norm of what codes miss of the rows it covers */
	float error;          /* the largest error of a row that the spread covers */
	float norm_min;       /* no row is shorter */
	float norm_max;       /* no row is longer */
	uint32_t bound;       /* at least as many as slots ever used */
	uint32_t first_page;  /* of codes */
	uint32_t insert_page; /* no page before it has a free slot */
	uint32_t insert_nth;  /* which page of the list that is */
	uint32_t checksum;    /* of the above */
} NwListData;

/* Pages that the vectors of a code page touch, at most. */
#define NW_VECTOR_PAGES 6

/*
 * The head of a page of codes.  Arrays of as many slots as fit the dimensions follow, each
 * aligned: int8 code [slots][dim]; float scale, error, sqnorm, norm [slots],
 * with a minus sign for the error of rows that the spread does not cover;
 * uint32 class [slots]; ItemPointerData tid [slots], invalid where free.
 */
typedef struct NwCodePage
{
	uint32_t list;
	uint32_t nth;                      /* page of its list, from 0 */
	uint16_t used;                     /* slots ever used */
	uint16_t nfree;                    /* slots used once and free again */
	uint32_t vectors[NW_VECTOR_PAGES]; /* pages of its part of the stream */
	uint32_t checksum;                 /* of the above, and the next page */
} NwCodePage;

/* What there can be in an index. */
typedef struct NwPageShape
{
	uint32_t nblocks; /* of the file: pointers are below */
	uint32_t nlists;
	uint32_t slots; /* of a page of codes */
} NwPageShape;

/* At the most so many slots are promised to a list that has these. */
static inline uint64_t
nw_list_bound(uint64_t slots)
{
	uint64_t bound = slots + slots / 64 + 8;

	return bound < UINT32_MAX ? bound : UINT32_MAX;
}

extern void nw_list_seal(NwListData *list);
extern void nw_codes_seal(void *page, size_t size);
extern const char *nw_page_damage(const void *page, size_t size, NwPageKind kind,
                                  const NwPageShape *shape);
extern const char *nw_list_damage(const NwListData *list, const NwPageShape *shape);

#endif /* NW_BYTES_INDEX_PAGE_H */
