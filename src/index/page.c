/*
 * index/page.c
 *		Pages of an nw index: where things are, and how to read them.
 */
#include "postgres.h"

#include "port/pg_crc32c.h"
#include "storage/lmgr.h"

#include "compat.h"
#include "index/damage.h"
#include "index/page.h"

StaticAssertDecl(sizeof(NwPageHead) == SizeOfPageHeaderData &&
                     offsetof(NwPageHead, lower) == offsetof(PageHeaderData, pd_lower) &&
                     offsetof(NwPageHead, upper) == offsetof(PageHeaderData, pd_upper) &&
                     offsetof(NwPageHead, special) == offsetof(PageHeaderData, pd_special) &&
                     offsetof(NwPageHead, size_version) ==
                         offsetof(PageHeaderData, pd_pagesize_version) &&
                     NW_NO_BLOCK == InvalidBlockNumber,
                 "PostgreSQL's pages are not what index_page.h says");

/* ---- places ---- */

/* The slots of a code page; codes are padded to a multiple of 4 bytes. */
static int
slots_of(int dim)
{
	int each = dim + 4 * sizeof(float) + sizeof(uint32) + sizeof(ItemPointerData);

	return (NW_PAGE_ROOM - MAXALIGN(sizeof(NwCodePage)) - sizeof(float)) / each;
}

/* Compute the places that dimensions and type determine. */
void
nw_layout_init(NwLayout *layout, int dim, NwVectorType type)
{
	int at = MAXALIGN(sizeof(NwCodePage));

	layout->dim = dim;
	layout->type = type;
	layout->vector_size = dim * (type == NW_VECTOR ? sizeof(float) : sizeof(uint16));

	layout->slots = slots_of(dim);
	layout->code = at;
	at = INTALIGN(at + layout->slots * dim);
	layout->scale = at;
	at += layout->slots * sizeof(float);
	layout->error = at;
	at += layout->slots * sizeof(float);
	layout->sqnorm = at;
	at += layout->slots * sizeof(float);
	layout->norm = at;
	at += layout->slots * sizeof(float);
	layout->class = at;
	at += layout->slots * sizeof(uint32);
	layout->tid = at;
	at += layout->slots * sizeof(ItemPointerData);
	Assert(layout->slots > 0 && at <= (int) NW_PAGE_ROOM);
	Assert(nw_vector_pages(layout, 1, layout->slots) <= NW_VECTOR_PAGES);
}

/* Find the arrays of a code page. */
void
nw_page_slots(Page page, const NwLayout *layout, NwSlots *slots)
{
	char *contents = PageGetContents(page);

	slots->code = (int8 *) (contents + layout->code);
	slots->scale = (float *) (contents + layout->scale);
	slots->error = (float *) (contents + layout->error);
	slots->sqnorm = (float *) (contents + layout->sqnorm);
	slots->norm = (float *) (contents + layout->norm);
	slots->class = (uint32 *) (contents + layout->class);
	slots->tid = (ItemPointerData *) (contents + layout->tid);
}

/* Put a row's values into a slot of a code page. */
void
nw_slot_write(Page page, const NwLayout *layout, int slot, const NwEntry *entry)
{
	NwSlots slots;

	nw_page_slots(page, layout, &slots);
	memcpy(slots.code + slot * layout->dim, entry->code, layout->dim);
	slots.scale[slot] = entry->info.scale;
	slots.error[slot] = entry->covered ? entry->info.error : -entry->info.error;
	slots.sqnorm[slot] = entry->info.sqnorm;
	slots.norm[slot] = entry->info.norm;
	slots.class[slot] = entry->class;
	slots.tid[slot] = entry->tid;
}

/* Where in the stream of its list the vectors of a code page begin. */
static inline uint64
stream_start(const NwLayout *layout, uint32 nth)
{
	return (uint64) nth * layout->slots * layout->vector_size;
}

/*
 * Where a slot's vector lies: the page among those its code page names, and the
 * offset there.
 */
void
nw_vector_place(const NwLayout *layout, uint32 nth, int slot, int *page, int *offset)
{
	uint64 start = stream_start(layout, nth);
	uint64 at = start + (uint64) slot * layout->vector_size;

	*page = (int) (at / NW_PAGE_ROOM - start / NW_PAGE_ROOM);
	*offset = (int) (at % NW_PAGE_ROOM);
}

