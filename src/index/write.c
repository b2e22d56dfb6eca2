/*
 * index/write.c
 *		Write the pages of a new nw index.
 *
 * The rows come sorted by list, and how many a list has is known, so every page
 * has its place before the first is written.  Pages are written without WAL and
 * logged together at the end.
 */
#include "postgres.h"

#include "access/xloginsert.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "utils/backend_progress.h"

#include "compat.h"
#include "index/build.h"
#include "math/spectral.h"

/* Reserve pages of a kind at the end of the file; return the first. */
static BlockNumber
reserve_pages(Build *build, NwPageKind kind, BlockNumber n)
{
	BlockNumber first = InvalidBlockNumber;

	for (BlockNumber i = 0; i < n; i++)
	{
		Buffer buffer = nw_page_extend(build->index, MAIN_FORKNUM);

		if (i == 0)
			first = BufferGetBlockNumber(buffer);
		nw_page_init(BufferGetPage(buffer), kind);
		MarkBufferDirty(buffer);
		UnlockReleaseBuffer(buffer);
		CHECK_FOR_INTERRUPTS();
	}
	return first;
}

/* Write bytes into consecutive pages that are a stream. */
static void
write_stream(Build *build, BlockNumber first, NwPageKind kind, uint64 at, const char *data,
             Size left)
{
	while (left > 0)
	{
		Buffer buffer =
			nw_page_read(build->index, first + at / NW_PAGE_ROOM, kind, BUFFER_LOCK_EXCLUSIVE);
		Size part = Min(left, NW_PAGE_ROOM - at % NW_PAGE_ROOM);

		memcpy(PageGetContents(BufferGetPage(buffer)) + at % NW_PAGE_ROOM, data, part);
		MarkBufferDirty(buffer);
		UnlockReleaseBuffer(buffer);
		data += part;
		at += part;
		left -= part;
	}
}

/* Order numbers. */
static int
compare_keys(const void *a, const void *b)
{
	uint64 x = *(const uint64 *) a;
	uint64 y = *(const uint64 *) b;

	return (x > y) - (x < y);
}

/* Fill the tree that finds the class of a label. */
static void
write_hashes(Build *build)
{
	int n = build->images->n;
	uint64 *key = palloc_extended(Max(n, 1) * sizeof(uint64), MCXT_ALLOC_HUGE);

	for (int i = 0; i < n; i++)
		key[i] = nw_label_key(build->images->hash[i], i);
	qsort(key, n, sizeof(uint64), compare_keys);
	nw_tree_load(build->index, build->meta.by_hash, key, n);
	pfree(key);
}

/* Write the classes, and the trees by which they are found. */
static void
write_labels(Build *build)
{
	Buffer buffer = InvalidBuffer;
	int64 pages = 0;
	int64 allocated = 64;
	uint64 *key = palloc(allocated * sizeof(uint64));

	build->meta.by_hash = reserve_pages(build, NW_PAGE_TREE, 1);
	build->meta.by_class = reserve_pages(build, NW_PAGE_TREE, 1);
	for (int i = 0; i < build->images->n; i++)
	{
		NwBytes image = nw_images_get(build->images, i);
		uint32 first_list = build->class[i].first_list;
		uint32 nlists = build->class[i].nlists;

		if (BufferIsValid(buffer) && nw_label_put(BufferGetPage(buffer), first_list, nlists, image))
			continue;
		if (BufferIsValid(buffer))
			UnlockReleaseBuffer(buffer);
		CHECK_FOR_INTERRUPTS();
		buffer = nw_page_extend(build->index, MAIN_FORKNUM);
		nw_page_init(BufferGetPage(buffer), NW_PAGE_LABELS);
		nw_label_page_init(PageGetContents(BufferGetPage(buffer)), NW_PAGE_ROOM, i);
		if (!nw_label_put(BufferGetPage(buffer), first_list, nlists, image))
			elog(ERROR, "label does not fit an empty page");
		MarkBufferDirty(buffer);
		if (pages == allocated)
		{
			allocated *= 2;
			key = repalloc_huge(key, allocated * sizeof(uint64));
		}
		key[pages++] = nw_label_page_key(i, BufferGetBlockNumber(buffer));
	}
	if (BufferIsValid(buffer))
		UnlockReleaseBuffer(buffer);
	nw_tree_load(build->index, build->meta.by_class, key, pages);
	pfree(key);
	write_hashes(build);
}

