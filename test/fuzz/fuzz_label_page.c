/*
 * fuzz_label_page.c
 *		Pages of labels of an nw index: whatever the bytes are, nothing is read
 *		or written beyond them, and adding to a sound page leaves it sound.
 *
 * options: -max_len=512
 */
#include <stdlib.h>
#include <string.h>

#include "bytes/label_page.h"
#include "harness.h"

#define MOST 300 /* items that a page of the inputs' size could hold, and more */

/* Read every item that can be got. */
static void
read_items(const void *page, size_t size, bool sound)
{
	uint32_t n = ((const NwLabelPage *) page)->n;

	for (uint32_t i = 0; i <= n && i <= MOST; i++)
	{
		const NwLabelItem *item = nw_label_page_get(page, size, i);

		if (item == NULL && sound && i < n)
			fuzz_broken("a sound page has all its items");
		if (item != NULL)
			fuzz_use(item, sizeof(NwLabelItem) + item->len);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FuzzInput in = {data, size};
	uint16_t len = fuzz_short(&in);
	void *page;
	bool sound;
	NwLabelItem *item;

	in.size -= in.size % 8;
	if (in.size < sizeof(NwLabelPage))
		return 0;
	page = fuzz_copy(in);
	sound = nw_label_page_damage(page, in.size) == NULL;
	read_items(page, in.size, sound);
	item = nw_label_page_add(page, in.size, 1, 2, len);
	if (item != NULL)
	{
		memset(item->image, 'x', len);
		read_items(page, in.size, sound);
		if (sound && nw_label_page_damage(page, in.size) != NULL)
			fuzz_broken("a sound page with one label more is sound");
		if (sound && nw_label_page_get(page, in.size, ((NwLabelPage *) page)->n - 1u) != item)
			fuzz_broken("a label that was added can be got");
	}
	free(page);
	return 0;
}
