/*
 * index/read.c
 *		Read rows out of an nw index, as the active snapshot sees them.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/visibilitymap.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "index/damage.h"
#include "index/read.h"

#define CACHE_LINE 64

/* Learn the classes of a part, and number them as the reader does. */
static void
read_classes(NwIndexReader *reader, NwIndexPart *part)
{
	NwTextOut out;

	if (reader->cursor)
	{
		nw_label_begin(reader->cursor, part->index, &part->meta);
		part->nclasses = reader->nclasses = nw_label_count(reader->cursor);
		part->class = NULL;
		part->label = NULL;
		return;
	}
	part->nclasses = nw_label_read_all(part->index, &part->meta, &out, &part->label);
	part->class = NULL;
	if (reader->labels == NULL)
		return;
	part->class = palloc_extended(Max(part->nclasses, 1) * sizeof(int32), MCXT_ALLOC_HUGE);
	for (int i = 0; i < part->nclasses; i++)
		part->class[i] = nw_labels_add(reader->labels, part->label[i]);
	reader->nclasses = reader->labels->n;
}

/* The output text of a class, by the reader's number. */
NwBytes
nw_index_class_text(NwIndexReader *reader, int class)
{
	NwTextOut *out = &reader->labels->out;

	if (reader->cursor == NULL)
		return reader->labels->text[class];
	return nw_text_out(
		out, nw_label_datum(reader->part[0].index, out, nw_label_read(reader->cursor, class)));
}

/* The class of a text, by the reader's number, or -1. */
int
nw_index_find_class(NwIndexReader *reader, NwBytes text)
{
	const NwLabelItem *item;

	if (reader->cursor == NULL)
		return nw_labels_find_text(reader->labels, text);
	item = nw_label_find(reader->cursor, text);
	return item && item->class < (uint32) reader->nclasses ? (int) item->class : -1;
}

/* The size of the indexes found. */
BlockNumber
nw_index_blocks(const NwIndexReader *reader)
{
	BlockNumber blocks = 0;

	for (int i = 0; i < reader->nparts; i++)
		blocks += RelationGetNumberOfBlocks(reader->part[i].index);
	return blocks;
}

/* Release what reading a part takes. */
static void
release_part(NwIndexPart *part)
{
	if (part->fetch == NULL)
		return;
	table_index_fetch_end(part->fetch);
	part->fetch = NULL;
	ExecDropSingleTupleTableSlot(part->slot);
	for (int i = 0; i < NW_MAP_PAGES; i++)
	{
		if (BufferIsValid(part->map[i].buffer))
			ReleaseBuffer(part->map[i].buffer);
	}
}

/* Begin reading, with or without a cursor for labels. */
static void
begin(NwIndexReader *reader, NwLabels *labels, NwLabelCursor *cursor)
{
	MemoryContext old = MemoryContextSwitchTo(reader->mcxt);

	reader->labels = labels;
	reader->cursor = cursor;
	reader->snapshot = GetActiveSnapshot();
	for (int i = 0; i < reader->nparts; i++)
	{
		NwIndexPart *part = &reader->part[i];

		release_part(part);
		nw_meta_read(part->index, &part->meta, &part->layout);
		memset(part->map, 0, sizeof(part->map));
		memset(&part->codes, 0, sizeof(NwTrail));
		memset(&part->vectors, 0, sizeof(NwTrail));
		read_classes(reader, part);
		part->fetch = nw_index_fetch_begin(part->heap);
		part->slot = table_slot_create(part->heap, NULL);
		if (!reader->begun)
			pgstat_count_index_scan(part->index);
	}
	reader->begun = true;
	MemoryContextSwitchTo(old);
}

/*
 * Begin reading for a search, which wants few labels, or those filtered by.  Where
 * that may be, they are read when they are asked for; then labels stay empty.
 */
void
nw_index_begin_search(NwIndexReader *reader, NwLabels *labels, bool filtered)
{
	NwLabelCursor *cursor = NULL;

	/*
	 * One index numbers its classes by the bytes of labels, which is as good
	 * as their texts where neither can be the same without the other.  Where
	 * bytes are the text, it also finds them by it.
	 */
	if (reader->nparts == 1 && nw_text_out_is_injective(&labels->out) &&
	    (labels->out.is_text || !filtered))
		cursor = MemoryContextAlloc(reader->mcxt, sizeof(NwLabelCursor));
	begin(reader, labels, cursor);
}

