/*
 * index/am.h
 *		The index access method nw: pages, and what its files share.
 *
 * An nw index covers an embedding and, as its included column, a label.  It
 * holds, for every row that has both, an int8 code with a bound on its error
 * (code.h), the exact vector, and the row's TID.
 *
 * Rows are kept in lists.  A list of a class has a centre and a radius that no
 * member is beyond, so that a whole list can be passed over.  List 0, the
 * common list, takes the rows of classes too small for lists of their own, and
 * of classes that came after the index was built.
 *
 * What the codes of a list miss is bounded together, too, by the list's spread
 * (code_sum.c).  That is computed when the index is built and never changes: it
 * covers the rows of the build, whichever of them are left.  The error of a row
 * that came later has a minus sign; such rows are bounded one by one.
 *
 * Blocks, in the order in which a build writes them:
 *
 *	meta		block 0
 *	trees		the roots of two trees of numbers, by which classes are found
 *	labels		the classes, numbered as met, so many on a page as fit
 *	lists		consecutive pages of NwListData, list i at a known place
 *	centres		consecutive pages: a stream of floats, list i at a known place
 *	codes		one chain of pages for each list: slots, see NwCodePage
 *	vectors		the exact vectors of a list: a stream of bytes across pages
 *
 * What comes later is appended to the file wherever it belongs logically.
 *
 * A slot's vector lies at slot number x vector size in the stream of its list;
 * each code page names the pages that hold its part of the stream (the first of
 * them is shared with the page before, where the stream does not break there).
 * So a vector may be larger than a page, no space is lost between vectors, and
 * slots never move.
 *
 * Pointers and counts are checked wherever they are read (damage.c), and a code
 * page has to be the page of the list that it is taken for.  So a chain that
 * leads back, or to another list, ends in an error at its first wrong page.
 *
 * Classes.  A page of labels is filled to its end, then comes another one; what
 * is on it never changes.  One tree has a number for each of these pages, its
 * first class and its block; the other has one for each class, a hash of its
 * label and the class.  So the label of a class, and the class of a label, are
 * found by reading a few pages, however many classes there are.  To add a class
 * changes a page of labels and a leaf of the trees in one WAL record.
 *
 * Locks.  Who adds a class holds the heavyweight lock of page 0 meanwhile, which
 * only others who add one wait for; it is asked for while no page is locked.
 * Under it, pages of a tree are locked from above; then a leaf of the tree by
 * hash, the page of labels, and a leaf of the other tree are locked together.
 * Readers hold at most a page of a tree and its child, and neither while they
 * wait for a page of labels.
 *
 * Writers lock a code page exclusively, then the vector pages of the
 * slot, then the page of the list; no one waits for a code page while holding
 * another lock.  A row is published by its TID on the code page, after its
 * vector has been written, and after the list's radius and bound cover it.
 *
 * Readers take share locks only.  They read lists first: whatever their
 * snapshot shows was published before the snapshot was taken, so the radius
 * and bound they find cover it.  The visibility map is tested while the share
 * lock on the code page is held: the TID is still there, so VACUUM has not
 * recycled the row behind it.  Rows on pages not all-visible are looked up in
 * the heap after the lock is gone: should the TID be recycled by then, the new
 * row is too new for the snapshot.  A row found visible cannot be vacuumed
 * while the snapshot lives, so its slot keeps its vector.  VACUUM needs no
 * cleanup lock therefore, and replay on a standby is safe.
 */
#ifndef NW_INDEX_AM_H
#define NW_INDEX_AM_H

#include "postgres.h"

#include <math.h>

#include "access/amapi.h"
#include "access/generic_xlog.h"
#include "nodes/execnodes.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "bytes/index_page.h"
#include "bytes/label_page.h"
#include "math/code.h"
#include "sets/pgvector.h"
#include "sets/text_out.h"

#define NW_INDEX_MAGIC 0x4e573031
#define NW_INDEX_VERSION 3

/* Attributes of an index. */
#define NW_INDEX_EMBEDDING 0
#define NW_INDEX_LABEL 1

/* A code of more dimensions would not fit a page. */
#define NW_INDEX_MAX_DIM 8000

/* Several labels shall fit a page. */
#define NW_INDEX_MAX_LABEL 2000

/* The list of rows that have none of their own. */
#define NW_COMMON_LIST 0

/* Classes of fewer rows share it. */
#define NW_SMALL_CLASS 64

/* reloption lists: 0 leaves the number to the size of each class */
#define NW_LISTS_AUTO 0
#define NW_LISTS_MAX 32768

/* Where it is does not depend on what the header says. */
#define NwPageGetTail(page) \
	((NwPageTail *) ((char *) (page) + BLCKSZ - MAXALIGN(sizeof(NwPageTail))))

