/*
 * nwindex_labels.c
 *		The labels of an nw index: its classes, and how to read them.
 */
#include "postgres.h"

#include "compat.h"
#include "nwindex.h"

NwBytes
nw_label_image(Relation index, NwTextOut *out, Datum *label)
{
	NwBytes		image = nw_textout_image(out, label);

	if (image.len > NW_INDEX_MAX_LABEL)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("label of %d bytes is too long for index \"%s\"",
						image.len, RelationGetRelationName(index)),
				 errhint("A label in an nw index has at most %d bytes.",
						 NW_INDEX_MAX_LABEL)));
	return image;
}

Datum
nw_label_datum(const NwTextOut *out, const char *image, int len)
{
	char	   *copy;

	if (out->typbyval)
	{
		Datum		value;

		/* the image is the datum's bytes, see nw_textout_image() */
		Assert(len == sizeof(Datum));
		memcpy(&value, image, sizeof(Datum));
		return value;
	}
	if (out->typlen == -1)
	{
		copy = palloc(len + VARHDRSZ);
		SET_VARSIZE(copy, len + VARHDRSZ);
		memcpy(VARDATA(copy), image, len);
		return PointerGetDatum(copy);
	}
	copy = palloc(len + 1);
	memcpy(copy, image, len);
	copy[len] = '\0';
	return PointerGetDatum(copy);
}

bool
nw_label_is_valid(Page page, ItemId id)
{
	uint32		offset = ItemIdGetOffset(id);
	uint32		length = ItemIdGetLength(id);

	return ItemIdIsNormal(id) && offset == MAXALIGN(offset) &&
		offset >= ((PageHeader) page)->pd_upper &&
		offset + length <= ((PageHeader) page)->pd_special &&
		length >= offsetof(NwLabelItem, image) &&
		length == offsetof(NwLabelItem, image) +
		((NwLabelItem *) ((char *) page + offset))->len;
}

void
nw_labels_scan(Relation index, const NwMeta *meta, NwLabelCallback callback,
			   void *arg)
{
	BlockNumber block = meta->first_labels;
	bool		go_on = true;

	while (go_on && BlockNumberIsValid(block))
	{
		Buffer		buffer = nw_page_read(index, block, NW_PAGE_LABELS,
										  BUFFER_LOCK_SHARE);
		Page		page = BufferGetPage(buffer);
		OffsetNumber last = PageGetMaxOffsetNumber(page);

		for (OffsetNumber i = FirstOffsetNumber; go_on && i <= last; i++)
		{
			ItemId		id = PageGetItemId(page, i);

			if (!nw_label_is_valid(page, id))
				ereport(ERROR,
						(errcode(ERRCODE_INDEX_CORRUPTED),
						 errmsg("index \"%s\" has a damaged label at block %u",
								RelationGetRelationName(index), block),
						 errhint("Please REINDEX it.")));
			go_on = callback((NwLabelItem *) PageGetItem(page, id), arg);
		}
		block = NwPageGetTail(page)->next;
		UnlockReleaseBuffer(buffer);
	}
}

/* Labels while they are copied. */
typedef struct Copying
{
	const NwTextOut *out;
	int			n;
	int			allocated;
	Datum	   *label;
} Copying;

/* Copy one label. */
static bool
copy_label(const NwLabelItem *item, void *arg)
{
	Copying    *copying = arg;

	if (copying->n == copying->allocated)
	{
		copying->allocated = Max(64, 2 * copying->allocated);
		copying->label = copying->label == NULL ?
			palloc_extended(copying->allocated * sizeof(Datum),
							MCXT_ALLOC_HUGE) :
			repalloc_huge(copying->label, copying->allocated * sizeof(Datum));
	}
	copying->label[copying->n++] = nw_label_datum(copying->out, item->image,
												  item->len);
	return true;
}

int
nw_labels_read(Relation index, const NwMeta *meta, NwTextOut *out,
			   Datum **label)
{
	Copying		copying = {.out = out};

	nw_textout_init(out, TupleDescAttr(RelationGetDescr(index),
									   NW_INDEX_LABEL)->atttypid,
					CurrentMemoryContext);
	nw_labels_scan(index, meta, copy_label, &copying);
	*label = copying.label;
	return copying.n;
}