/* Begin reading, from the start; labels, where given, number the classes. */
void
nw_index_begin(NwIndexReader *reader, NwLabels *labels)
{
	begin(reader, labels, NULL);
}

/*
 * Say whether a query has the dimensions of all indexes.  Whether another one
 * is an error depends on the rows there are: that is for an exact pass to say.
 */
bool
nw_index_has_dim(const NwIndexReader *reader, int dim)
{
	for (int i = 0; i < reader->nparts; i++)
	{
		if (reader->part[i].layout.dim != dim)
			return false;
	}
	return true;
}

/* End reading, and close what was found; the locks stay. */
void
nw_index_end(NwIndexReader *reader)
{
	for (int i = 0; i < reader->nparts; i++)
	{
		release_part(&reader->part[i]);
		if (reader->part[i].index)
			index_close(reader->part[i].index, NoLock);
		table_close(reader->part[i].heap, NoLock);
	}
	reader->nparts = 0;
}

StaticAssertDecl(BITS_PER_HEAPBLOCK *NW_MAP_PER_BYTE == BITS_PER_BYTE,
                 "the visibility map has other bits");

/* Find the page of the visibility map that tells of a heap block, and ask it. */
bool
nw_index_look_at_map(NwIndexPart *part, BlockNumber block)
{
	NwMapPage *map = &part->map[block / NW_MAP_PER_PAGE % NW_MAP_PAGES];
	bool visible = VM_ALL_VISIBLE(part->heap, block, &map->buffer);

	map->bits = NULL;
	if (BufferIsValid(map->buffer))
	{
		map->first = block - block % NW_MAP_PER_PAGE;
		map->bits = (uint8 *) PageGetContents(BufferGetPage(map->buffer));
	}
	return visible;
}

/*
 * Insist that the table has the page of a row.  It only grows while it is
 * locked.
 */
static inline void
check_tid(NwIndexPart *part, ItemPointer tid)
{
	BlockNumber block = ItemPointerGetBlockNumber(tid);

	if (block >= part->heap_blocks)
		part->heap_blocks = RelationGetNumberOfBlocks(part->heap);
	if (block >= part->heap_blocks)
		nw_report_damage(part->index, psprintf("Row (%u,%u) is not in the table.", block,
		                                       ItemPointerGetOffsetNumber(tid)));
}

/* Ask the heap whether the row behind a TID is visible. */
bool
nw_index_row_visible(NwIndexReader *reader, NwIndexPart *part, ItemPointer tid)
{
	ItemPointerData root = *tid;
	bool call_again = false;
	bool all_dead = false;
	bool found;

	check_tid(part, tid);
	reader->work.heap_checks++;
	found = table_index_fetch_tuple(part->fetch, &root, reader->snapshot, part->slot, &call_again,
	                                &all_dead);
	ExecClearTuple(part->slot);
	return found;
}

/*
 * Pin a page of the index, and have it fetched to the processor's cache, from
 * a byte on.  What lies before it is not needed, or left to sums over the page
 * before, which nw_index_ahead() tells of it.
 *
 * A page that follows another one is often in the next buffer, or in the one
 * before: that of an index that was built, or read, in one go, into buffers
 * never used or freed together.  To look there first spares a search of the
 * table of buffers, which takes longer than anything else about a page.
 *
 * Sums over rows then fetch the next page while they are at one, which costs
 * them nothing; to fetch a page as a whole holds up whatever comes next.
 */
