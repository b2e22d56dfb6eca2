/*
 * index/label_lookup.h
 *		The classes of an nw index: find a class by its label, and a label by its class.
 */
#ifndef NW_INDEX_LABEL_LOOKUP_H
#define NW_INDEX_LABEL_LOOKUP_H

#include "postgres.h"

#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "bytes/label_page.h"
#include "index/page.h"
#include "sets/text_out.h"

/* Several labels shall fit a page. */
#define NW_INDEX_MAX_LABEL 2000

/* A page of labels that was copied, from which labels are taken. */
typedef struct NwLabelCursor
{
	Relation index;
	const NwMeta *meta;
	bool filled;         /* there is a page */
	BlockNumber block;   /* the one it was copied from */
	PGAlignedBlock page; /* the copy */
} NwLabelCursor;

/* The number of a class in the tree by hash. */
static inline uint64
nw_label_key(uint32 hash, uint32 class)
{
	return (uint64) hash << 32 | class;
}

/* The number of a page of labels in the tree by class. */
static inline uint64
nw_label_page_key(uint32 first_class, BlockNumber block)
{
	return (uint64) first_class << 32 | block;
}

/* The hash in the number of a class, or the first class in that of a page. */
static inline uint32
nw_key_high(uint64 key)
{
	return (uint32) (key >> 32);
}

/* The class in the number of a class, or the block in that of a page. */
static inline uint32
nw_key_low(uint64 key)
{
	return (uint32) key;
}

/* Values. */
extern NwBytes nw_label_image(Relation index, NwTextOut *out, Datum *label);
extern Datum nw_label_datum(Relation index, const NwTextOut *out, const NwLabelItem *item);
extern uint32 nw_label_hash(NwBytes image);

/* Pages. */
extern bool nw_label_put(Page page, uint32 first_list, uint32 nlists, NwBytes image);
extern const NwLabelItem *nw_label_check(Relation index, Page page, BlockNumber block, uint32 nth);

/* Classes. */
extern void nw_label_begin(NwLabelCursor *cursor, Relation index, const NwMeta *meta);
extern const NwLabelItem *nw_label_read(NwLabelCursor *cursor, uint32 class);
extern const NwLabelItem *nw_label_find(NwLabelCursor *cursor, NwBytes image);
extern const NwLabelItem *nw_label_find_or_add(NwLabelCursor *cursor, NwBytes image);
extern uint32 nw_label_count(NwLabelCursor *cursor);
extern int nw_label_read_all(Relation index, const NwMeta *meta, NwTextOut *out, Datum **label);

#endif /* NW_INDEX_LABEL_LOOKUP_H */
