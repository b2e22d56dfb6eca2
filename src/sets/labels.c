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

#include "sets/labels.h"

typedef struct ByteMapEntry
{
	NwBytes key;
	int value;
	uint32 hash;
	char status;
} ByteMapEntry;

#define SH_PREFIX bytemap
#define SH_ELEMENT_TYPE ByteMapEntry
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
	bytemap_hash *hash;
};

NwLabels *
nw_labels_create(MemoryContext parent, Oid type)
{
	MemoryContext mcxt = AllocSetContextCreate(parent, "nwhead labels", ALLOCSET_DEFAULT_SIZES);
	NwLabels *labels = MemoryContextAllocZero(mcxt, sizeof(NwLabels));

	labels->mcxt = mcxt;
	nw_textout_init(&labels->out, type, mcxt);
	labels->allocated = 16;
	labels->text = MemoryContextAlloc(mcxt, labels->allocated * sizeof(NwBytes));
	labels->by_text = bytemap_create(mcxt, 32, NULL);
	if (!labels->out.is_text)
		labels->by_image = bytemap_create(mcxt, 32, NULL);
	labels->recent_image = MemoryContextAllocZero(mcxt, NW_RECENT_LABELS * sizeof(NwBytes));
	labels->recent_class = MemoryContextAlloc(mcxt, NW_RECENT_LABELS * sizeof(int));
	return labels;
}

int
nw_labels_add_text(NwLabels *labels, NwBytes text)
{
	bool found;
	ByteMapEntry *entry = bytemap_insert(labels->by_text, text, &found);

	if (found)
		return entry->value;

	entry->key = (NwBytes) {nw_bytes_copy(labels->mcxt, text), text.len};
	entry->value = labels->n;
	if (labels->n == labels->allocated)
	{
		labels->allocated *= 2;
		labels->text = repalloc_huge(labels->text, labels->allocated * sizeof(NwBytes));
	}
	labels->text[labels->n] = entry->key;
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

int
nw_labels_add(NwLabels *labels, Datum value)
{
	NwBytes image = nw_textout_image(&labels->out, &value);
	int slot = recent_slot(image);
	NwBytes *recent = &labels->recent_image[slot];
	ByteMapEntry *entry;
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
		entry = bytemap_insert(labels->by_image, image, &found);
		if (!found)
		{
			entry->key = (NwBytes) {nw_bytes_copy(labels->mcxt, image), image.len};
			entry->value = nw_labels_add_text(labels, nw_textout(&labels->out, value));
		}
		class = entry->value;
		*recent = entry->key;
	}
	labels->recent_class[slot] = class;
	return class;
}

int
nw_labels_find_text(const NwLabels *labels, NwBytes text)
{
	ByteMapEntry *entry = bytemap_lookup(labels->by_text, text);

	return entry ? entry->value : -1;
}

/* Compare two classes by their texts, for qsort_arg. */
static int
compare_classes(const void *a, const void *b, void *arg)
{
	const NwLabels *labels = arg;

	return nw_bytes_compare(labels->text[*(const int *) a], labels->text[*(const int *) b]);
}

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

Size
nw_labels_memory(const NwLabels *labels)
{
	return MemoryContextMemAllocated(labels->mcxt, true);
}

NwByteSet *
nw_byteset_create(MemoryContext mcxt, int expected)
{
	NwByteSet *set = MemoryContextAlloc(mcxt, sizeof(NwByteSet));

	set->hash = bytemap_create(mcxt, expected, NULL);
	return set;
}

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
