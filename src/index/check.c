/*
 * index/check.c
 *		Verify an nw index against itself and its table: nw_check_index.
 *
 * Every page is visited in the order of the file and counted; then the lists
 * are followed, which must lead to every code page and every vector page
 * exactly once.  Each slot is checked against its exact vector: the code, its
 * error, its norms, and that the list covers it.  Last, the table is read:
 * every row that anyone may still see must be in the index, with its label and
 * its vector, and nothing else may be.
 *
 * A ShareLock on the table keeps writers away meanwhile.  Nothing keeps replay
 * away on a standby: there the table is left out, and replay should be paused.
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/heapam.h"
#include "access/tableam.h"
#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "catalog/index.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "bytes/tree_page.h"
#include "compat.h"
#include "grow.h"
#include "index/as_owner.h"
#include "index/damage.h"
#include "index/definition.h"
#include "index/label_lookup.h"
#include "index/page.h"
#include "math/spectral.h"
#include "sets/labels.h"

/* A row of the index, by its TID. */
typedef struct Found
{
	ItemPointerData tid; /* key */
	uint32 class;
	uint32 checksum; /* of the vector's bytes */
	bool seen;       /* in the table, too */
} Found;

/* The lists that a class names. */
typedef struct ClassLists
{
	uint32 first;
	uint32 n;
} ClassLists;

typedef struct Check
{
	Relation index;
	Relation heap;
	NwMeta meta;
	NwLayout layout;
	BlockNumber nblocks;
	uint8 *kind;   /* [nblocks] 0 for a page never used */
	bool *reached; /* [nblocks] */
	NwTextOut label_out;
	NwLabels *images;  /* labels' images, numbered: the classes */
	ClassLists *lists; /* [lists_allocated] of each class */
	int lists_allocated;
	uint32 labelled;        /* lists that classes name */
	HTAB *found;            /* rows of the index, as Found */
	int64 rows;             /* of the index */
	MemoryContext row_mcxt; /* emptied after each row of the table */
	float *centre;          /* [dim] of the list at hand */
	char *bytes;            /* [vector_size] of the slot at hand: its vector as stored */
	float *x;               /* [dim] the same as numbers */
	int8 *code;             /* [dim] the code it should have */
	float *rest;            /* [dim] what that code misses */
	NwSpectral gram;        /* of these, over the rows that the spread covers */
} Check;

/* Report what is wrong with the index; on a standby that may be due to replay. */
static _Noreturn void
report_detail(Relation index, const char *detail)
{
	if (!RecoveryInProgress())
		nw_report_damage(index, detail);
	ereport(
		ERROR,
		(errcode(ERRCODE_INDEX_CORRUPTED),
	     errmsg("index \"%s\" is corrupted", RelationGetRelationName(index)),
	     errdetail_internal("%s", detail),
	     errhint(
			 "Replay may have changed it meanwhile: call pg_wal_replay_pause() and check again.")));
}

#define report(check, ...) report_detail((check)->index, psprintf(__VA_ARGS__))

/* ---- pages ---- */

