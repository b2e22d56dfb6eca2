/*
 * bytes/label_page.c
 *		A page of labels of an nw index.
 *
 * Nothing on a page is taken for granted: whatever the bytes are, no function
 * here looks beyond them.
 */
#include "bytes/label_page.h"

#include <string.h>

/* Bytes that an item of a length takes. */
static size_t
item_size(size_t len)
{
	return (offsetof(NwLabelItem, image) + len + 3) & ~(size_t) 3;
}

/* Where the places of so many items end. */
static size_t
places_end(size_t n)
{
	return offsetof(NwLabelPage, place) + n * sizeof(uint16_t);
}

/* Make an empty page that begins with a class. */
void
nw_label_page_init(void *page, size_t size, uint32_t first_class)
{
	NwLabelPage *labels = page;

	memset(page, 0, size);
	labels->first_class = first_class;
	labels->lowest = (uint16_t) size;
}

/*
 * Make room for the next class; NULL where there is none.  All but the image and the
 * checksum is filled in.
 */
NwLabelItem *
nw_label_page_add(void *page, size_t size, uint32_t first_list, uint32_t nlists, uint32_t len)
{
	NwLabelPage *labels = page;
	NwLabelItem *item;
	size_t needed = item_size(len);

	if (len > size || labels->lowest > size || labels->lowest % 4 != 0 ||
	    places_end((size_t) labels->n + 1) + needed > labels->lowest)
		return NULL;
	labels->lowest -= (uint16_t) needed;
	labels->place[labels->n] = labels->lowest;
	item = (NwLabelItem *) ((char *) page + labels->lowest);
	memset(item, 0, needed);
	item->class = labels->first_class + labels->n++;
	item->first_list = first_list;
	item->nlists = nlists;
	item->len = len;
	return item;
}

/* The nth item of any page, or NULL where that would not lie on the page. */
const NwLabelItem *
nw_label_page_get(const void *page, size_t size, uint32_t nth)
{
	const NwLabelPage *labels = page;
	const NwLabelItem *item;
	size_t place;

	if (nth >= labels->n || places_end(labels->n) > size)
		return NULL;
	place = labels->place[nth];
	if (place % 4 != 0 || place < places_end(labels->n) ||
	    place + offsetof(NwLabelItem, image) > size)
		return NULL;
	item = (const NwLabelItem *) ((const char *) page + place);
	if (item->len > size - place - offsetof(NwLabelItem, image))
		return NULL;
	return item;
}

/* Say what is wrong with a page, checksums aside; NULL where nothing is. */
const char *
nw_label_page_damage(const void *page, size_t size)
{
	const NwLabelPage *labels = page;
	size_t end = size;

	if (places_end(labels->n) > size)
		return "has more labels than fit";
	for (uint32_t i = 0; i < labels->n; i++)
	{
		const NwLabelItem *item = nw_label_page_get(page, size, i);

		if (item == NULL || labels->place[i] + item_size(item->len) != end)
			return "has a label of a wrong length";
		if (item->class != labels->first_class + i)
			return "has a label of the wrong class";
		end = labels->place[i];
	}
	return labels->lowest != end ? "has labels where it says there are none" : NULL;
}