/* Bytes between the header and the tail. */
#define NW_PAGE_ROOM (BLCKSZ - MAXALIGN(SizeOfPageHeaderData) - MAXALIGN(sizeof(NwPageTail)))

typedef struct NwMeta
{
	uint32 magic;
	uint32 version;
	uint32 dim;
	uint32 vector_type;   /* NwVectorType */
	uint32 nlists;        /* the common list included */
	BlockNumber by_hash;  /* the trees' roots: classes by label, */
	BlockNumber by_class; /* and labels by class */
	BlockNumber first_lists;
	BlockNumber first_centers;
	uint32 unused;
	uint64 built_rows; /* when the index was built */
	uint32 checksum;   /* of the above, which never changes */
} NwMeta;

#define NwPageGetMeta(page) ((NwMeta *) PageGetContents(page))

#define NW_LISTS_PER_PAGE ((int) (NW_PAGE_ROOM / sizeof(NwListData)))
#define NwPageGetLists(page) ((NwListData *) PageGetContents(page))

#define NwPageGetCodes(page) ((NwCodePage *) PageGetContents(page))

/* Places on code and vector pages, as dimensions and type determine them. */
typedef struct NwLayout
{
	int dim;
	NwVectorType type;
	int vector_size; /* bytes of a stored vector */
	int slots;       /* of a code page */
	int code;        /* offsets from the page's contents */
	int scale;
	int error;
	int sqnorm;
	int norm;
	int class;
	int tid;
} NwLayout;

