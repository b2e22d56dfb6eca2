/*
 * index/vacuum.c
 *		Take dead rows out of an nw index.
 *
 * A dead row's slot becomes free for the next row of its list; nothing moves.
 * Pages are visited in the order of the file.  A plain exclusive lock is
 * enough: see README.md.
 */
#include "postgres.h"

#include "access/genam.h"
#include "commands/vacuum.h"
#include "miscadmin.h"

#include "compat.h"
#include "index/page.h"
#include "index/vacuum.h"

/* The first page of a list that got a free slot. */
typedef struct Freed
{
	BlockNumber page; /* invalid where none did */
	uint32 nth;       /* which page of the list that is */
} Freed;

/* Free the dead slots of a code page; returns the number of them. */
static int
vacuum_page(Relation index, const NwLayout *layout, Buffer buffer, IndexBulkDeleteResult *stats,
            IndexBulkDeleteCallback callback, void *callback_state)
{
	Page page = BufferGetPage(buffer);
	int used = NwPageGetCodes(page)->used;
	int dead[MaxOffsetNumber];
	int ndead = 0;
	NwSlots slots;
	GenericXLogState *state;

	nw_page_slots(page, layout, &slots);
	for (int i = 0; i < used; i++)
	{
		if (!ItemPointerIsValid(&slots.tid[i]))
			continue;
		if (callback(&slots.tid[i], callback_state))
			dead[ndead++] = i;
		else
			stats->num_index_tuples++;
	}
	if (ndead == 0)
		return 0;

	state = GenericXLogStart(index);
	page = GenericXLogRegisterBuffer(state, buffer, 0);
	nw_page_slots(page, layout, &slots);
	for (int i = 0; i < ndead; i++)
		ItemPointerSetInvalid(&slots.tid[dead[i]]);
	NwPageGetCodes(page)->nfree += ndead;
	nw_codes_seal(page, BLCKSZ);
	GenericXLogFinish(state);
	stats->tuples_removed += ndead;
	return ndead;
}

/* Let insertions into a list begin at a page that has room again. */
static void
reuse_page(Relation index, const NwMeta *meta, uint32 number, const Freed *freed)
{
	NwListData list;
	Buffer buffer = nw_list_lock(index, meta, number, &list);

	if (freed->nth < list.insert_nth)
	{
		list.insert_page = freed->page;
		list.insert_nth = freed->nth;
		nw_list_write(index, meta, buffer, number, &list);
	}
	UnlockReleaseBuffer(buffer);
}

/*
 * The kind of page that a block must have.  A page of codes taken for another
 * would keep dead rows.
 */
static NwPageKind
kind_of(const NwMeta *meta, BlockNumber block, Page page)
{
	if (block == 0)
		return NW_PAGE_META;
	if (block - meta->first_lists < nw_list_pages(meta->nlists))
		return NW_PAGE_LISTS;
	if (block - meta->first_centres < nw_centre_pages(meta->nlists, meta->dim))
		return NW_PAGE_CENTRES;
	switch (NwPageGetTail(page)->kind)
	{
		case NW_PAGE_LABELS:
		case NW_PAGE_VECTORS:
		case NW_PAGE_TREE:
			return NwPageGetTail(page)->kind;
		default:
			return NW_PAGE_CODES;
	}
}

/* Free the slots of all rows that VACUUM has found dead. */
IndexBulkDeleteResult *
nw_index_bulk_delete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
                     IndexBulkDeleteCallback callback, void *callback_state)
{
	Relation index = info->index;
	BufferAccessStrategy strategy = info->strategy;
	BlockNumber nblocks;
	NwMeta meta;
	NwLayout layout;
	Freed *freed;

	if (stats == NULL)
		stats = palloc0(sizeof(IndexBulkDeleteResult));
	stats->num_index_tuples = 0;
	nw_meta_read(index, &meta, &layout);
	freed = palloc_extended(meta.nlists * sizeof(Freed), MCXT_ALLOC_HUGE);
	for (uint32 i = 0; i < meta.nlists; i++)
		freed[i].page = InvalidBlockNumber;

	/* rows added behind the end from now on are too young to be dead */
	nblocks = RelationGetNumberOfBlocks(index);
	for (BlockNumber block = 0; block < nblocks; block++)
	{
		Buffer buffer;
		Page page;

		nw_vacuum_delay_point();
		buffer = ReadBufferExtended(index, MAIN_FORKNUM, block, RBM_NORMAL, strategy);
		LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
		page = BufferGetPage(buffer);
		if (!PageIsNew(page))
		{
			NwPageKind kind = kind_of(&meta, block, page);
			const NwCodePage *codes = NwPageGetCodes(page);
			uint32 list = codes->list;
			uint32 nth = codes->nth;

			if (kind != NW_PAGE_CODES)
				nw_page_check(index, buffer, kind);
			else
			{
				nw_codes_check(index, &meta, &layout, buffer, list, nth);
				if (vacuum_page(index, &layout, buffer, stats, callback, callback_state) > 0 &&
				    (!BlockNumberIsValid(freed[list].page) || nth < freed[list].nth))
					freed[list] = (Freed) {block, nth};
			}
		}
		UnlockReleaseBuffer(buffer);
	}
	for (uint32 i = 0; i < meta.nlists; i++)
	{
		if (BlockNumberIsValid(freed[i].page))
			reuse_page(index, &meta, i, &freed[i]);
	}
	pfree(freed);
	return stats;
}

/* Tell the size of an index that was vacuumed. */
IndexBulkDeleteResult *
nw_index_vacuum_cleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	if (info->analyze_only || stats == NULL)
		return stats;
	stats->num_pages = RelationGetNumberOfBlocks(info->index);
	return stats;
}