Buffer
nw_index_pin(NwIndexPart *part, BlockNumber block, NwTrail *trail, int from, bool by_sums)
{
	int64 ahead = (int64) block - trail->block;
	int64 guess = trail->buffer + trail->step * ahead;
	Buffer buffer = InvalidBuffer;
	const char *page;

	nw_block_check(part->index, block);
	if (trail->step != 0 && trail->buffer > 0 && guess > 0 && guess <= NBuffers &&
	    ReadRecentBuffer(nw_relation_files(part->index), MAIN_FORKNUM, block, (Buffer) guess))
		buffer = (Buffer) guess;
	else
	{
		int64 apart;

		buffer = ReadBuffer(part->index, block);
		apart = (int64) buffer - trail->buffer;
		trail->step = apart == ahead ? 1 : apart == -ahead ? -1 : 0;
	}
	if (by_sums && trail->step == 0)
		from = 0;
	trail->block = block;
	trail->buffer = buffer;

	/* the tail is looked at in any case */
	page = (const char *) BufferGetPage(buffer);
	__builtin_prefetch(page + BLCKSZ - CACHE_LINE);
	for (int i = from; i < BLCKSZ - CACHE_LINE; i += CACHE_LINE)
		__builtin_prefetch(page + i, 0, 2);
	return buffer;
}

/*
 * Collect the visible rows of a code page, of the classes wanted (by the
 * reader's numbers; NULL for all), and go on to the next page of its list.
 */
void
nw_index_read_page(NwIndexReader *reader, NwIndexPart *part, NwPageAt *at, const bool *wanted,
                   NwPageRows *rows)
{
	Buffer buffer = nw_index_pin(part, at->block, &part->codes, part->layout.class, false);
	Page page = BufferGetPage(buffer);
	const NwCodePage *codes = NwPageGetCodes(page);
	NwSlots slots;
	int kept = 0;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	nw_codes_check(part->index, &part->meta, &part->layout, buffer, at->list, at->nth);
	nw_page_slots(page, &part->layout, &slots);
	reader->work.pages++;
	rows->n = 0;
	rows->nth = at->nth++;
	at->block = NwPageGetTail(page)->next;
	memcpy(rows->vectors, codes->vectors, sizeof(rows->vectors));
	for (int i = 0; i < codes->used; i++)
	{
		uint32 class = slots.class[i];

		if (!ItemPointerIsValid(&slots.tid[i]))
			continue;
		if (at->list != NW_COMMON_LIST && class != at->class)
			nw_report_wrong_class(part->index, &slots.tid[i]);
		if (class < (uint32) part->nclasses && wanted && !wanted[nw_index_class(part, class)])
			continue;
		rows->slot[rows->n] = i;
		rows->class[rows->n] = class;
		rows->tid[rows->n] = slots.tid[i];
		rows->visible[rows->n] = nw_index_all_visible(part, &slots.tid[i]);
		rows->n++;
	}
	UnlockReleaseBuffer(buffer);

	for (int i = 0; i < rows->n; i++)
	{
		if (!rows->visible[i] && !nw_index_row_visible(reader, part, &rows->tid[i]))
			continue;

		/* a class not known yet belongs to rows too new to be seen */
		if ((uint32) rows->class[i] >= (uint32) part->nclasses)
			nw_report_wrong_class(part->index, &rows->tid[i]);
		rows->slot[kept] = rows->slot[i];
		rows->class[kept] = rows->class[i];
		rows->tid[kept] = rows->tid[i];
		rows->visible[kept++] = true;
	}
	rows->n = kept;
	CHECK_FOR_INTERRUPTS();
}

/* Pin the pages that hold the vectors of these rows. */
static void
pin_vectors(NwIndexReader *reader, NwIndexPart *part, NwPageRows *rows)
{
	int first;
	int last;
	int offset;

	for (int i = 0; i < NW_VECTOR_PAGES; i++)
		rows->pinned[i] = InvalidBuffer;
	if (rows->n == 0)
		return;
	nw_vector_place(&part->layout, rows->nth, rows->slot[0], &first, &offset);
	last = nw_vector_pages(&part->layout, rows->nth, rows->slot[rows->n - 1] + 1) - 1;
	for (int i = first; i <= last; i++)
	{
		rows->pinned[i] = nw_index_pin(part, rows->vectors[i], &part->vectors, BLCKSZ, true);
		reader->work.pages++;
	}
}

/*
 * The contents of a vector page, which stays locked until another is asked
 * for; -1 asks for none.
 */
static const char *
vector_page(NwIndexPart *part, const NwPageRows *rows, int which, int *locked)
{
	if (*locked != which)
	{
		if (*locked >= 0)
			LockBuffer(rows->pinned[*locked], BUFFER_LOCK_UNLOCK);
		if (which >= 0)
		{
			LockBuffer(rows->pinned[which], BUFFER_LOCK_SHARE);
			nw_page_check(part->index, rows->pinned[which], NW_PAGE_VECTORS);
		}
		*locked = which;
	}
	return which < 0 ? NULL : PageGetContents(BufferGetPage(rows->pinned[which]));
}

