/*
 * index/label_lookup.c
 *		The classes of an nw index: find them by their labels, and add new ones.
 *
 * Classes are told apart by the stored bytes of a label, its image.  Each has a
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
#include "grow.h"
#include "index/damage.h"
#include "index/definition.h"
#include "index/label_lookup.h"
#include "index/number_tree.h"

/* ---- values ---- */

/* The image of a label to store; an error where it is too long. */
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

/* The label behind an image, as a datum of the column's type. */
Datum
nw_label_datum(Relation index, const NwTextOut *out, const NwLabelItem *item)
{
	char *copy;

	if (out->typlen > 0 && item->len != (uint32) out->typlen)
		nw_report_label_type(index);
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

/* The hash by which the tree finds an image. */
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

/* Add the next class to a page of labels; false where it has no room. */
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

/* Insist that an item of a page is there and undamaged. */
const NwLabelItem *
nw_label_check(Relation index, Page page, BlockNumber block, uint32 nth)
{
	const NwLabelPage *labels = (NwLabelPage *) PageGetContents(page);
	const NwLabelItem *item = nw_label_page_get(labels, NW_PAGE_ROOM, nth);

	if (item == NULL || item->class != labels->first_class + nth ||
	    item->len > NW_INDEX_MAX_LABEL || item->checksum != item_checksum(item))
		nw_report_damaged_label(index, block);
	return item;
}

/* ---- reading ---- */

/* Begin to read labels. */
void
nw_label_begin(NwLabelCursor *cursor, Relation index, const NwMeta *meta)
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
	BlockNumber block = nw_key_low(key);
	const NwLabelPage *labels = (NwLabelPage *) PageGetContents(cursor->page.data);

	if (!BlockNumberIsValid(block))
		nw_report_damaged_label(cursor->index, block);
	cursor->filled = false;
	cursor->block = block;
	nw_page_copy(cursor->index, block, NW_PAGE_LABELS, &cursor->page);
	if (labels->first_class != nw_key_high(key) || labels->n == 0 ||
	    nw_label_page_damage(labels, NW_PAGE_ROOM) != NULL)
		nw_report_damaged_label(cursor->index, block);
	cursor->filled = true;
	return labels;
}

/* Read the label of a class; it is there until the next one is read. */
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
			nw_report_damaged_label(cursor->index, cursor->meta->by_class);
		labels = read_page(cursor, key);
	}
	return nw_label_check(cursor->index, cursor->page.data, cursor->block,
	                      class - labels->first_class);
}

/* Read the label of an image; NULL where no class has it. */
const NwLabelItem *
nw_label_find(NwLabelCursor *cursor, NwBytes image)
{
	uint32 hash = nw_label_hash(image);
	uint64 key = nw_label_key(hash, 0);

	while (nw_tree_ceiling(cursor->index, cursor->meta->by_hash, key, &key) &&
	       nw_key_high(key) == hash)
	{
		const NwLabelItem *item = nw_label_read(cursor, nw_key_low(key));

		if (item->len == (uint32) image.len && memcmp(item->image, image.data, image.len) == 0)
			return item;
		if (nw_key_low(key) == PG_UINT32_MAX)
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

/* How many classes there are. */
uint32
nw_label_count(NwLabelCursor *cursor)
{
	const NwLabelPage *labels = read_last_page(cursor);

	return labels == NULL ? 0 : labels->first_class + labels->n;
}

/* Copy the labels of all classes; out is made ready for their type. */
int
nw_label_read_all(Relation index, const NwMeta *meta, NwTextOut *out, Datum **label)
{
	NwLabelCursor cursor;
	int allocated = 0;
	int n = 0;
	uint32 count;
	uint64 key = 0;

	*label = NULL;
	nw_text_out_init(out, nw_index_label_type(index), CurrentMemoryContext);
	nw_label_begin(&cursor, index, meta);

	/*
	 * As many as there are now.  Behind the page that is the last one now
	 * others may come, which do not follow on what has been read of it.
	 */
	count = nw_label_count(&cursor);

	/* numbers only rise, so that this comes to an end in a damaged tree, too */
	while ((uint32) n < count && nw_tree_ceiling(index, meta->by_class, key, &key))
	{
		const NwLabelPage *labels = read_page(&cursor, key);

		if (labels->first_class != (uint32) n)
			nw_report_damaged_label(index, cursor.block);
		NW_RESERVE(CurrentMemoryContext, *label, allocated, (int64) n + labels->n);
		for (uint32 i = 0; i < labels->n; i++)
			(*label)[n++] = nw_label_datum(
				index, out, nw_label_check(index, cursor.page.data, cursor.block, i));
		key++;
		CHECK_FOR_INTERRUPTS();
	}
	return n;
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

/* Read the label of an image, adding the class where there is none. */
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
		nw_report_damaged_label(cursor->index, cursor->meta->by_hash);
	return item;
}
