/*
 * index/classes.c
 *		The labels of an nw index: its classes, and how to find them.
 *
 * Lists are keyed by the stored bytes of a label, its image.  Each has a
 * checksum, which is verified before anything else looks at the bytes: the
 * output functions of types take values for granted.
 */
#include "postgres.h"

#include "access/tupmacs.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "port/pg_crc32c.h"
#include "storage/lmgr.h"

#include "bytes/tree_page.h"
#include "compat.h"
#include "index/am.h"

/* ---- values ---- */

NwBytes
nw_label_image(Relation index, NwTextOut *out, Datum *label)
{
	NwBytes image = nw_text_out_image(out, label);

	if (image.len > NW_INDEX_MAX_LABEL)
		ereport(ERROR,
		        (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
		         errmsg("label of %d bytes is too long for index \"%s\"", image.len,
		                RelationGetRelationName(index)),
		         errhint("A label in an nw index has at most %d bytes.", NW_INDEX_MAX_LABEL)));
	return image;
}

Datum
nw_label_datum(Relation index, const NwTextOut *out, const NwLabelItem *item)
{
	char *copy;

	if (out->typlen > 0 && item->len != (uint32) out->typlen)
		ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
		                errmsg("index \"%s\" has labels of another type than its table",
		                       RelationGetRelationName(index)),
		                errhint("Please REINDEX it.")));
	if (out->typbyval)
	{
		Datum *aligned = palloc(sizeof(Datum));
		Datum value;

		memcpy(aligned, item->image, Min(item->len, sizeof(Datum)));
		value = fetch_att(aligned, true, out->typlen);
		pfree(aligned);
		return value;
	}
	if (out->typlen == -1)
	{
		copy = palloc(item->len + VARHDRSZ);
		SET_VARSIZE(copy, item->len + VARHDRSZ);
		memcpy(VARDATA(copy), item->image, item->len);
		return PointerGetDatum(copy);
	}
	copy = palloc(item->len + 1);
	memcpy(copy, item->image, item->len);
	copy[item->len] = '\0';
	return PointerGetDatum(copy);
}

uint32
nw_label_hash(NwBytes image)
{
	return hash_bytes((const unsigned char *) image.data, image.len);
}

/* ---- pages ---- */

/* The checksum that a label should have. */
static uint32
item_checksum(const NwLabelItem *item)
{
	pg_crc32c crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, &item->class,
	            offsetof(NwLabelItem, image) - offsetof(NwLabelItem, class) + item->len);
	FIN_CRC32C(crc);
	return crc;
}

bool
nw_label_put(Page page, uint32 first_list, uint32 nlists, NwBytes image)
{
	NwLabelItem *item =
		nw_label_page_add(PageGetContents(page), NW_PAGE_ROOM, first_list, nlists, image.len);

	if (item == NULL)
		return false;
	memcpy(item->image, image.data, image.len);
	item->checksum = item_checksum(item);
	return true;
}

/* Complain about a page of labels. */
static void
report_damage(Relation index, BlockNumber block)
{
	ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
	                errmsg("index \"%s\" has a damaged label at block %u",
	                       RelationGetRelationName(index), block),
	                errhint("Please REINDEX it.")));
}

const NwLabelItem *
nw_label_check(Relation index, Page page, BlockNumber block, uint32 nth)
{
	const NwLabelPage *labels = (NwLabelPage *) PageGetContents(page);
	const NwLabelItem *item = nw_label_page_get(labels, NW_PAGE_ROOM, nth);

	if (item == NULL || item->class != labels->first_class + nth ||
	    item->len > NW_INDEX_MAX_LABEL || item->checksum != item_checksum(item))
		report_damage(index, block);
	return item;
}

/* ---- reading ---- */

void
nw_labels_begin(NwLabelCursor *cursor, Relation index, const NwMeta *meta)
{
	cursor->index = index;
	cursor->meta = meta;
	cursor->filled = false;
}

