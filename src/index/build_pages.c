/*
 * index/build_pages.c
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

#include "bytes/tree_page.h"
#include "compat.h"
#include "grow.h"
#include "index/build_pages.h"
#include "index/definition.h"
#include "index/label_lookup.h"
#include "index/number_tree.h"
#include "math/spectral.h"

/* Reserve pages of a kind at the end of the file; return the first. */
static BlockNumber
reserve_pages(NwBuild *build, NwPageKind kind, BlockNumber n)
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
write_stream(NwBuild *build, BlockNumber first, NwPageKind kind, uint64 at, const char *data,
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

/* Fill the tree that finds the class of a label. */
static void
write_hashes(NwBuild *build)
{
	int n = build->labels->n;
	uint64 *key = palloc_extended(Max(n, 1) * sizeof(uint64), MCXT_ALLOC_HUGE);

	for (int i = 0; i < n; i++)
		key[i] = nw_label_key(build->labels->label[i].hash, i);
	qsort(key, n, sizeof(uint64), nw_tree_key_compare);
	nw_tree_load(build->index, build->meta.by_hash, key, n);
	pfree(key);
}

/* Write the classes, and the trees by which they are found. */
static void
write_labels(NwBuild *build)
{
	Buffer buffer = InvalidBuffer;
	int pages = 0;
	int allocated = 0;
	uint64 *key = NULL;

	build->meta.by_hash = reserve_pages(build, NW_PAGE_TREE, 1);
	build->meta.by_class = reserve_pages(build, NW_PAGE_TREE, 1);
	for (int i = 0; i < build->labels->n; i++)
	{
		NwBytes image = nw_build_labels_get(build->labels, i);
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
		NW_RESERVE(CurrentMemoryContext, key, allocated, (int64) pages + 1);
		key[pages++] = nw_label_page_key(i, BufferGetBlockNumber(buffer));
	}
	if (BufferIsValid(buffer))
		UnlockReleaseBuffer(buffer);
	nw_tree_load(build->index, build->meta.by_class, key, pages);
	if (key)
		pfree(key);
	write_hashes(build);
}

/* Code pages that the rows of a list take. */
static uint64
code_pages(const NwBuild *build, uint32 list)
{
	return (build->list[list].rows + build->layout.slots - 1) / build->layout.slots;
}

/* Vector pages that they take. */
static uint64
vector_pages(const NwBuild *build, uint32 list)
{
	return nw_stream_pages((uint64) build->list[list].rows * build->layout.vector_size);
}

/* Give every page of every list its place. */
static void
place_lists(NwBuild *build)
{
	uint64 codes = 0;
	uint64 vectors = 0;
	BlockNumber first_codes;
	BlockNumber first_vectors;

	for (uint32 i = 0; i < build->nlists; i++)
	{
		codes += code_pages(build, i);
		vectors += vector_pages(build, i);
	}
	if (codes + vectors > MaxBlockNumber / 2)
		ereport(ERROR,
		        (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
		         errmsg("index \"%s\" would be too large", RelationGetRelationName(build->index))));
	first_codes = reserve_pages(build, NW_PAGE_CODES, codes);
	first_vectors = reserve_pages(build, NW_PAGE_VECTORS, vectors);

	for (uint32 i = 0; i < build->nlists; i++)
	{
		NwBuildList *list = &build->list[i];
		BlockNumber pages = code_pages(build, i);

		list->data.bound = (uint32) list->rows;
		list->data.first_page = pages > 0 ? first_codes : InvalidBlockNumber;
		list->data.insert_page = pages > 0 ? first_codes + pages - 1 : InvalidBlockNumber;
		list->data.insert_nth = pages > 0 ? pages - 1 : 0;
		list->first_vectors = first_vectors;
		first_codes += pages;
		first_vectors += vector_pages(build, i);
	}
}

/* Rows of one code page, gathered. */
typedef struct Gathered
{
	uint32 list;
	uint32 nth;     /* page of the list */
	int n;          /* rows */
	NwEntry *entry; /* [slots] */
	int8 *code;     /* [slots][dim] */
	char *vector;   /* [slots][vector_size] */
} Gathered;

/* Write the rows gathered to their pages. */
static void
write_gathered(NwBuild *build, Gathered *gathered)
{
	const NwLayout *layout = &build->layout;
	NwBuildList *list = &build->list[gathered->list];
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

/*
 * Let the spread of a list cover a row; false where it cannot, since the row
 * has no code.
 */
static bool
spread_to_row(NwListData *list, NwSpectral *gram, const NwEntry *entry, const float *x,
              const float *centre, float *rest)
{
	double off;

	if (isinf(entry->info.error))
		return false;
	off = nw_code_residual(x, centre, gram->dim, entry->code, &entry->info, rest);
	nw_spectral_add(gram, rest, off);
	list->error = Max(list->error, entry->info.error);
	return true;
}

/* Note the spread of a list whose rows are all written. */
static void
finish_spread(NwBuild *build, NwSpectral *gram, uint32 list)
{
	double most;
	double least;

	nw_spectral_norm(gram, &most, &least);
	build->list[list].data.spread = nw_round_up(most);
	CHECK_FOR_INTERRUPTS();
}

/* Write all rows, in the order of their lists. */
static void
write_rows(NwBuild *build)
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
		const float *centre;
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

		centre = build->centre + (Size) list * layout->dim;
		entry->code = gathered.code + i * layout->dim;
		nw_code_encode(x, centre, layout->dim, gathered.code + i * layout->dim, &entry->info);

		/* the classes of the common list are bounded row by row */
		entry->covered = list != NW_COMMON_LIST &&
		                 spread_to_row(&build->list[list].data, &gram, entry, x, centre, rest);
		nw_list_cover(&build->list[list].data, nw_code_distance_up(x, centre, layout->dim),
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
write_lists(NwBuild *build)
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
	write_stream(build, build->meta.first_centres, NW_PAGE_CENTRES, 0, (char *) build->centre,
	             (Size) build->nlists * build->layout.dim * sizeof(float));
}

/* Write the rows that were sorted by list, and all else. */
void
nw_index_write(NwBuild *build)
{
	NwMeta *meta = &build->meta;
	Buffer buffer;

	reserve_pages(build, NW_PAGE_META, 1);
	meta->magic = NW_INDEX_MAGIC;
	meta->version = NW_INDEX_VERSION;
	meta->dim = build->layout.dim;
	meta->vector_type = build->layout.type;
	meta->nlists = build->nlists;
	meta->built_rows = build->rows;
	write_labels(build);
	meta->first_lists = reserve_pages(build, NW_PAGE_LISTS, nw_list_pages(build->nlists));
	meta->first_centres =
		reserve_pages(build, NW_PAGE_CENTRES, nw_centre_pages(build->nlists, meta->dim));
	place_lists(build);
	write_rows(build);
	write_lists(build);

	buffer = ReadBuffer(build->index, 0);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	nw_meta_init(BufferGetPage(buffer), meta);
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
		nw_meta_init(page, meta);
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

/* Write the init fork of an unlogged index. */
void
nw_index_build_empty(Relation index)
{
	NwLayout layout;
	NwMeta meta = {.magic = NW_INDEX_MAGIC,
	               .version = NW_INDEX_VERSION,
	               .nlists = 1,
	               .by_hash = 1,
	               .by_class = 2,
	               .first_lists = 3,
	               .first_centres = 4};

	nw_index_describe(index, &layout);
	meta.dim = layout.dim;
	meta.vector_type = layout.type;
	write_init_page(index, NW_PAGE_META, &meta);
	write_init_page(index, NW_PAGE_TREE, NULL);
	write_init_page(index, NW_PAGE_TREE, NULL);
	write_init_page(index, NW_PAGE_LISTS, NULL);
	for (BlockNumber i = 0; i < nw_centre_pages(1, layout.dim); i++)
		write_init_page(index, NW_PAGE_CENTRES, NULL);
}