/* How many vector pages a code page of so many slots names. */
int
nw_vector_pages(const NwLayout *layout, uint32 nth, int slots)
{
	uint64 start = stream_start(layout, nth);
	uint64 end = start + (uint64) slots * layout->vector_size;

	return slots == 0 ? 0 : (int) ((end - 1) / NW_PAGE_ROOM - start / NW_PAGE_ROOM) + 1;
}

/* The block that holds a list, and its place there. */
BlockNumber
nw_list_block(const NwMeta *meta, uint32 list, int *place)
{
	*place = list % NW_LISTS_PER_PAGE;
	return meta->first_lists + list / NW_LISTS_PER_PAGE;
}

/* ---- pages ---- */

/* Make an empty page of a kind. */
void
nw_page_init(Page page, NwPageKind kind)
{
	NwPageTail *tail;

	PageInit(page, BLCKSZ, sizeof(NwPageTail));
	tail = NwPageGetTail(page);
	tail->next = InvalidBlockNumber;
	tail->kind = kind;
	tail->magic = NW_PAGE_MAGIC;

	/* all of it is data */
	((PageHeader) page)->pd_lower = ((PageHeader) page)->pd_upper;
	if (kind == NW_PAGE_CODES)
	{
		for (int i = 0; i < NW_VECTOR_PAGES; i++)
			NwPageGetCodes(page)->vectors[i] = InvalidBlockNumber;
	}
}

/*
 * The size of the file, as far as it is known.  It only grows, so it is asked
 * for again only where something lies beyond.
 */
static BlockNumber
known_blocks(Relation index, bool again)
{
	BlockNumber *known = index->rd_amcache;

	if (known == NULL || again)
	{
		BlockNumber blocks = RelationGetNumberOfBlocks(index);

		/* to ask may have had the memory taken away */
		known = index->rd_amcache;
		if (known == NULL)
			index->rd_amcache = known = MemoryContextAlloc(index->rd_indexcxt, sizeof(BlockNumber));
		*known = blocks;
	}
	return *known;
}

/* Look at the size of the file for a block that is not known to be there. */
void
nw_block_look(Relation index, BlockNumber block)
{
	if (block >= known_blocks(index, true))
		nw_report_damage(index, psprintf("Block %u is named, but not there.", block));
}

/* Insist that a page is of a kind. */
void
nw_page_check(Relation index, Buffer buffer, NwPageKind kind)
{
	const char *damage = nw_page_damage(BufferGetPage(buffer), BLCKSZ, kind, NULL);

	if (damage)
		nw_report_damaged_page(index, BufferGetBlockNumber(buffer), damage);
}

/* Insist that a page is the nth code page of a list, and sound. */
void
nw_codes_check(Relation index, const NwMeta *meta, const NwLayout *layout, Buffer buffer,
               uint32 list, uint32 nth)
{
	Page page = BufferGetPage(buffer);
	NwPageShape shape = {known_blocks(index, false), meta->nlists, layout->slots};
	const char *damage = nw_page_damage(page, BLCKSZ, NW_PAGE_CODES, &shape);

	if (damage)
	{
		/* it may name pages that are new */
		shape.nblocks = known_blocks(index, true);
		damage = nw_page_damage(page, BLCKSZ, NW_PAGE_CODES, &shape);
	}
	if (damage == NULL && (NwPageGetCodes(page)->list != list || NwPageGetCodes(page)->nth != nth))
		damage = "The page of codes is not where it belongs.";
	if (damage)
		nw_report_damaged_page(index, BufferGetBlockNumber(buffer), damage);
}

/* Read and lock a page of a kind. */
Buffer
nw_page_read(Relation index, BlockNumber block, NwPageKind kind, int lock)
{
	Buffer buffer;

	/* no pointer leads to the meta page */
	if (block == 0 && kind != NW_PAGE_META)
		nw_report_damaged_page(index, block, "The page is not of the kind expected.");
	nw_block_check(index, block);
	buffer = ReadBuffer(index, block);
	LockBuffer(buffer, lock);
	nw_page_check(index, buffer, kind);
	return buffer;
}

