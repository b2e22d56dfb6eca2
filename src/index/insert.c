/*
 * index/insert.c
 *		Add a row to an nw index.
 *
 * The row goes to the nearest list of its class, into a free slot.  Its list is
 * made to cover it first, its vector is written, and the slot is published
 * last, in one WAL record with the vector where that touches few pages.
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "index/damage.h"
#include "index/definition.h"
#include "index/insert.h"
#include "index/label_lookup.h"
#include "index/page.h"

/* What one insertion works on. */
typedef struct Insertion
{
	Relation index;
	NwMeta meta;
	NwLayout layout;
	NwEntry entry;
	float distance; /* to the centre of its list */
	uint32 list;
	NwListData data; /* of the list, as read at first */
} Insertion;

/* Choose the nearest list of a class, and encode the vector for it. */
static void
choose_list(Insertion *insertion, const NwLabelItem *class, const float *x)
{
	int dim = insertion->layout.dim;
	float *centre = palloc(dim * sizeof(float));
	float *best = palloc(dim * sizeof(float));
	int8 *code = palloc(dim);

	if (class->nlists > 0 &&
	    (class->first_list <= NW_COMMON_LIST || class->first_list >= insertion->meta.nlists ||
	     class->nlists > insertion->meta.nlists - class->first_list))
		nw_report_damage(insertion->index,
		                 psprintf("Class %u names lists that are not there.", class->class));
	insertion->list = NW_COMMON_LIST;
	insertion->distance = INFINITY;
	for (uint32 i = 0; i < Max(class->nlists, 1); i++)
	{
		uint32 list = class->nlists > 0 ? class->first_list + i : NW_COMMON_LIST;
		float distance;

		nw_centre_read(insertion->index, &insertion->meta, list, centre);
		distance = nw_code_distance_up(x, centre, dim);
		if (i == 0 || distance < insertion->distance)
		{
			float *swap = best;

			best = centre;
			centre = swap;
			insertion->distance = distance;
			insertion->list = list;
		}
		CHECK_FOR_INTERRUPTS();
	}
	nw_code_encode(x, best, dim, code, &insertion->entry.info);
	insertion->entry.code = code;
	insertion->entry.covered = false;
}

/* Say whether a list covers the row in slot number n of it. */
static bool
is_covered(const Insertion *insertion, const NwListData *list, uint64 n)
{
	float norm = insertion->entry.info.norm;

	return n < list->bound && insertion->distance <= list->radius && norm >= list->norm_min &&
	       norm <= list->norm_max;
}

/*
 * Change a list so that it covers the row in slot number n, and let insertions
 * begin at another page, where one is given.
 */
static void
update_list(Insertion *insertion, uint64 n, BlockNumber page, uint32 nth)
{
	NwListData list;
	Buffer buffer = nw_list_lock(insertion->index, &insertion->meta, insertion->list, &list);
	float norm = insertion->entry.info.norm;

	if (n >= list.bound)
	{
		list.norm_min = list.bound == 0 ? norm : Min(list.norm_min, norm);
		list.bound = nw_list_bound(n + 1);
	}
	nw_list_cover(&list, insertion->distance, norm);

	/* VACUUM may have found room before the page, meanwhile */
	if (BlockNumberIsValid(page) && list.insert_page == insertion->data.insert_page)
	{
		list.insert_page = page;
		list.insert_nth = nth;
	}
	nw_list_write(insertion->index, &insertion->meta, buffer, insertion->list, &list);
	UnlockReleaseBuffer(buffer);
}

/* Find a free slot of a code page, or -1. */
static int
free_slot(Page page, const NwLayout *layout)
{
	const NwCodePage *codes = NwPageGetCodes(page);
	NwSlots slots;

	if (codes->nfree > 0)
	{
		nw_page_slots(page, layout, &slots);
		for (int i = 0; i < codes->used; i++)
		{
			if (!ItemPointerIsValid(&slots.tid[i]))
				return i;
		}
	}
	return codes->used < layout->slots ? codes->used : -1;
}

/*
 * Insist that the vector pages of a code page are different ones: they are
 * locked together with it, and nobody can wait for a lock of their own.
 */