/* Give every page of every list its place. */
static void
place_lists(Build *build)
{
	const NwLayout *layout = &build->layout;
	uint64 codes = 0;
	uint64 vectors = 0;
	BlockNumber first_codes;
	BlockNumber first_vectors;

	for (uint32 i = 0; i < build->nlists; i++)
	{
		int64 rows = build->list[i].rows;

		codes += (rows + layout->slots - 1) / layout->slots;
		vectors += (rows * layout->vector_size + NW_PAGE_ROOM - 1) / NW_PAGE_ROOM;
	}
	if (codes + vectors > MaxBlockNumber / 2)
		ereport(ERROR,
		        (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
		         errmsg("index \"%s\" would be too large", RelationGetRelationName(build->index))));
	first_codes = reserve_pages(build, NW_PAGE_CODES, codes);
	first_vectors = reserve_pages(build, NW_PAGE_VECTORS, vectors);

	for (uint32 i = 0; i < build->nlists; i++)
	{
		BuildList *list = &build->list[i];
		BlockNumber pages = (list->rows + layout->slots - 1) / layout->slots;

		list->data.bound = (uint32) list->rows;
		list->data.first_page = pages > 0 ? first_codes : InvalidBlockNumber;
		list->data.insert_page = pages > 0 ? first_codes + pages - 1 : InvalidBlockNumber;
		list->data.insert_nth = pages > 0 ? pages - 1 : 0;
		list->first_vectors = first_vectors;
		first_codes += pages;
		first_vectors += (list->rows * layout->vector_size + NW_PAGE_ROOM - 1) / NW_PAGE_ROOM;
	}
}

/* Rows of one code page, gathered. */
typedef struct Gathered
{
	uint32 list;
	uint32 nth;
	int n;
	NwEntry *entry; /* [slots] */
	int8 *code;     /* [slots][dim] */
	char *vector;   /* [slots][vector_size] */
} Gathered;

/* Write the rows gathered to their pages. */
static void
write_gathered(Build *build, Gathered *gathered)
{
	const NwLayout *layout = &build->layout;
	BuildList *list = &build->list[gathered->list];
	uint64 at = (uint64) gathered->nth * layout->slots * layout->vector_size;
	Buffer buffer;
	Page page;
	NwCodePage *codes;

	if (gathered->n == 0)
		return;
	buffer = nw_page_read(build->index, list->data.first_page + gathered->nth, NW_PAGE_CODES,
	                      BUFFER_LOCK_EXCLUSIVE);
	page = BufferGetPage(buffer);
	codes = NwPageGetCodes(page);
	codes->list = gathered->list;
	codes->nth = gathered->nth;
	codes->used = gathered->n;
	codes->nfree = 0;
	for (int i = 0; i < nw_vector_pages(layout, gathered->nth, gathered->n); i++)
		codes->vectors[i] = list->first_vectors + at / NW_PAGE_ROOM + i;
	for (int i = 0; i < gathered->n; i++)
		nw_slot_write(page, layout, i, &gathered->entry[i]);
	if (gathered->nth < list->data.insert_nth)
		NwPageGetTail(page)->next = list->data.first_page + gathered->nth + 1;
	nw_codes_seal(page, BLCKSZ);
	MarkBufferDirty(buffer);
	UnlockReleaseBuffer(buffer);

	write_stream(build, list->first_vectors, NW_PAGE_VECTORS, at, gathered->vector,
	             (Size) gathered->n * layout->vector_size);
	gathered->nth++;
	gathered->n = 0;
}

/* Make a list cover a row. */
static void
cover_row(BuildList *list, float distance, float norm)
{
	list->data.radius = Max(list->data.radius, distance);
	list->data.norm_min = Min(list->data.norm_min, norm);
	list->data.norm_max = Max(list->data.norm_max, norm);
}

