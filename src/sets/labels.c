/*
 * sets/labels.c
 *		Number the classes of a support.
 *
 * A class is the byte string of the label's output text.  Calling the output
 * function for each row would cost more than the distance, so a value is
 * first looked up by its stored bytes; only bytes not met before are turned
 * into text, and different bytes with one text share a class.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "grow.h"
#include "sets/labels.h"

/* An item of a hash table of byte strings; the last two fields are simplehash's. */
typedef struct ByteMapItem
{
	NwBytes key;
	int value;
	uint32 hash;
	char status;
} ByteMapItem;

#define SH_PREFIX bytemap
#define SH_ELEMENT_TYPE ByteMapItem
#define SH_KEY_TYPE NwBytes
#define SH_KEY key
#define SH_HASH_KEY(tb, key) hash_bytes((const unsigned char *) (key).data, (key).len)
#define SH_EQUAL(tb, a, b) ((a).len == (b).len && memcmp((a).data, (b).data, (a).len) == 0)
#define SH_SCOPE static inline
#define SH_STORE_HASH
#define SH_GET_HASH(tb, a) (a)->hash
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

struct NwByteSet
{
	bytemap_hash *hash; /* of no values */
};

/* Make an empty numbering of a type's values, in a context of its own. */
NwLabels *
nw_labels_create(MemoryContext parent, Oid type)
{
	MemoryContext mcxt = AllocSetContextCreate(parent, "nwhead labels", ALLOCSET_DEFAULT_SIZES);
	NwLabels *labels = MemoryContextAllocZero(mcxt, sizeof(NwLabels));

	labels->mcxt = mcxt;
	nw_text_out_init(&labels->out, type, mcxt);
	labels->by_text = bytemap_create(mcxt, 32, NULL);
	if (!labels->out.is_text)
		labels->by_image = bytemap_create(mcxt, 32, NULL);
	labels->recent_image = MemoryContextAllocZero(mcxt, NW_RECENT_LABELS * sizeof(NwBytes));
	labels->recent_class = MemoryContextAlloc(mcxt, NW_RECENT_LABELS * sizeof(int));
	return labels;
}

/* The class of a text, numbered anew where it is a new one. */
int
nw_labels_add_text(NwLabels *labels, NwBytes text)
{
	bool found;
	ByteMapItem *item = bytemap_insert(labels->by_text, text, &found);

	if (found)
		return item->value;

	item->key = (NwBytes) {nw_bytes_copy(labels->mcxt, text), text.len};
	item->value = labels->n;
	NW_RESERVE(labels->mcxt, labels->text, labels->allocated, labels->n + 1);
	labels->text[labels->n] = item->key;
	return labels->n++;
}

/* Where a value would be among those met lately. */
static inline int
recent_slot(NwBytes image)
{
	const unsigned char *data = (const unsigned char *) image.data;

	if (image.len == 0)
		return 0;
	return (data[0] * 31 + data[image.len - 1] + data[Max(image.len - 2, 0)] * 7 + image.len) %
	       NW_RECENT_LABELS;
}

/* The class of a value, numbered anew where it is a new one. */
int
nw_labels_add(NwLabels *labels, Datum value)
{
	NwBytes image = nw_text_out_image(&labels->out, &value);
	int slot = recent_slot(image);
	NwBytes *recent = &labels->recent_image[slot];
	ByteMapItem *item;
	bool found;
	int class;

	/* a set has few classes: most values are found without hashing */
	if (recent->data && recent->len == image.len &&
	    memcmp(recent->data, image.data, image.len) == 0)
		return labels->recent_class[slot];

	if (labels->out.is_text)
	{
		class = nw_labels_add_text(labels, image);
		*recent = labels->text[class];
	}
	else
	{
		item = bytemap_insert(labels->by_image, image, &found);
		if (!found)
		{
			item->key = (NwBytes) {nw_bytes_copy(labels->mcxt, image), image.len};
			item->value = nw_labels_add_text(labels, nw_text_out(&labels->out, value));
		}
		class = item->value;
		*recent = item->key;
	}
	labels->recent_class[slot] = class;
	return class;
}

/* The class of a text, or -1. */
int
nw_labels_find_text(const NwLabels *labels, NwBytes text)
{
	ByteMapItem *item = bytemap_lookup(labels->by_text, text);

	return item ? item->value : -1;
}

/* Compare two classes by their texts, for qsort_arg. */
static int
compare_classes(const void *a, const void *b, void *arg)
{
	const NwLabels *labels = arg;

	return nw_bytes_compare(labels->text[*(const int *) a], labels->text[*(const int *) b]);
}

/* The classes in byte order of their texts. */
const int *
nw_labels_order(NwLabels *labels)
{
	if (labels->order == NULL || labels->ordered != labels->n)
	{
		if (labels->order)
			pfree(labels->order);
		labels->order = MemoryContextAllocHuge(labels->mcxt, Max(labels->n, 1) * sizeof(int));
		for (int i = 0; i < labels->n; i++)
			labels->order[i] = i;
		qsort_arg(labels->order, labels->n, sizeof(int), compare_classes, labels);
		labels->ordered = labels->n;
	}
	return labels->order;
}

/* Bytes allocated, the numbering itself included. */
Size
nw_labels_memory(const NwLabels *labels)
{
	return MemoryContextMemAllocated(labels->mcxt, true);
}

/* Make an empty set; expected is how many strings will come, or a guess at it. */
NwByteSet *
nw_byteset_create(MemoryContext mcxt, int expected)
{
	NwByteSet *set = MemoryContextAlloc(mcxt, sizeof(NwByteSet));

	set->hash = bytemap_create(mcxt, expected, NULL);
	return set;
}

/* Add a string, which stays the caller's and has to outlive the set. */
void
nw_byteset_add(NwByteSet *set, NwBytes bytes)
{
	bool found;

	(void) bytemap_insert(set->hash, bytes, &found);
}

bool
nw_byteset_has(const NwByteSet *set, NwBytes bytes)
{
	return bytemap_lookup(set->hash, bytes) != NULL;
}