static void
check_vector_pages(Relation index, Buffer buffer)
{
	BlockNumber block = BufferGetBlockNumber(buffer);
	const BlockNumber *vectors = NwPageGetCodes(BufferGetPage(buffer))->vectors;

	for (int i = 0; i < NW_VECTOR_PAGES; i++)
	{
		bool again = vectors[i] == block;

		for (int k = 0; k < i && BlockNumberIsValid(vectors[i]); k++)
			again |= vectors[k] == vectors[i];
		if (again)
			nw_report_damaged_page(index, block,
			                       "The page of codes names a page of vectors twice.");
	}
}

/*
 * Write the vector of a slot, and the slot.  The code page is locked by the
 * caller.  Every record carries the code page, so that it names each vector
 * page from the moment there is one; the last one publishes the slot.
 */
static void
write_entry(Insertion *insertion, Buffer buffer, int slot)
{
	const NwLayout *layout = &insertion->layout;
	const char *data = insertion->entry.vector;
	int left = layout->vector_size;
	NwCodePage *codes = NwPageGetCodes(BufferGetPage(buffer));
	int which;
	int offset;

	check_vector_pages(insertion->index, buffer);
	nw_vector_place(layout, codes->nth, slot, &which, &offset);
	while (left > 0)
	{
		GenericXLogState *state = GenericXLogStart(insertion->index);
		Page page = GenericXLogRegisterBuffer(state, buffer, 0);
		Buffer vectors[MAX_GENERIC_XLOG_PAGES - 1];
		int n = 0;

		codes = NwPageGetCodes(page);
		while (left > 0 && n < MAX_GENERIC_XLOG_PAGES - 1)
		{
			int part = Min(left, (int) NW_PAGE_ROOM - offset);
			Page target;

			if (BlockNumberIsValid(codes->vectors[which]))
			{
				vectors[n] = nw_page_read(insertion->index, codes->vectors[which], NW_PAGE_VECTORS,
				                          BUFFER_LOCK_EXCLUSIVE);
				target = GenericXLogRegisterBuffer(state, vectors[n], 0);
			}
			else
			{
				vectors[n] = nw_page_extend(insertion->index, MAIN_FORKNUM);
				target = GenericXLogRegisterBuffer(state, vectors[n], GENERIC_XLOG_FULL_IMAGE);
				nw_page_init(target, NW_PAGE_VECTORS);
				codes->vectors[which] = BufferGetBlockNumber(vectors[n]);
			}
			memcpy(PageGetContents(target) + offset, data, part);
			data += part;
			left -= part;
			offset = 0;
			which++;
			n++;
		}
		if (left == 0)
		{
			nw_slot_write(page, layout, slot, &insertion->entry);
			if (slot == codes->used)
				codes->used++;
			else
				codes->nfree--;
		}
		nw_codes_seal(page, BLCKSZ);
		GenericXLogFinish(state);
		while (n > 0)
			UnlockReleaseBuffer(vectors[--n]);
	}
}

/*
 * Append a code page to a list, behind the page given (locked by the caller
 * and full), or as its first.  It comes back locked.
 */
static Buffer
append_page(Insertion *insertion, Buffer last)
{
	const NwLayout *layout = &insertion->layout;
	Buffer buffer = nw_page_extend(insertion->index, MAIN_FORKNUM);
	GenericXLogState *state = GenericXLogStart(insertion->index);
	Page page = GenericXLogRegisterBuffer(state, buffer, GENERIC_XLOG_FULL_IMAGE);
	NwCodePage *codes = NwPageGetCodes(page);

	nw_page_init(page, NW_PAGE_CODES);
	codes->list = insertion->list;
	codes->nth = 0;
	if (BufferIsValid(last))
	{
		Page last_page = GenericXLogRegisterBuffer(state, last, 0);
		NwCodePage *full = NwPageGetCodes(last_page);
		int which;
		int offset;

		codes->nth = full->nth + 1;
		NwPageGetTail(last_page)->next = BufferGetBlockNumber(buffer);

		/* the stream goes on where it ended */
		nw_vector_place(layout, codes->nth, 0, &which, &offset);
		if (offset > 0)
			codes->vectors[0] =
				full->vectors[nw_vector_pages(layout, full->nth, layout->slots) - 1];
		nw_codes_seal(last_page, BLCKSZ);
	}
	nw_codes_seal(page, BLCKSZ);
	GenericXLogFinish(state);
	return buffer;
}