/*
 * Let the spread of a list cover a row; false where it cannot, since the row
 * has no code.
 */
static bool
spread_to_row(NwListData *list, NwSpectral *gram, const NwEntry *entry, const float *x,
              const float *center, float *rest)
{
	double off;

	if (isinf(entry->info.error))
		return false;
	off = nw_code_residual(x, center, gram->dim, entry->code, &entry->info, rest);
	nw_spectral_add(gram, rest, off);
	list->error = Max(list->error, entry->info.error);
	return true;
}

/* Note the spread of a list whose rows are all written. */
static void
finish_spread(Build *build, NwSpectral *gram, uint32 list)
{
	double most;
	double least;

	nw_spectral_norm(gram, &most, &least);
	build->list[list].data.spread = nw_round_up(most);
	CHECK_FOR_INTERRUPTS();
}

/* Write all rows, in the order of their lists. */
static void
write_rows(Build *build)
{
	const NwLayout *layout = &build->layout;
	TupleTableSlot *slot = MakeSingleTupleTableSlot(build->desc, &TTSOpsMinimalTuple);
	float *x = palloc(layout->dim * sizeof(float));
	float *rest = palloc(layout->dim * sizeof(float));
	NwSpectral gram;
	int64 done = 0;
	Gathered gathered = {.entry = palloc(layout->slots * sizeof(NwEntry)),
	                     .code = palloc(layout->slots * layout->dim),
	                     .vector = palloc(layout->slots * layout->vector_size)};

	nw_spectral_init(&gram, layout->dim, false, palloc(nw_spectral_memory(layout->dim)));
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_TOTAL, build->rows);
	while (tuplesort_gettupleslot(build->sort, true, false, slot, NULL))
	{
		NwEntry *entry;
		uint32 list;
		const float *center;
		bool isnull;
		int i;

		list = DatumGetUInt32(slot_getattr(slot, 1, &isnull));
		if (list != gathered.list || gathered.n == layout->slots)
			write_gathered(build, &gathered);
		if (list != gathered.list)
		{
			finish_spread(build, &gram, gathered.list);
			gathered.list = list;
			gathered.nth = 0;
		}
		i = gathered.n++;
		entry = &gathered.entry[i];
		ItemPointerCopy((ItemPointer) DatumGetPointer(slot_getattr(slot, 2, &isnull)), &entry->tid);
		entry->class = DatumGetInt32(slot_getattr(slot, 3, &isnull));
		entry->vector = gathered.vector + (Size) i * layout->vector_size;
		memcpy(gathered.vector + (Size) i * layout->vector_size,
		       VARDATA_ANY(DatumGetPointer(slot_getattr(slot, 4, &isnull))), layout->vector_size);
		nw_vector_decode(entry->vector, layout->type, layout->dim, x);

		center = build->center + (Size) list * layout->dim;
		entry->code = gathered.code + i * layout->dim;
		nw_code_encode(x, center, layout->dim, gathered.code + i * layout->dim, &entry->info);

		/* the classes of the common list are bounded row by row */
		entry->covered = list != NW_COMMON_LIST &&
		                 spread_to_row(&build->list[list].data, &gram, entry, x, center, rest);
		cover_row(&build->list[list], nw_code_distance_up(x, center, layout->dim),
		          entry->info.norm);
		if (++done % 1000 == 0)
		{
			pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, done);
			CHECK_FOR_INTERRUPTS();
		}
	}
	write_gathered(build, &gathered);
	finish_spread(build, &gram, gathered.list);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, done);
	ExecDropSingleTupleTableSlot(slot);
}

/* Write lists and centres to the pages reserved for them. */
static void
write_lists(Build *build)
{
	for (uint32 i = 0; i < build->nlists; i++)
	{
		int place;
		BlockNumber block = nw_list_block(&build->meta, i, &place);
		Buffer buffer = nw_page_read(build->index, block, NW_PAGE_LISTS, BUFFER_LOCK_EXCLUSIVE);

		if (build->list[i].rows == 0)
			build->list[i].data.norm_min = build->list[i].data.norm_max = 0;
		nw_list_seal(&build->list[i].data);
		NwPageGetLists(BufferGetPage(buffer))[place] = build->list[i].data;
		MarkBufferDirty(buffer);
		UnlockReleaseBuffer(buffer);
	}
	write_stream(build, build->meta.first_centers, NW_PAGE_CENTERS, 0, (char *) build->center,
	             (Size) build->nlists * build->layout.dim * sizeof(float));
}