/*
 * Copy a page of a kind, for whoever looks at more of it than a lock should be held
 * for.
 */
void
nw_page_copy(Relation index, BlockNumber block, NwPageKind kind, PGAlignedBlock *copy)
{
	Buffer buffer = nw_page_read(index, block, kind, BUFFER_LOCK_SHARE);

	memcpy(copy->data, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
}

/* Read and lock the nth code page of a list. */
Buffer
nw_codes_read(Relation index, const NwMeta *meta, const NwLayout *layout, BlockNumber block,
              uint32 list, uint32 nth, int lock)
{
	Buffer buffer;

	nw_block_check(index, block);
	buffer = ReadBuffer(index, block);
	LockBuffer(buffer, lock);
	nw_codes_check(index, meta, layout, buffer, list, nth);
	return buffer;
}

/* Add a page to the file; it comes back locked exclusively. */
Buffer
nw_page_extend(Relation index, ForkNumber fork)
{
	Buffer buffer;

	/* the lock is of no use in a fork that nobody else knows yet */
	LockRelationForExtension(index, ExclusiveLock);
	buffer = ReadBufferExtended(index, fork, P_NEW, RBM_NORMAL, NULL);
	UnlockRelationForExtension(index, ExclusiveLock);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	return buffer;
}

/* ---- the meta page ---- */

/* The checksum that a meta page should have. */
static uint32
meta_checksum(const NwMeta *meta)
{
	pg_crc32c crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, meta, offsetof(NwMeta, checksum));
	FIN_CRC32C(crc);
	return crc;
}

/* Make the meta page; its checksum is filled in. */
void
nw_meta_init(Page page, const NwMeta *meta)
{
	nw_page_init(page, NW_PAGE_META);
	*NwPageGetMeta(page) = *meta;
	NwPageGetMeta(page)->checksum = meta_checksum(meta);
}

/* Read the meta page, and the layout that follows from it. */
void
nw_meta_read(Relation index, NwMeta *meta, NwLayout *layout)
{
	Buffer buffer = nw_page_read(index, 0, NW_PAGE_META, BUFFER_LOCK_SHARE);

	*meta = *NwPageGetMeta(BufferGetPage(buffer));
	UnlockReleaseBuffer(buffer);

	/* memory is taken for so many lists: there are pages of them at least */
	if (meta->magic != NW_INDEX_MAGIC || meta->version != NW_INDEX_VERSION || meta->dim < 1 ||
	    meta->dim > NW_INDEX_MAX_DIM || meta->nlists < 1 ||
	    (meta->vector_type != NW_VECTOR && meta->vector_type != NW_HALFVEC) ||
	    meta->checksum != meta_checksum(meta) ||
	    (meta->nlists / NW_LISTS_PER_PAGE >= known_blocks(index, false) &&
	     meta->nlists / NW_LISTS_PER_PAGE >= known_blocks(index, true)))
		nw_report_damaged_meta(index);
	nw_layout_init(layout, meta->dim, meta->vector_type);
}

/* ---- lists and centres ---- */

/* Make a list cover a row of a norm, at a distance from the centre. */
void
nw_list_cover(NwListData *list, float distance, float norm)
{
	list->radius = Max(list->radius, distance);
	list->norm_min = Min(list->norm_min, norm);
	list->norm_max = Max(list->norm_max, norm);
}

/* Insist that a list, which is not the common one, is of a class that there is. */
void
nw_list_check_class(Relation index, uint32 list, const NwListData *data, int nclasses)
{
	if (data->class >= (uint32) nclasses)
		nw_report_damage(index, psprintf("List %u belongs to no class.", list));
}

/* Insist that a list that was read is sound. */
static void
check_list(Relation index, const NwMeta *meta, BlockNumber block, const NwListData *data)
{
	NwPageShape shape = {known_blocks(index, false), meta->nlists, slots_of(meta->dim)};
	const char *damage = nw_list_damage(data, &shape);

	if (damage)
	{
		/* it may name pages that are new */
		shape.nblocks = known_blocks(index, true);
		damage = nw_list_damage(data, &shape);
	}
	if (damage)
		nw_report_damaged_page(index, block, damage);
}