/* Unpin the vector pages of a code page. */
static void
unpin_vectors(NwPageRows *rows)
{
	for (int i = 0; i < NW_VECTOR_PAGES; i++)
	{
		if (BufferIsValid(rows->pinned[i]))
			ReleaseBuffer(rows->pinned[i]);
	}
}

/* Copy a stored vector that may lie across pages. */
static void
copy_vector(NwIndexPart *part, const NwPageRows *rows, int which, int offset, int *locked, char *to)
{
	int left = part->layout.vector_size;

	while (left > 0)
	{
		int size = Min(left, (int) NW_PAGE_ROOM - offset);

		memcpy(to, vector_page(part, rows, which, locked) + offset, size);
		to += size;
		left -= size;
		offset = 0;
		which++;
	}
}

/* Read the vectors x [n][dim] of the rows of a page. */
void
nw_index_read_vectors(NwIndexPages *pages, NwPageRows *rows, float *x)
{
	NwIndexPart *part = pages->part;
	const NwLayout *layout = &part->layout;
	int locked = -1;

	for (int i = 0; i < rows->n; i++, x += layout->dim)
	{
		int which;
		int offset;

		nw_vector_place(layout, rows->nth, rows->slot[i], &which, &offset);
		if (layout->type == NW_VECTOR)
			copy_vector(part, rows, which, offset, &locked, (char *) x);
		else if (offset + layout->vector_size <= (int) NW_PAGE_ROOM)
			nw_vector_decode(vector_page(part, rows, which, &locked) + offset, layout->type,
			                 layout->dim, x);
		else
		{
			copy_vector(part, rows, which, offset, &locked, pages->whole);
			nw_vector_decode(pages->whole, layout->type, layout->dim, x);
		}
	}
	(void) vector_page(part, rows, -1, &locked);
	unpin_vectors(rows);
}

/* Measure rows that lie one after the other. */
static void
measure_run(const NwIndexPart *part, const NwQuery *query, const float *x, int n, double *measure)
{
	double norm[NW_MAX_SLOTS];

	nw_index_ahead(&part->vectors);
	if (nw_kernel_needs_norms(query->kernel))
		nw_inverse_norms(x, query->dim, n, norm);
	nw_query_measure(query, x, nw_kernel_needs_norms(query->kernel) ? norm : NULL, n, measure);
	nw_index_ahead_end();
}

/* Measure a query against the rows of a page. */
void
nw_index_measure_page(NwIndexPages *pages, NwPageRows *rows, const NwQuery *query, double *measure)
{
	NwIndexPart *part = pages->part;
	const NwLayout *layout = &part->layout;
	int locked = -1;

	if (layout->type != NW_VECTOR)
	{
		nw_index_read_vectors(pages, rows, pages->x);
		measure_run(part, query, pages->x, rows->n, measure);
		return;
	}
	for (int i = 0; i < rows->n;)
	{
		int which;
		int offset;
		int n = 1;
		int most;

		nw_vector_place(layout, rows->nth, rows->slot[i], &which, &offset);
		most = ((int) NW_PAGE_ROOM - offset) / layout->vector_size;
		if (most == 0)
		{
			copy_vector(part, rows, which, offset, &locked, (char *) pages->x);
			measure_run(part, query, pages->x, 1, &measure[i]);
		}
		else
		{
			/* where they are, as far as they are next to each other */
			while (n < most && i + n < rows->n && rows->slot[i + n] == rows->slot[i] + n)
				n++;
			measure_run(part, query,
			            (const float *) (vector_page(part, rows, which, &locked) + offset), n,
			            &measure[i]);
		}
		i += n;
	}
	(void) vector_page(part, rows, -1, &locked);
	unpin_vectors(rows);
}

/*
 * Go to the next page; NULL at the end.  Its vectors have to be read, or
 * measured, before the next call.
 */