/*
 * Begin a list that has no page yet.  The page of the list is locked meanwhile,
 * so that only one comes of it.
 */
static void
begin_list(Insertion *insertion)
{
	NwListData *list = &insertion->data;
	Buffer buffer = nw_list_lock(insertion->index, &insertion->meta, insertion->list, list);

	if (!BlockNumberIsValid(list->first_page))
	{
		Buffer first = append_page(insertion, InvalidBuffer);

		list->first_page = list->insert_page = BufferGetBlockNumber(first);
		list->insert_nth = 0;
		nw_list_write(insertion->index, &insertion->meta, buffer, insertion->list, list);
		UnlockReleaseBuffer(first);
	}
	UnlockReleaseBuffer(buffer);
}

/* Put the row into a slot of its list. */
static void
insert_entry(Insertion *insertion)
{
	const NwLayout *layout = &insertion->layout;
	BlockNumber block;
	BlockNumber moved = InvalidBlockNumber;
	uint32 nth;
	Buffer buffer;
	uint64 number;
	int slot;

	nw_list_read(insertion->index, &insertion->meta, insertion->list, &insertion->data);
	if (!BlockNumberIsValid(insertion->data.first_page))
		begin_list(insertion);

	if (insertion->list != NW_COMMON_LIST && insertion->data.class != insertion->entry.class)
		nw_report_damage(insertion->index, psprintf("List %u does not belong to class %u.",
		                                            insertion->list, insertion->entry.class));

	block = insertion->data.insert_page;
	for (nth = insertion->data.insert_nth;; nth++)
	{
		buffer = nw_codes_read(insertion->index, &insertion->meta, layout, block, insertion->list,
		                       nth, BUFFER_LOCK_EXCLUSIVE);
		slot = free_slot(BufferGetPage(buffer), layout);
		if (slot >= 0)
			break;
		block = NwPageGetTail(BufferGetPage(buffer))->next;
		if (!BlockNumberIsValid(block))
		{
			Buffer next = append_page(insertion, buffer);

			block = BufferGetBlockNumber(next);
			UnlockReleaseBuffer(buffer);
			buffer = next;
			slot = 0;
			moved = block;
			nth++;
			break;
		}
		UnlockReleaseBuffer(buffer);
		moved = block;
		CHECK_FOR_INTERRUPTS();
	}
	number = (uint64) nth * layout->slots + slot;
	if (!is_covered(insertion, &insertion->data, number) || BlockNumberIsValid(moved))
		update_list(insertion, number, moved, nth);
	write_entry(insertion, buffer, slot);
	UnlockReleaseBuffer(buffer);
}

/* Add a row; one without embedding or label is left out. */
bool
nw_index_insert(Relation index, Datum *values, bool *isnull, ItemPointer tid, Relation heap,
                IndexUniqueCheck unique, bool unchanged, IndexInfo *info)
{
	MemoryContext mcxt;
	MemoryContext old;
	Insertion insertion = {.index = index};
	NwLabelCursor labels;
	const NwLabelItem *class;
	NwTextOut label_out;
	NwVectorData vector;
	Datum label;

	(void) heap;
	(void) unique;
	(void) unchanged;
	(void) info;
	if (isnull[NW_INDEX_EMBEDDING] || isnull[NW_INDEX_LABEL])
		return false;

	mcxt = AllocSetContextCreate(CurrentMemoryContext, "nwhead index insertion",
	                             ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(mcxt);
	nw_meta_read(index, &insertion.meta, &insertion.layout);
	insertion.entry.tid = *tid;
	insertion.entry.vector =
		nw_index_vector(index, &insertion.layout, values[NW_INDEX_EMBEDDING], &vector);
	nw_text_out_init(&label_out, nw_index_label_type(index), mcxt);
	label = values[NW_INDEX_LABEL];
	nw_label_begin(&labels, index, &insertion.meta);
	class = nw_label_find_or_add(&labels, nw_label_image(index, &label_out, &label));
	insertion.entry.class = class->class;
	choose_list(&insertion, class, vector.x);
	insert_entry(&insertion);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(mcxt);
	return false;
}