/* Read and lock the page of a list, and copy the list. */
static Buffer
read_list(Relation index, const NwMeta *meta, uint32 list, int lock, NwListData *data)
{
	int place;
	BlockNumber block = nw_list_block(meta, list, &place);
	Buffer buffer = nw_page_read(index, block, NW_PAGE_LISTS, lock);

	*data = NwPageGetLists(BufferGetPage(buffer))[place];
	check_list(index, meta, block, data);
	return buffer;
}

/* Copy a list. */
void
nw_list_read(Relation index, const NwMeta *meta, uint32 list, NwListData *data)
{
	UnlockReleaseBuffer(read_list(index, meta, list, BUFFER_LOCK_SHARE, data));
}

/* Copy a list to change it; its page comes back locked exclusively. */
Buffer
nw_list_lock(Relation index, const NwMeta *meta, uint32 list, NwListData *data)
{
	return read_list(index, meta, list, BUFFER_LOCK_EXCLUSIVE, data);
}

/* Write a list to its page, which stays locked. */
void
nw_list_write(Relation index, const NwMeta *meta, Buffer buffer, uint32 list, NwListData *data)
{
	GenericXLogState *state = GenericXLogStart(index);
	Page page = GenericXLogRegisterBuffer(state, buffer, 0);
	int place;

	(void) nw_list_block(meta, list, &place);
	nw_list_seal(data);
	NwPageGetLists(page)[place] = *data;
	GenericXLogFinish(state);
}

/*
 * Copy the lists of one page, from this one on; data has room for NW_LISTS_PER_PAGE.
 * Returns how many.
 */
int
nw_lists_read(Relation index, const NwMeta *meta, uint32 first, NwListData *data)
{
	int place;
	BlockNumber block = nw_list_block(meta, first, &place);
	int n = Min((uint32) (NW_LISTS_PER_PAGE - place), meta->nlists - first);
	Buffer buffer = nw_page_read(index, block, NW_PAGE_LISTS, BUFFER_LOCK_SHARE);

	memcpy(data, NwPageGetLists(BufferGetPage(buffer)) + place, n * sizeof(NwListData));
	UnlockReleaseBuffer(buffer);
	for (int i = 0; i < n; i++)
		check_list(index, meta, block, &data[i]);
	return n;
}

/*
 * Find the centre [dim] of one list after the other: on its page, or in space [dim]
 * where it lies across pages.  The page stays pinned in *buffer, which is InvalidBuffer
 * at first and has to be released at last.
 */
const float *
nw_centres_read(Relation index, const NwMeta *meta, uint32 list, float *space, Buffer *buffer)
{
	uint64 at = (uint64) list * meta->dim * sizeof(float);
	Size size = meta->dim * sizeof(float);
	Size left = size;
	char *to = (char *) space;

	while (left > 0)
	{
		BlockNumber block = meta->first_centres + at / NW_PAGE_ROOM;
		Size part = Min(left, NW_PAGE_ROOM - at % NW_PAGE_ROOM);
		const char *from;

		/* centres do not change, so a page once looked at needs no lock */
		if (!BufferIsValid(*buffer) || BufferGetBlockNumber(*buffer) != block)
		{
			if (BufferIsValid(*buffer))
				ReleaseBuffer(*buffer);
			*buffer = nw_page_read(index, block, NW_PAGE_CENTRES, BUFFER_LOCK_SHARE);
			LockBuffer(*buffer, BUFFER_LOCK_UNLOCK);
		}
		from = PageGetContents(BufferGetPage(*buffer)) + at % NW_PAGE_ROOM;
		if (part == size)
			return (const float *) from;
		memcpy(to, from, part);
		to += part;
		at += part;
		left -= part;
	}
	return space;
}

/* Copy the centre [dim] of a list. */
void
nw_centre_read(Relation index, const NwMeta *meta, uint32 list, float *centre)
{
	Buffer buffer = InvalidBuffer;
	const float *found = nw_centres_read(index, meta, list, centre, &buffer);

	if (found != centre)
		memcpy(centre, found, meta->dim * sizeof(float));
	ReleaseBuffer(buffer);
}