/* Pages that so many bytes of a stream take. */
static BlockNumber
stream_pages(uint64 bytes)
{
	return (BlockNumber) ((bytes + NW_PAGE_ROOM - 1) / NW_PAGE_ROOM);
}

/* Describe an index of so many lists on its meta page. */
static void
fill_meta(Page page, const NwMeta *meta)
{
	nw_page_init(page, NW_PAGE_META);
	*NwPageGetMeta(page) = *meta;
	NwPageGetMeta(page)->checksum = nw_meta_checksum(meta);
}

void
nw_index_write(Build *build)
{
	NwMeta *meta = &build->meta;
	Buffer buffer;

	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, NW_PHASE_WRITE);
	reserve_pages(build, NW_PAGE_META, 1);
	meta->magic = NW_INDEX_MAGIC;
	meta->version = NW_INDEX_VERSION;
	meta->dim = build->layout.dim;
	meta->vector_type = build->layout.type;
	meta->nlists = build->nlists;
	meta->built_rows = build->rows;
	write_labels(build);
	meta->first_lists = reserve_pages(build, NW_PAGE_LISTS,
	                                  (build->nlists + NW_LISTS_PER_PAGE - 1) / NW_LISTS_PER_PAGE);
	meta->first_centers = reserve_pages(
		build, NW_PAGE_CENTERS, stream_pages((uint64) build->nlists * meta->dim * sizeof(float)));
	place_lists(build);
	write_rows(build);
	write_lists(build);

	buffer = ReadBuffer(build->index, 0);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	fill_meta(BufferGetPage(buffer), meta);
	MarkBufferDirty(buffer);
	UnlockReleaseBuffer(buffer);

	if (RelationNeedsWAL(build->index))
		log_newpage_range(build->index, MAIN_FORKNUM, 0, RelationGetNumberOfBlocks(build->index),
		                  true);
}

/* Write and log one page of an init fork. */
static void
write_init_page(Relation index, NwPageKind kind, const NwMeta *meta)
{
	Buffer buffer = nw_page_extend(index, INIT_FORKNUM);
	Page page = BufferGetPage(buffer);

	START_CRIT_SECTION();
	if (kind == NW_PAGE_META)
		fill_meta(page, meta);
	else
		nw_page_init(page, kind);
	if (kind == NW_PAGE_LISTS)
	{
		NwListData *common = &NwPageGetLists(page)[NW_COMMON_LIST];

		common->first_page = common->insert_page = InvalidBlockNumber;
		nw_list_seal(common);
	}
	MarkBufferDirty(buffer);

	/* GenericXLog would log nothing for an unlogged index */
	log_newpage_buffer(buffer, true);
	END_CRIT_SECTION();
	UnlockReleaseBuffer(buffer);
}

void
nw_index_build_empty(Relation index)
{
	NwLayout layout;
	Oid label_type;
	NwMeta meta = {.magic = NW_INDEX_MAGIC,
	               .version = NW_INDEX_VERSION,
	               .nlists = 1,
	               .by_hash = 1,
	               .by_class = 2,
	               .first_lists = 3,
	               .first_centers = 4};

	nw_index_describe(index, &layout, &label_type);
	meta.dim = layout.dim;
	meta.vector_type = layout.type;
	write_init_page(index, NW_PAGE_META, &meta);
	write_init_page(index, NW_PAGE_TREE, NULL);
	write_init_page(index, NW_PAGE_TREE, NULL);
	write_init_page(index, NW_PAGE_LISTS, NULL);
	for (BlockNumber i = 0; i < stream_pages(layout.dim * sizeof(float)); i++)
		write_init_page(index, NW_PAGE_CENTERS, NULL);
}