/*
 * Copy a page of labels, given by its number in the tree.  A copy, since who
 * adds a class to the page writes all of it.
 */
static const NwLabelPage *
read_page(NwLabelCursor *cursor, uint64 key)
{
	BlockNumber block = (BlockNumber) key;
	const NwLabelPage *labels = (NwLabelPage *) PageGetContents(cursor->page.data);
	Buffer buffer;

	if (!BlockNumberIsValid(block))
		report_damage(cursor->index, block);
	cursor->filled = false;
	cursor->block = block;
	buffer = nw_page_read(cursor->index, block, NW_PAGE_LABELS, BUFFER_LOCK_SHARE);
	memcpy(cursor->page.data, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
	if (labels->first_class != (uint32) (key >> 32) || labels->n == 0 ||
	    nw_label_page_damage(labels, NW_PAGE_ROOM) != NULL)
		report_damage(cursor->index, block);
	cursor->filled = true;
	return labels;
}

const NwLabelItem *
nw_label_read(NwLabelCursor *cursor, uint32 class)
{
	const NwLabelPage *labels = (NwLabelPage *) PageGetContents(cursor->page.data);
	uint64 key;

	/* the next one may have been added since the copy was made */
	if (!cursor->filled || class - labels->first_class >= labels->n)
	{
		if (!nw_tree_floor(cursor->index, cursor->meta->by_class,
		                   nw_label_page_key(class, InvalidBlockNumber), &key))
			report_damage(cursor->index, cursor->meta->by_class);
		labels = read_page(cursor, key);
	}
	return nw_label_check(cursor->index, cursor->page.data, cursor->block,
	                      class - labels->first_class);
}

const NwLabelItem *
nw_label_find(NwLabelCursor *cursor, NwBytes image)
{
	uint32 hash = nw_label_hash(image);
	uint64 key = nw_label_key(hash, 0);

	while (nw_tree_ceiling(cursor->index, cursor->meta->by_hash, key, &key) &&
	       (uint32) (key >> 32) == hash)
	{
		const NwLabelItem *item = nw_label_read(cursor, (uint32) key);

		if (item->len == (uint32) image.len && memcmp(item->image, image.data, image.len) == 0)
			return item;
		if ((uint32) key == PG_UINT32_MAX)
			break;
		key++;
		CHECK_FOR_INTERRUPTS();
	}
	return NULL;
}

/* Copy the last page of labels; NULL where there is none. */
static const NwLabelPage *
read_last_page(NwLabelCursor *cursor)
{
	uint64 key;

	if (!nw_tree_floor(cursor->index, cursor->meta->by_class, PG_UINT64_MAX, &key))
		return NULL;
	return read_page(cursor, key);
}

uint32
nw_labels_count(NwLabelCursor *cursor)
{
	const NwLabelPage *labels = read_last_page(cursor);

	return labels == NULL ? 0 : labels->first_class + labels->n;
}

/* Labels while they are copied. */
typedef struct Copying
{
	int n;
	int allocated;
	Datum *label;
} Copying;

/* Copy one label. */
static void
copy_label(Copying *copying, Datum label)
{
	if (copying->n == copying->allocated)
	{
		copying->allocated = Max(64, 2 * copying->allocated);
		copying->label = copying->label == NULL
		                     ? palloc_extended(copying->allocated * sizeof(Datum), MCXT_ALLOC_HUGE)
		                     : repalloc_huge(copying->label, copying->allocated * sizeof(Datum));
	}
	copying->label[copying->n++] = label;
}

int
nw_labels_read(Relation index, const NwMeta *meta, NwTextOut *out, Datum **label)
{
	Copying copying = {.n = 0};
	NwLabelCursor cursor;
	uint32 count;
	uint64 key = 0;

	nw_text_out_init(out, TupleDescAttr(RelationGetDescr(index), NW_INDEX_LABEL)->atttypid,
	                 CurrentMemoryContext);
	nw_labels_begin(&cursor, index, meta);

	/*
	 * As many as there are now.  Behind the page that is the last one now
	 * others may come, which do not follow on what has been read of it.
	 */
	count = nw_labels_count(&cursor);

	/* numbers only rise, so that this comes to an end in a damaged tree, too */
	while ((uint32) copying.n < count && nw_tree_ceiling(index, meta->by_class, key, &key))
	{
		const NwLabelPage *labels = read_page(&cursor, key);

		if (labels->first_class != (uint32) copying.n)
			report_damage(index, cursor.block);
		for (uint32 i = 0; i < labels->n; i++)
			copy_label(&copying,
			           nw_label_datum(index, out,
			                          nw_label_check(index, cursor.page.data, cursor.block, i)));
		key++;
		CHECK_FOR_INTERRUPTS();
	}
	*label = copying.label;
	return copying.n;
}

/* ---- adding ---- */

/*
 * Add a class.  The page of labels and the leaves of the trees change in one
 * WAL record, so that a class is either there, and found, or not.
 */
static void
add_label(NwLabelCursor *cursor, NwBytes image)
{
	Relation index = cursor->index;
	const NwLabelPage *last = read_last_page(cursor);
	uint32 class = last ? last->first_class + last->n : 0;
	uint64 key = nw_label_key(nw_label_hash(image), class);
	bool fits = last && nw_label_put(cursor->page.data, 0, 0, image);
	Buffer labels;
	Buffer by_class = InvalidBuffer;
	Buffer by_hash;
	GenericXLogState *state;
	Page page;

	/* the copy has served to see whether there is room */
	cursor->filled = false;
	if (class >= PG_INT32_MAX)
		ereport(ERROR,
		        (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
		         errmsg("index \"%s\" has too many classes", RelationGetRelationName(index))));
	if (!fits)
	{
		labels = nw_page_extend(index, MAIN_FORKNUM);
		by_class = nw_tree_make_room(index, cursor->meta->by_class,
		                             nw_label_page_key(class, BufferGetBlockNumber(labels)));
	}
	by_hash = nw_tree_make_room(index, cursor->meta->by_hash, key);
	if (fits)
		labels = nw_page_read(index, cursor->block, NW_PAGE_LABELS, BUFFER_LOCK_EXCLUSIVE);

	state = GenericXLogStart(index);
	page = GenericXLogRegisterBuffer(state, by_hash, 0);
	nw_tree_page_add(PageGetContents(page), NW_PAGE_ROOM, key);
	page = GenericXLogRegisterBuffer(state, labels, fits ? 0 : GENERIC_XLOG_FULL_IMAGE);
	if (!fits)
	{
		nw_page_init(page, NW_PAGE_LABELS);
		nw_label_page_init(PageGetContents(page), NW_PAGE_ROOM, class);
		nw_tree_page_add(PageGetContents(GenericXLogRegisterBuffer(state, by_class, 0)),
		                 NW_PAGE_ROOM, nw_label_page_key(class, BufferGetBlockNumber(labels)));
	}
	if (!nw_label_put(page, 0, 0, image))
		elog(ERROR, "label does not fit its page");
	GenericXLogFinish(state);
	UnlockReleaseBuffer(labels);
	UnlockReleaseBuffer(by_hash);
	if (BufferIsValid(by_class))
		UnlockReleaseBuffer(by_class);
}

const NwLabelItem *
nw_label_find_or_add(NwLabelCursor *cursor, NwBytes image)
{
	const NwLabelItem *item = nw_label_find(cursor, image);

	if (item)
		return item;
	LockPage(cursor->index, 0, ExclusiveLock);
	cursor->filled = false;
	item = nw_label_find(cursor, image);
	if (item == NULL)
	{
		add_label(cursor, image);
		item = nw_label_find(cursor, image);
	}
	UnlockPage(cursor->index, 0, ExclusiveLock);
	if (item == NULL)
		report_damage(cursor->index, cursor->meta->by_hash);
	return item;
}