/* Check the frame of every page, and note its kind. */
static void
check_pages(Check *check)
{
	/* nothing on disk is newer than the log */
	XLogRecPtr latest = RecoveryInProgress() ? GetXLogReplayRecPtr(NULL) : GetXLogInsertRecPtr();

	check->nblocks = RelationGetNumberOfBlocks(check->index);
	check->kind = palloc_extended(check->nblocks, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	check->reached = palloc_extended(check->nblocks, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (BlockNumber block = 0; block < check->nblocks; block++)
	{
		Buffer buffer = ReadBufferExtended(check->index, MAIN_FORKNUM, block, RBM_NORMAL, NULL);
		Page page = BufferGetPage(buffer);
		const PageHeaderData *header = (PageHeader) page;
		const NwPageTail *tail;

		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		if (!PageIsNew(page))
		{
			if (PageGetPageSize(page) != BLCKSZ ||
			    PageGetSpecialSize(page) != MAXALIGN(sizeof(NwPageTail)))
				report(check, "Block %u has no proper page.", block);
			tail = NwPageGetTail(page);
			if (tail->magic != NW_PAGE_MAGIC || tail->kind < NW_PAGE_META ||
			    tail->kind > NW_PAGE_TREE)
				report(check, "Block %u has a page of unknown kind.", block);
			if (header->pd_lower != header->pd_upper || header->pd_upper > header->pd_special ||
			    header->pd_lower < SizeOfPageHeaderData ||
			    (header->pd_lower - SizeOfPageHeaderData) % sizeof(ItemIdData) != 0 ||
			    header->pd_flags != 0 || header->pd_prune_xid != 0 ||
			    PageGetPageLayoutVersion(page) != PG_PAGE_LAYOUT_VERSION)
				report(check, "Block %u has a damaged page header.", block);
			if (PageGetLSN(page) > latest)
				report(check, "Block %u is from the future.", block);
			if (tail->next != InvalidBlockNumber &&
			    (tail->kind != NW_PAGE_CODES || tail->next >= check->nblocks))
				report(check, "Block %u leads nowhere.", block);
			check->kind[block] = tail->kind;
		}
		UnlockReleaseBuffer(buffer);
		CHECK_FOR_INTERRUPTS();
	}
}

/* Note that a page is in use where a page of a kind is expected. */
static void
reach(Check *check, BlockNumber block, NwPageKind kind, bool again)
{
	if (block >= check->nblocks || check->kind[block] != kind)
		report(check, "Block %u is not of kind %d.", block, kind);
	if (check->reached[block] && !again)
		report(check, "Block %u is in use twice.", block);
	check->reached[block] = true;
}

/* Check the meta page, and the runs of pages it names. */
static void
check_meta(Check *check)
{
	NwMeta *meta = &check->meta;

	nw_meta_read(check->index, meta, &check->layout);
	if (meta->first_lists >= check->nblocks || meta->first_centres >= check->nblocks ||
	    meta->nlists / NW_LISTS_PER_PAGE >= check->nblocks)
		report(check, "The meta page names pages that are not there.");
	reach(check, 0, NW_PAGE_META, false);
	for (uint64 i = 0; i < nw_list_pages(meta->nlists); i++)
		reach(check, meta->first_lists + i, NW_PAGE_LISTS, false);
	for (uint64 i = 0; i < nw_centre_pages(meta->nlists, meta->dim); i++)
		reach(check, meta->first_centres + i, NW_PAGE_CENTRES, false);
}

/* ---- classes ---- */

/* The numbers of a tree, in order. */
typedef struct Keys
{
	int n;
	int allocated;
	uint64 *key; /* [n] */
} Keys;

/* Take the numbers of a leaf, which are to rise from the least to the most. */
static void
take_leaf(Check *check, BlockNumber block, NwTreePage *leaf, uint64 least, uint64 most, bool first,
          Keys *keys)
{
	qsort(leaf->key, leaf->n, sizeof(uint64), nw_tree_key_compare);
	if (!first && (leaf->n == 0 || leaf->key[0] != least))
		report(check, "Block %u does not begin where the page above says.", block);
	if (keys->n > PG_INT32_MAX - leaf->n)
		report(check, "There are more keys than classes can have.");
	NW_RESERVE(CurrentMemoryContext, keys->key, keys->allocated, keys->n + leaf->n);
	for (int i = 0; i < leaf->n; i++)
	{
		if (leaf->key[i] < least || leaf->key[i] > most ||
		    (i > 0 && leaf->key[i] == leaf->key[i - 1]))
			report(check, "Block %u has a key out of order.", block);
		keys->key[keys->n++] = leaf->key[i];
	}
}

/* Check a page of a tree and all below it; level is -1 for the root. */
static void
check_tree(Check *check, BlockNumber block, int level, uint64 least, uint64 most, bool first,
           Keys *keys)
{
	PGAlignedBlock copy;
	NwTreePage *tree = (NwTreePage *) PageGetContents(copy.data);
	const uint32 *child;
	const char *damage;

	reach(check, block, NW_PAGE_TREE, false);
	nw_page_copy(check->index, block, NW_PAGE_TREE, &copy);
	CHECK_FOR_INTERRUPTS();
	damage = nw_tree_page_damage(tree, NW_PAGE_ROOM);
	if (damage)
		report(check, "Block %u %s.", block, damage);
	if (level >= 0 && tree->level != level)
		report(check, "Block %u is at the wrong level.", block);
	if (tree->level == 0)
	{
		take_leaf(check, block, tree, least, most, first, keys);
		return;
	}
	if (!first && tree->key[0] != least)
		report(check, "Block %u does not begin where the page above says.", block);
	child = nw_tree_page_children(tree, NW_PAGE_ROOM);
	for (int i = 0; i < tree->n; i++)
	{
		uint64 from = i == 0 ? least : tree->key[i];
		uint64 to = i + 1 < tree->n ? tree->key[i + 1] - 1 : most;

		if (from < least || to > most)
			report(check, "Block %u has a key out of order.", block);
		check_tree(check, child[i], tree->level - 1, from, to, first && i == 0, keys);
	}
}

/* Check a class, and number it. */
static void
check_label(Check *check, const NwLabelItem *item, BlockNumber block)
{
	int n = check->images->n;

	if (nw_labels_add_text(check->images, (NwBytes) {item->image, item->len}) != n)
		report(check, "Class %u of block %u is there twice.", item->class, block);
	if (item->nlists > 0 && (item->first_list != 1 + check->labelled ||
	                         item->nlists >= check->meta.nlists - check->labelled))
		report(check, "Class %d names the wrong lists.", n);
	NW_RESERVE(CurrentMemoryContext, check->lists, check->lists_allocated, (int64) n + 1);
	check->lists[n] = (ClassLists) {item->first_list, item->nlists};
	check->labelled += item->nlists;
}

/* Check a page of labels, by its number in the tree. */
static void
check_label_page(Check *check, uint64 key)
{
	BlockNumber block = nw_key_low(key);
	PGAlignedBlock copy;
	const NwLabelPage *labels = (NwLabelPage *) PageGetContents(copy.data);
	const char *damage;

	reach(check, block, NW_PAGE_LABELS, false);
	nw_page_copy(check->index, block, NW_PAGE_LABELS, &copy);
	CHECK_FOR_INTERRUPTS();
	damage = nw_label_page_damage(labels, NW_PAGE_ROOM);
	if (damage)
		report(check, "Block %u %s.", block, damage);
	if (labels->n == 0 || labels->first_class != nw_key_high(key) ||
	    labels->first_class != (uint32) check->images->n)
		report(check, "Block %u does not begin with class %d.", block, check->images->n);
	for (uint32 i = 0; i < labels->n; i++)
		check_label(check, nw_label_check(check->index, copy.data, block, i), block);
}

/* Check the labels and the trees that find them, and number the classes. */
static void
check_labels(Check *check)
{
	Keys pages = {0};
	Keys hashes = {0};

	check->images = nw_labels_create(CurrentMemoryContext, TEXTOID);
	check_tree(check, check->meta.by_class, -1, 0, PG_UINT64_MAX, true, &pages);
	check_tree(check, check->meta.by_hash, -1, 0, PG_UINT64_MAX, true, &hashes);
	for (int i = 0; i < pages.n; i++)
		check_label_page(check, pages.key[i]);
	if (check->labelled != check->meta.nlists - 1)
		report(check, "Some lists belong to no class.");

	/* as many as there are classes, none twice, each with a class's own hash */
	if (hashes.n != check->images->n)
		report(check, "Of %d classes, %d can be found by their labels.", check->images->n,
		       hashes.n);
	for (int i = 0; i < hashes.n; i++)
	{
		uint32 class = nw_key_low(hashes.key[i]);

		if (class >= (uint32) check->images->n ||
		    nw_label_hash(check->images->text[class]) != nw_key_high(hashes.key[i]))
			report(check, "Class %u cannot be found by its label.", class);
	}
}

/* ---- slots ---- */

/* Read the stored bytes of a slot's vector. */
static void
read_bytes(Check *check, const NwCodePage *codes, int slot, char *to)
{
	int left = check->layout.vector_size;
	int which;
	int offset;

	nw_vector_place(&check->layout, codes->nth, slot, &which, &offset);
	while (left > 0)
	{
		int part = Min(left, (int) NW_PAGE_ROOM - offset);
		Buffer buffer =
			nw_page_read(check->index, codes->vectors[which], NW_PAGE_VECTORS, BUFFER_LOCK_SHARE);

		memcpy(to, PageGetContents(BufferGetPage(buffer)) + offset, part);
		UnlockReleaseBuffer(buffer);
		to += part;
		left -= part;
		offset = 0;
		which++;
	}
}

/* A checksum of bytes. */
static uint32
checksum(const char *bytes, int n)
{
	uint32 sum = 2166136261u;

	for (int i = 0; i < n; i++)
		sum = (sum ^ (unsigned char) bytes[i]) * 16777619u;
	return sum;
}

/* Check one slot against its vector and its list. */
static void
check_slot(Check *check, const NwListData *list, uint32 number, BlockNumber block, Page page,
           int slot)
{
	const NwLayout *layout = &check->layout;
	NwSlots slots;
	NwCodeInfo info;
	Found *found;
	bool exists;

	nw_page_slots(page, layout, &slots);
	if (slots.class[slot] >= (uint32) check->images->n ||
	    (number != NW_COMMON_LIST && slots.class[slot] != list->class))
		report(check, "Slot %d of block %u is of the wrong class.", slot, block);
	read_bytes(check, NwPageGetCodes(page), slot, check->bytes);
	nw_vector_decode(check->bytes, layout->type, layout->dim, check->x);
	for (int j = 0; j < layout->dim; j++)
	{
		if (!isfinite(check->x[j]))
			report(check, "The vector of slot %d of block %u is not finite.", slot, block);
	}
	nw_code_encode(check->x, check->centre, layout->dim, check->code, &info);
	if (memcmp(check->code, slots.code + slot * layout->dim, layout->dim) != 0 ||
	    info.scale != slots.scale[slot] || info.error != fabsf(slots.error[slot]) ||
	    info.sqnorm != slots.sqnorm[slot] || info.norm != slots.norm[slot])
		report(check, "The code of slot %d of block %u is not that of its vector.", slot, block);
	if (nw_code_distance_up(check->x, check->centre, layout->dim) > list->radius ||
	    info.norm < list->norm_min || info.norm > list->norm_max)
		report(check, "Slot %d of block %u is not covered by list %u.", slot, block, number);

	if (nw_slot_is_covered(slots.error[slot]))
	{
		double off =
			nw_code_residual(check->x, check->centre, layout->dim, check->code, &info, check->rest);

		if (number == NW_COMMON_LIST || info.error > list->error)
			report(check, "Slot %d of block %u cannot be covered by a spread.", slot, block);
		nw_spectral_add(&check->gram, check->rest, off);
	}

	found = hash_search(check->found, &slots.tid[slot], HASH_ENTER, &exists);
	if (exists)
		report(check, "Row (%u,%u) is there twice.", ItemPointerGetBlockNumber(&slots.tid[slot]),
		       ItemPointerGetOffsetNumber(&slots.tid[slot]));
	found->class = slots.class[slot];
	found->checksum = checksum(check->bytes, layout->vector_size);
	found->seen = false;
	check->rows++;
}

/* Check that a code page names the vector pages it needs, and reach them. */
static void
check_vector_pages(Check *check, const NwCodePage *codes, BlockNumber block, BlockNumber *last)
{
	int n = nw_vector_pages(&check->layout, codes->nth, codes->used);
	int which;
	int offset;

	nw_vector_place(&check->layout, codes->nth, 0, &which, &offset);
	for (int i = 0; i < NW_VECTOR_PAGES; i++)
	{
		bool shared = i == 0 && offset > 0;

		if (!BlockNumberIsValid(codes->vectors[i]))
		{
			if (i < n)
				report(check, "Block %u lacks pages for its vectors.", block);
			continue;
		}
		if (shared && codes->vectors[i] != *last)
			report(check, "Block %u breaks the vectors of its list.", block);
		reach(check, codes->vectors[i], NW_PAGE_VECTORS, shared);
		*last = codes->vectors[i];
	}
}

/* Check a list, its chain of pages and all slots on them. */
static void
check_list(Check *check, uint32 number)
{
	const NwLayout *layout = &check->layout;
	NwListData list;
	BlockNumber block;
	BlockNumber last = InvalidBlockNumber;
	uint32 nth = 0;
	NwPageShape shape = {check->nblocks, check->meta.nlists, layout->slots};
	const char *damage;
	bool insert_seen = false;
	double most;
	double least;

	nw_list_read(check->index, &check->meta, number, &list);
	nw_centre_read(check->index, &check->meta, number, check->centre);
	for (int j = 0; j < layout->dim; j++)
	{
		if (!isfinite(check->centre[j]))
			report(check, "The centre of list %u is not finite.", number);
	}
	if (number != NW_COMMON_LIST &&
	    (list.class >= (uint32) check->images->n ||
	     number - check->lists[list.class].first >= check->lists[list.class].n))
		report(check, "List %u belongs to the wrong class.", number);

	for (block = list.first_page; BlockNumberIsValid(block); nth++)
	{
		PGAlignedBlock copy;
		Page page = (Page) copy.data;
		const NwCodePage *codes = NwPageGetCodes(page);
		NwSlots slots;
		int nfree = 0;

		reach(check, block, NW_PAGE_CODES, false);
		nw_page_copy(check->index, block, NW_PAGE_CODES, &copy);
		damage = nw_page_damage(page, BLCKSZ, NW_PAGE_CODES, &shape);
		if (damage)
			report(check, "Block %u: %s", block, damage);
		if (codes->list != number || codes->nth != nth)
			report(check, "Block %u is not page %u of list %u.", block, nth, number);
		if ((uint64) nth * layout->slots + codes->used > list.bound)
			report(check, "List %u has more slots than its bound says.", number);
		check_vector_pages(check, codes, block, &last);
		nw_page_slots(page, layout, &slots);
		for (int i = 0; i < codes->used; i++)
		{
			if (ItemPointerIsValid(&slots.tid[i]))
				check_slot(check, &list, number, block, page, i);
			else
				nfree++;
		}
		if (nfree != codes->nfree)
			report(check, "Block %u has %d free slots, not %d.", block, nfree, codes->nfree);
		if (block == list.insert_page)
			insert_seen = true;
		if (block == list.insert_page && list.insert_nth != nth)
			report(check, "List %u takes rows at the wrong page.", number);
		block = NwPageGetTail(page)->next;
		CHECK_FOR_INTERRUPTS();
	}
	nw_spectral_norm(&check->gram, &most, &least);
	if (list.spread < least)
		report(check, "The rows of list %u are beyond its spread.", number);
	if (BlockNumberIsValid(list.first_page) != insert_seen)
		report(check, "List %u takes rows at the wrong page.", number);
	if (list.bound > nw_list_bound((uint64) nth * layout->slots))
		report(check, "List %u has fewer slots than its bound says.", number);
}

/* Insist that every page belongs somewhere. */
static void
check_reached(Check *check)
{
	for (BlockNumber block = 0; block < check->nblocks; block++)
	{
		bool empty = false;

		if (check->reached[block] || check->kind[block] == 0)
			continue;

		/* a crash may leave a page of codes that is named by nothing yet */
		if (check->kind[block] == NW_PAGE_CODES)
		{
			Buffer buffer = nw_page_read(check->index, block, NW_PAGE_CODES, BUFFER_LOCK_SHARE);

			empty = NwPageGetCodes(BufferGetPage(buffer))->used == 0;
			UnlockReleaseBuffer(buffer);
		}
		if (!empty)
			report(check, "Block %u is named by no other.", block);
	}
}

/* ---- the table ---- */

/* Check a row of the table against the index. */
static void
check_row(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive, void *state)
{
	Check *check = state;
	MemoryContext old = MemoryContextSwitchTo(check->row_mcxt);
	Found *found = hash_search(check->found, tid, HASH_FIND, NULL);
	bool indexed = !isnull[NW_INDEX_EMBEDDING] && !isnull[NW_INDEX_LABEL];

	(void) index;
	if (indexed && found)
	{
		NwVectorData vector;
		const char *bytes =
			nw_index_vector(check->index, &check->layout, values[NW_INDEX_EMBEDDING], &vector);
		Datum label = values[NW_INDEX_LABEL];
		NwBytes image = nw_text_out_image(&check->label_out, &label);

		if (nw_bytes_compare(image, check->images->text[found->class]) != 0)
			report(check, "Row (%u,%u) has another label than in the index.",
			       ItemPointerGetBlockNumber(tid), ItemPointerGetOffsetNumber(tid));
		if (checksum(bytes, check->layout.vector_size) != found->checksum)
			report(check, "Row (%u,%u) has another vector than in the index.",
			       ItemPointerGetBlockNumber(tid), ItemPointerGetOffsetNumber(tid));
		found->seen = true;
	}
	else if (indexed && alive)
		report(check, "Row (%u,%u) is missing from the index.", ItemPointerGetBlockNumber(tid),
		       ItemPointerGetOffsetNumber(tid));
	else if (found)
		report(check, "Row (%u,%u) should not be in the index.", ItemPointerGetBlockNumber(tid),
		       ItemPointerGetOffsetNumber(tid));
	MemoryContextSwitchTo(old);
	MemoryContextReset(check->row_mcxt);
}

/* Insist that what is not among the table's rows is a dead row at least. */
static void
check_rest(Check *check)
{
	BlockNumber blocks = RelationGetNumberOfBlocks(check->heap);
	HASH_SEQ_STATUS status;
	Found *found;

	hash_seq_init(&status, check->found);
	while ((found = hash_seq_search(&status)) != NULL)
	{
		BlockNumber block = ItemPointerGetBlockNumber(&found->tid);
		OffsetNumber item = ItemPointerGetOffsetNumber(&found->tid);
		bool used = false;

		if (found->seen)
			continue;
		if (block < blocks)
		{
			Buffer buffer = ReadBuffer(check->heap, block);
			Page page = BufferGetPage(buffer);

			LockBuffer(buffer, BUFFER_LOCK_SHARE);
			used = item <= PageGetMaxOffsetNumber(page) && ItemIdIsUsed(PageGetItemId(page, item));
			UnlockReleaseBuffer(buffer);
		}
		if (!used)
			report(check, "Row (%u,%u) is not in the table.", block, item);
		CHECK_FOR_INTERRUPTS();
	}
}

/* Compare the index with its table. */
static void
check_heap(Check *check)
{
	IndexInfo *info = BuildIndexInfo(check->index);

	/*
	 * The scan of an index build returns every row that anyone may still see,
	 * by the TID that the index would have.
	 */
	info->ii_Unique = false;
	info->ii_Concurrent = false;
	(void) table_index_build_scan(check->heap, check->index, info, false, false, check_row, check,
	                              NULL);
	check_rest(check);
}

PG_FUNCTION_INFO_V1(nw_check_index);

/* nw_check_index(index regclass, heap boolean) returns bigint */
Datum
nw_check_index(PG_FUNCTION_ARGS)
{
	bool with_heap = PG_GETARG_BOOL(1);
	NwOwned owned;
	Check check = {.rows = 0};
	HASHCTL control = {.keysize = sizeof(ItemPointerData), .entrysize = sizeof(Found)};
	MemoryContext mcxt =
		AllocSetContextCreate(CurrentMemoryContext, "nwhead index check", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old;

	nw_index_open_owned(&owned, PG_GETARG_OID(0),
	                    RecoveryInProgress() ? AccessShareLock : ShareLock);
	check.heap = owned.heap;
	check.index = owned.index;

	/* a build that failed may have left one behind */
	nw_index_refuse_code(check.index);

	old = MemoryContextSwitchTo(mcxt);
	control.hcxt = mcxt;
	check.found =
		hash_create("nwhead index rows", 1024, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	check.row_mcxt = AllocSetContextCreate(mcxt, "nwhead row", ALLOCSET_DEFAULT_SIZES);
	nw_text_out_init(&check.label_out, nw_index_label_type(check.index), mcxt);
	check_pages(&check);
	check_meta(&check);
	check_labels(&check);
	check.x = palloc(check.layout.dim * sizeof(float));
	check.centre = palloc(check.layout.dim * sizeof(float));
	check.code = palloc(check.layout.dim);
	check.rest = palloc(check.layout.dim * sizeof(float));
	nw_spectral_init(&check.gram, check.layout.dim, true,
	                 palloc(nw_spectral_memory(check.layout.dim)));
	check.bytes = palloc(check.layout.vector_size);
	for (uint32 i = 0; i < check.meta.nlists; i++)
		check_list(&check, i);
	check_reached(&check);
	if (with_heap && !RecoveryInProgress() && check.index->rd_index->indisready)
		check_heap(&check);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(mcxt);
	nw_index_close_owned(&owned);
	PG_RETURN_INT64(check.rows);
}