/* The arrays of a code page. */
typedef struct NwSlots
{
	int8 *code;
	float *scale;
	float *error;
	float *sqnorm;
	float *norm;
	uint32 *class;
	ItemPointerData *tid;
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

/* ---- nwindex_page.c: places and pages ---- */

extern void nw_layout_init(NwLayout *layout, int dim, NwVectorType type);
extern void nw_page_slots(Page page, const NwLayout *layout, NwSlots *slots);

/* Make a page of a kind, empty. */
extern void nw_page_init(Page page, NwPageKind kind);

/* Complain about a page, and end. */
extern _Noreturn void nw_report_damage(Relation index, BlockNumber block, const char *detail);

/* Look at the size of the file for a block that is not known to be there. */
extern void nw_block_look(Relation index, BlockNumber block);

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

/* Insist that a page is of a kind. */
extern void nw_page_check(Relation index, Buffer buffer, NwPageKind kind);

/* Insist that a page is the nth code page of a list, and sound. */
extern void nw_codes_check(Relation index, const NwMeta *meta, const NwLayout *layout,
                           Buffer buffer, uint32 list, uint32 nth);

/* Read and lock a page of a kind. */
extern Buffer nw_page_read(Relation index, BlockNumber block, NwPageKind kind, int lock);

/* Read and lock the nth code page of a list. */
extern Buffer nw_codes_read(Relation index, const NwMeta *meta, const NwLayout *layout,
                            BlockNumber block, uint32 list, uint32 nth, int lock);

/* Add a page to the file; it comes back locked exclusively. */
extern Buffer nw_page_extend(Relation index, ForkNumber fork);

/* The checksum that a meta page should have. */
extern uint32 nw_meta_checksum(const NwMeta *meta);

/* Read the meta page, and the layout that follows from it. */
extern void nw_meta_read(Relation index, NwMeta *meta, NwLayout *layout);

/* The block that holds a list, and its place there. */
extern BlockNumber nw_list_block(const NwMeta *meta, uint32 list, int *place);
extern void nw_list_read(Relation index, const NwMeta *meta, uint32 list, NwListData *data);

/*
 * Read a list to change it: its page comes back locked exclusively, and stays
 * so when the list has been written.
 */
extern Buffer nw_list_lock(Relation index, const NwMeta *meta, uint32 list, NwListData *data);
extern void nw_list_write(Relation index, const NwMeta *meta, Buffer buffer, uint32 list,
                          NwListData *data);

/*
 * Read the lists of one page, from this one on; data has room for
 * NW_LISTS_PER_PAGE.  Returns how many.
 */
extern int nw_lists_read(Relation index, const NwMeta *meta, uint32 first, NwListData *data);

/* Read the centre [dim] of a list. */
extern void nw_center_read(Relation index, const NwMeta *meta, uint32 list, float *center);

/*
 * The same for one list after the other.  Returns the centre: on its page, or
 * in space [dim] where it lies across pages.  The page stays pinned in *buffer,
 * which is InvalidBuffer at first and has to be released at last.
 */
extern const float *nw_centers_read(Relation index, const NwMeta *meta, uint32 list, float *space,
                                    Buffer *buffer);

/*
 * Where a slot's vector lies: the page among those its code page names, and
 * the offset there.
 */
extern void nw_vector_place(const NwLayout *layout, uint32 nth, int slot, int *page, int *offset);

/* How many vector pages a code page of so many slots names. */
extern int nw_vector_pages(const NwLayout *layout, uint32 nth, int slots);

/* Put a slot's values on a code page. */
extern void nw_slot_write(Page page, const NwLayout *layout, int slot, const NwEntry *entry);

/* The stored bytes of a vector datum, detoasted; dimensions are checked. */
extern const char *nw_vector_bytes(Relation index, const NwLayout *layout, Datum datum,
                                   NwVectorData *vector);

/* ---- nwindex_tree.c: trees of numbers ---- */

/* The least number that is not below, or the largest not above; false for none. */
extern bool nw_tree_ceiling(Relation index, BlockNumber root, uint64 key, uint64 *found);
extern bool nw_tree_floor(Relation index, BlockNumber root, uint64 key, uint64 *found);

/*
 * Make room for a number that is not there yet, and return its leaf, locked
 * exclusively.  Only one backend at a time may do so.
 */
extern Buffer nw_tree_make_room(Relation index, BlockNumber root, uint64 key);

/* Fill a tree that is empty with sorted numbers, without writing to the log. */
extern void nw_tree_load(Relation index, BlockNumber root, const uint64 *key, int64 n);

/* ---- nwindex_labels.c: the classes ---- */

/* The image of a label to store; an error where it is too long. */
extern NwBytes nw_label_image(Relation index, NwTextOut *out, Datum *label);

/* The label behind an image, as a datum of the column's type. */
extern Datum nw_label_datum(Relation index, const NwTextOut *out, const NwLabelItem *item);

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

/* The hash of an image. */
extern uint32 nw_label_hash(NwBytes image);

/* Add the next class to a page of labels; false where it has no room. */
extern bool nw_label_put(Page page, uint32 first_list, uint32 nlists, NwBytes image);

/* Insist that an item of a page is there and undamaged. */
extern const NwLabelItem *nw_label_check(Relation index, Page page, BlockNumber block, uint32 nth);

/* A page of labels that was read, from which labels are taken. */
typedef struct NwLabelCursor
{
	Relation index;
	const NwMeta *meta;
	bool filled;
	BlockNumber block;
	PGAlignedBlock page;
} NwLabelCursor;

/* Begin to read labels. */
extern void nw_labels_begin(NwLabelCursor *cursor, Relation index, const NwMeta *meta);

/* Read the label of a class; it is there until the next one is read. */
extern const NwLabelItem *nw_label_read(NwLabelCursor *cursor, uint32 class);

/* Read the label of an image; NULL where no class has it. */
extern const NwLabelItem *nw_label_find(NwLabelCursor *cursor, NwBytes image);

/* The same, adding the class where there is none. */
extern const NwLabelItem *nw_label_find_or_add(NwLabelCursor *cursor, NwBytes image);

/* How many classes there are. */
extern uint32 nw_labels_count(NwLabelCursor *cursor);

/* Copy the labels of all classes; out is made ready for their type. */
extern int nw_labels_read(Relation index, const NwMeta *meta, NwTextOut *out, Datum **label);

/* ---- the access method's functions, each in the file of its name ---- */

extern IndexBuildResult *nw_index_build(Relation heap, Relation index, IndexInfo *info);
extern void nw_index_build_empty(Relation index);
extern bool nw_index_insert(Relation index, Datum *values, bool *isnull, ItemPointer tid,
                            Relation heap, IndexUniqueCheck unique, bool unchanged,
                            IndexInfo *info);
extern IndexBulkDeleteResult *nw_index_bulk_delete(IndexVacuumInfo *info,
                                                   IndexBulkDeleteResult *stats,
                                                   IndexBulkDeleteCallback callback, void *state);
extern IndexBulkDeleteResult *nw_index_vacuum_cleanup(IndexVacuumInfo *info,
                                                      IndexBulkDeleteResult *stats);

/* Phases of a build that pg_stat_progress_create_index shows. */
#define NW_PHASE_SAMPLE 2
#define NW_PHASE_CLUSTER 3
#define NW_PHASE_ASSIGN 4
#define NW_PHASE_SORT 5
#define NW_PHASE_WRITE 6

/* True where a relation is an nw index. */
extern bool nw_index_is_ours(Relation index);

/* Refuse an index with a predicate or an expression, without evaluating it. */
extern void nw_index_refuse_code(Relation index);

/* The reloption lists. */
extern int nw_index_lists_option(Relation index);

#endif /* NW_INDEX_AM_H */
