/*
 * index/contents.c
 *		Count what an nw index holds, and say whether REINDEX would help it.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "index/build.h"
#include "index/contents.h"
#include "index/label_lookup.h"

/* An index of fewer rows needs no advice. */
#define SMALL_INDEX 1000

/* Of rows in the common list, above which REINDEX helps. */
#define UNLISTED_SHARE 0.2

/* Of free slots. */
#define FREE_SHARE 0.3

/* Of rows that came after the build. */
#define LATE_SHARE 0.5

/* As many times the rows of the build. */
#define GROWTH 2.0

/*
 * Count what is on the code pages of a list, and the rows of each class, where
 * room for so many is given.
 */
static NwListContents
count_list(Relation index, const NwMeta *meta, const NwLayout *layout, uint32 list,
           const NwListData *data, uint32 *class_rows, uint32 nclasses)
{
	NwListContents contents = {0, 0, 0, 0};
	BlockNumber block = data->first_page;

	for (uint32 nth = 0; BlockNumberIsValid(block); nth++)
	{
		Buffer buffer = nw_codes_read(index, meta, layout, block, list, nth, BUFFER_LOCK_SHARE);
		const NwCodePage *codes = NwPageGetCodes(BufferGetPage(buffer));
		NwSlots slots;

		nw_page_slots(BufferGetPage(buffer), layout, &slots);
		for (int i = 0; i < codes->used; i++)
		{
			if (!ItemPointerIsValid(&slots.tid[i]))
				continue;
			contents.late += !nw_slot_is_covered(slots.error[i]);
			if (class_rows && slots.class[i] < nclasses)
				class_rows[slots.class[i]]++;
		}
		contents.pages++;
		contents.slots += codes->used;
		contents.rows += codes->used - codes->nfree;
		block = NwPageGetTail(BufferGetPage(buffer))->next;
		UnlockReleaseBuffer(buffer);
		CHECK_FOR_INTERRUPTS();
	}
	return contents;
}

/* Count what a list holds. */
NwListContents
nw_list_contents(Relation index, const NwMeta *meta, const NwLayout *layout, uint32 list,
                 const NwListData *data)
{
	return count_list(index, meta, layout, list, data, NULL, 0);
}

/*
 * Say what REINDEX would mend; NULL where nothing.  Of rows in the common list,
 * some are of classes large enough for lists of their own; the others would stay
 * there.
 */
static const char *
advise(const NwIndexContents *all, int64 large)
{
	int64 listed = all->rows - all->unlisted_rows + large;

	if (all->rows > SMALL_INDEX && large > all->rows * UNLISTED_SHARE &&
	    all->rows > (int64) all->built_rows * (1 + UNLISTED_SHARE))
		return "many rows belong to classes that came after the index was built";
	if (listed > SMALL_INDEX && listed > all->built_rows * GROWTH)
		return "the table has outgrown the lists made for it";
	if (all->slots > SMALL_INDEX && all->slots - all->rows > all->slots * FREE_SHARE)
		return "much of the index is free space";
	if (all->rows > SMALL_INDEX && all->late_rows > all->rows * LATE_SHARE)
		return "most rows came after the index was built";
	return NULL;
}

/* Count what all lists hold. */
NwIndexContents
nw_index_contents(Relation index)
{
	NwIndexContents all = {.rows = 0};
	NwMeta meta;
	NwLayout layout;
	NwLabelCursor labels;
	uint32 *class_rows;
	int64 large = 0;

	nw_meta_read(index, &meta, &layout);
	nw_label_begin(&labels, index, &meta);
	all.nclasses = nw_label_count(&labels);
	all.nlists = meta.nlists - 1;
	all.built_rows = meta.built_rows;
	class_rows =
		palloc_extended(Max(all.nclasses, 1) * sizeof(uint32), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (uint32 list = 0; list < meta.nlists; list++)
	{
		NwListData data;
		NwListContents contents;

		nw_list_read(index, &meta, list, &data);
		contents = count_list(index, &meta, &layout, list, &data,
		                      list == NW_COMMON_LIST ? class_rows : NULL, all.nclasses);
		all.slots += contents.slots;
		all.rows += contents.rows;
		if (list == NW_COMMON_LIST)
			all.unlisted_rows = contents.rows;
		else
			all.late_rows += contents.late;
	}
	for (uint32 i = 0; i < all.nclasses; i++)
		large += class_rows[i] >= NW_SMALL_CLASS ? class_rows[i] : 0;
	pfree(class_rows);
	all.advice = advise(&all, large);
	return all;
}