NwPageRows *
nw_index_next_page(NwIndexPages *pages)
{
	NwPageRows *current = pages->ahead;

	/* the page behind it is fetched while this one is worked on */
	pages->ahead = NULL;
	if (BlockNumberIsValid(pages->next.block))
	{
		NwPageRows *rows = &pages->rows[pages->turn];

		pages->turn = 1 - pages->turn;
		nw_index_read_page(pages->reader, pages->part, &pages->next, pages->wanted, rows);
		pin_vectors(pages->reader, pages->part, rows);
		pgstat_count_index_tuples(pages->part->index, rows->n);
		pages->ahead = rows;
	}
	return current;
}

/* Go to the first code page of a list (there may be none). */
void
nw_index_first_page(NwIndexPages *pages, NwIndexReader *reader, NwIndexPart *part, NwPageAt first,
                    const bool *wanted)
{
	if (pages->part != part)
	{
		pages->part = part;
		pages->x = palloc((Size) part->layout.slots * part->layout.dim * sizeof(float));
		pages->whole = palloc(part->layout.vector_size);
	}
	pages->reader = reader;
	pages->next = first;
	pages->wanted = wanted;
	pages->turn = 0;
	pages->ahead = NULL;
	(void) nw_index_next_page(pages);
}

/* Go to the next page of all; NULL at the end. */
NwPageRows *
nw_index_walk(NwIndexReader *reader, NwIndexWalk *walk)
{
	while (walk->part < reader->nparts)
	{
		NwIndexPart *part = &reader->part[walk->part];
		NwPageRows *rows = walk->list > 0 ? nw_index_next_page(&walk->pages) : NULL;
		NwListData data;

		if (rows)
			return rows;
		if (walk->list == part->meta.nlists)
		{
			walk->part++;
			walk->list = 0;
			continue;
		}
		nw_list_read(part->index, &part->meta, walk->list, &data);
		nw_index_first_page(&walk->pages, reader, part, nw_list_start(walk->list, &data), NULL);
		walk->list++;
	}
	return NULL;
}

/* Hand all rows to a callback, as nw_scan_run() does. */
void
nw_index_read_rows(NwIndexReader *reader, NwRowCallback callback, void *arg)
{
	NwIndexWalk *walk = palloc0(sizeof(NwIndexWalk));
	NwIndexPages *pages = &walk->pages;
	NwPageRows *rows;
	MemoryContext row_mcxt =
		AllocSetContextCreate(reader->mcxt, "nwhead row", ALLOCSET_DEFAULT_SIZES);

	while ((rows = nw_index_walk(reader, walk)) != NULL)
	{
		NwIndexPart *part = pages->part;
		MemoryContext old = MemoryContextSwitchTo(row_mcxt);

		nw_index_read_vectors(pages, rows, pages->x);
		for (int i = 0; i < rows->n; i++)
		{
			NwRow row = {.vector = {pages->x + (Size) i * part->layout.dim, part->layout.dim},
			             .label = part->label[rows->class[i]],
			             .id_isnull = true,
			             .weight = 1};

			callback(&row, arg);
		}
		MemoryContextSwitchTo(old);
		MemoryContextReset(row_mcxt);
	}
	MemoryContextDelete(row_mcxt);
	pfree(walk);
}

/* The output text of the id of a row that was read; NULL for a null id. */
char *
nw_index_fetch_id(NwIndexReader *reader, const NwSource *source, NwTextOut *id_out, int number,
                  ItemPointer tid)
{
	NwIndexPart *part = &reader->part[number];
	ItemPointerData root = *tid;
	bool call_again = false;
	bool all_dead = false;
	bool isnull = false;
	Datum id;
	char *text;

	/* what the visibility map calls visible has not been looked at yet */
	check_tid(part, tid);
	if (!table_index_fetch_tuple(part->fetch, &root, reader->snapshot, part->slot, &call_again,
	                             &all_dead))
		nw_report_lost_row(part->index, tid);

	/* the row's own place, not the head of its HOT chain */
	if (source->id == NULL)
		id = PointerGetDatum(&part->slot->tts_tid);
	else
		id =
			slot_getattr(part->slot, get_attnum(RelationGetRelid(part->heap), source->id), &isnull);
	text = isnull ? NULL : nw_bytes_copy(CurrentMemoryContext, nw_text_out(id_out, id));
	ExecClearTuple(part->slot);
	return text;
}
