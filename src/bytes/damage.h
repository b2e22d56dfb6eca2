/*
 * bytes/damage.h
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
#ifndef NW_BYTES_DAMAGE_H
#define NW_BYTES_DAMAGE_H

#include <stddef.h>
#include <stdint.h>

typedef enum NwPageKind
{
	NW_PAGE_META = 1,
	NW_PAGE_LABELS,
	NW_PAGE_LISTS,
	NW_PAGE_CENTERS,
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
	uint32_t next; /* in a chain of codes */
	uint16_t kind; /* NwPageKind */
	uint16_t magic;
} NwPageTail;

#define NW_PAGE_MAGIC 0x4e57

typedef struct NwListData
{
	uint32_t class; /* of no meaning in the common list */
	float radius;   /* no member is farther from the centre */
	float spread;   /* norm of what codes miss of rows covered, */
	float error;    /* and the largest error of these */
	float norm_min; /* no member is shorter or longer */
	float norm_max;
	uint32_t bound;       /* at least as many as slots ever used */
	uint32_t first_page;  /* of codes */
	uint32_t insert_page; /* no page before it has a free slot */
	uint32_t insert_nth;  /* which page of the list that is */
	uint32_t checksum;    /* of the above */
} NwListData;

/*
 * A page of codes.  Arrays of as many slots as fit the dimensions follow, each
 * aligned: int8 code [slots][dim]; float scale, error, sqnorm, norm [slots],
 * with a minus sign for the error of rows that the spread does not cover;
 * uint32 class [slots]; ItemPointerData tid [slots], invalid where free.
 */
#define NW_VECTOR_PAGES 6 /* that the vectors of a code page touch */

typedef struct NwCodePage
{
	uint32_t list;
	uint32_t nth;   /* page of its list, from 0 */
	uint16_t used;  /* slots ever used */
	uint16_t nfree; /* of these, free again */
	uint32_t vectors[NW_VECTOR_PAGES];
	uint32_t checksum; /* of the above, and the next page */
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

/* Give a list its checksum, or a page of codes [size bytes]. */
extern void nw_list_seal(NwListData *list);
extern void nw_codes_seal(void *page, size_t size);

/*
 * Say what is wrong with a page of a kind: a sentence, or NULL where nothing
 * is.  The page is aligned to 8 bytes.  What a page of codes says is looked at
 * where shape is not NULL; the lists on a page of lists are not.
 */
extern const char *nw_page_damage(const void *page, size_t size, NwPageKind kind,
                                  const NwPageShape *shape);

/* Say what is wrong with a list, likewise. */
extern const char *nw_list_damage(const NwListData *list, const NwPageShape *shape);

#endif /* NW_BYTES_DAMAGE_H */
