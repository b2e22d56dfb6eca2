/*
 * index/page.c
 *		Pages of an nw index: where things are, and how to read them.
 */
#include "postgres.h"

#include "fmgr.h"
#include "port/pg_crc32c.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"

#include "compat.h"
#include "index/am.h"

StaticAssertDecl(sizeof(NwPageHead) == SizeOfPageHeaderData &&
                     offsetof(NwPageHead, lower) == offsetof(PageHeaderData, pd_lower) &&
                     offsetof(NwPageHead, upper) == offsetof(PageHeaderData, pd_upper) &&
                     offsetof(NwPageHead, special) == offsetof(PageHeaderData, pd_special) &&
                     offsetof(NwPageHead, size_version) ==
                         offsetof(PageHeaderData, pd_pagesize_version) &&
                     NW_NO_BLOCK == InvalidBlockNumber,
                 "PostgreSQL's pages are not what damage.h says");

/* ---- places ---- */

/* The slots of a code page; codes are padded to a multiple of 4 bytes. */
static int
slots_of(int dim)
{
	int each = dim + 4 * sizeof(float) + sizeof(uint32) + sizeof(ItemPointerData);

	return (NW_PAGE_ROOM - MAXALIGN(sizeof(NwCodePage)) - sizeof(float)) / each;
}

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

/* Where in the stream of its list the vectors of a code page begin. */
static inline uint64
stream_start(const NwLayout *layout, uint32 nth)
{
	return (uint64) nth * layout->slots * layout->vector_size;
}

void
nw_vector_place(const NwLayout *layout, uint32 nth, int slot, int *page, int *offset)
{
	uint64 start = stream_start(layout, nth);
	uint64 at = start + (uint64) slot * layout->vector_size;

	*page = (int) (at / NW_PAGE_ROOM - start / NW_PAGE_ROOM);
	*offset = (int) (at % NW_PAGE_ROOM);
}

int
nw_vector_pages(const NwLayout *layout, uint32 nth, int slots)
{
	uint64 start = stream_start(layout, nth);
	uint64 end = start + (uint64) slots * layout->vector_size;

	return slots == 0 ? 0 : (int) ((end - 1) / NW_PAGE_ROOM - start / NW_PAGE_ROOM) + 1;
}

BlockNumber
nw_list_block(const NwMeta *meta, uint32 list, int *place)
{
	*place = list % NW_LISTS_PER_PAGE;
	return meta->first_lists + list / NW_LISTS_PER_PAGE;
}

/* ---- pages ---- */

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

void
nw_report_damage(Relation index, BlockNumber block, const char *detail)
{
	ereport(ERROR,
	        (errcode(ERRCODE_INDEX_CORRUPTED),
	         errmsg("index \"%s\" is corrupted at block %u", RelationGetRelationName(index), block),
	         errdetail_internal("%s", detail), errhint("Please REINDEX it.")));
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

void
nw_block_look(Relation index, BlockNumber block)
{
	if (block >= known_blocks(index, true))
		ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
		                errmsg("index \"%s\" is corrupted", RelationGetRelationName(index)),
		                errdetail("Block %u is named, but not there.", block),
		                errhint("Please REINDEX it.")));
}

void
nw_page_check(Relation index, Buffer buffer, NwPageKind kind)
{
	const char *damage = nw_page_damage(BufferGetPage(buffer), BLCKSZ, kind, NULL);

	if (damage)
		nw_report_damage(index, BufferGetBlockNumber(buffer), damage);
}

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
		nw_report_damage(index, BufferGetBlockNumber(buffer), damage);
}

Buffer
nw_page_read(Relation index, BlockNumber block, NwPageKind kind, int lock)
{
	Buffer buffer;

	/* whoever follows a pointer may have the meta page locked already */
	if (block == 0 && kind != NW_PAGE_META)
		nw_report_damage(index, block, "The page is not of the kind expected.");
	nw_block_check(index, block);
	buffer = ReadBuffer(index, block);
	LockBuffer(buffer, lock);
	nw_page_check(index, buffer, kind);
	return buffer;
}

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

uint32
nw_meta_checksum(const NwMeta *meta)
{
	pg_crc32c crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, meta, offsetof(NwMeta, checksum));
	FIN_CRC32C(crc);
	return crc;
}

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
	    meta->checksum != nw_meta_checksum(meta) ||
	    (meta->nlists / NW_LISTS_PER_PAGE >= known_blocks(index, false) &&
	     meta->nlists / NW_LISTS_PER_PAGE >= known_blocks(index, true)))
		ereport(ERROR,
		        (errcode(ERRCODE_INDEX_CORRUPTED),
		         errmsg("index \"%s\" has an unexpected meta page", RelationGetRelationName(index)),
		         errhint("Please REINDEX it.")));
	if (layout)
		nw_layout_init(layout, meta->dim, meta->vector_type);
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
		nw_report_damage(index, block, damage);
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

void
nw_list_read(Relation index, const NwMeta *meta, uint32 list, NwListData *data)
{
	UnlockReleaseBuffer(read_list(index, meta, list, BUFFER_LOCK_SHARE, data));
}

Buffer
nw_list_lock(Relation index, const NwMeta *meta, uint32 list, NwListData *data)
{
	return read_list(index, meta, list, BUFFER_LOCK_EXCLUSIVE, data);
}

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

const float *
nw_centers_read(Relation index, const NwMeta *meta, uint32 list, float *space, Buffer *buffer)
{
	uint64 at = (uint64) list * meta->dim * sizeof(float);
	Size size = meta->dim * sizeof(float);
	Size left = size;
	char *to = (char *) space;

	while (left > 0)
	{
		BlockNumber block = meta->first_centers + at / NW_PAGE_ROOM;
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

void
nw_center_read(Relation index, const NwMeta *meta, uint32 list, float *center)
{
	Buffer buffer = InvalidBuffer;
	const float *found = nw_centers_read(index, meta, list, center, &buffer);

	if (found != center)
		memcpy(center, found, meta->dim * sizeof(float));
	ReleaseBuffer(buffer);
}

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

/* ---- values ---- */

const char *
nw_vector_bytes(Relation index, const NwLayout *layout, Datum datum, NwVectorData *vector)
{
	datum = PointerGetDatum(PG_DETOAST_DATUM(datum));
	*vector = nw_vector_read(datum, layout->type);
	if (vector->dim != layout->dim)
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
		                errmsg("index \"%s\" has %d dimensions, not %d",
		                       RelationGetRelationName(index), layout->dim, vector->dim)));
	return nw_vector_elements(datum);
}
