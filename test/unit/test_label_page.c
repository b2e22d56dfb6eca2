/*
 * test_label_page.c
 *		Pages of labels: what is put on them is there, and no damage leads
 *		beyond them.
 */
#include <string.h>

#include "bytes/label_page.h"
#include "check.h"

#define SIZE 8160
#define FIRST 1000u

/* The length of label i, by a step from one to the next. */
static uint32_t
length(int i, int step)
{
	return (uint32_t) (i * step % 97);
}

/* Fill a page with labels. */
static int
fill(void *page, int step)
{
	for (int n = 0;; n++)
	{
		NwLabelItem *item = nw_label_page_add(page, SIZE, n, n % 3, length(n, step));

		if (item == NULL)
			return n;
		memset(item->image, 'a' + n % 26, item->len);
	}
}

/* What was put on a page is there. */
static void
check_filled(int step)
{
	void *page = check_alloc(SIZE);
	int n;

	nw_label_page_init(page, SIZE, FIRST);
	CHECK(nw_label_page_damage(page, SIZE) == NULL, "empty");
	CHECK(nw_label_page_get(page, SIZE, 0) == NULL, "empty");
	n = fill(page, step);
	CHECK(n > 50, "step %d: %d", step, n);
	for (int i = 0; i < n; i++)
	{
		const NwLabelItem *item = nw_label_page_get(page, SIZE, i);
		uint32_t nlists = (uint32_t) i % 3;
		char letter = (char) ('a' + i % 26);

		CHECK(item != NULL && item->class == FIRST + i, "%d", i);
		CHECK(item->first_list == (uint32_t) i, "%d", i);
		CHECK(item->nlists == nlists, "%d", i);
		CHECK(item->len == length(i, step), "%d", i);
		for (uint32_t k = 0; k < item->len; k++)
			CHECK(item->image[k] == letter, "%d", i);
	}
	CHECK(nw_label_page_damage(page, SIZE) == NULL, "full");
	CHECK(nw_label_page_get(page, SIZE, n) == NULL, "behind the last");
	free(page);
}

/* What does not fit is not taken. */
static void
check_limits(void)
{
	void *page = check_alloc(SIZE);

	nw_label_page_init(page, SIZE, FIRST);
	CHECK(nw_label_page_add(page, SIZE, 0, 0, SIZE) == NULL, "too long");
	CHECK(nw_label_page_add(page, SIZE, 0, 0, UINT32_MAX) == NULL, "too long");
	CHECK(nw_label_page_add(page, SIZE, 0, 0, SIZE - 32) != NULL, "just fits");
	CHECK(nw_label_page_add(page, SIZE, 0, 0, 0) == NULL, "no room");
	CHECK(nw_label_page_damage(page, SIZE) == NULL, "full");
	free(page);
}

/* Look at everything on a page, whatever it is; a sanitizer looks on. */
static int
look_around(void *page)
{
	int seen = 0;

	for (uint32_t i = 0; i < 70000; i += 1 + i / 8)
	{
		const NwLabelItem *item = nw_label_page_get(page, SIZE, i);

		if (item && item->len > 0)
			seen += item->image[item->len - 1] == 'a';
	}
	if (nw_label_page_add(page, SIZE, 1, 1, check_below(200)))
		seen++;
	return seen;
}

/* Damage leads nowhere, and most of it is found. */
static void
check_damage(void)
{
	unsigned char *page = check_alloc(SIZE);
	unsigned char *sound = check_alloc(SIZE);
	int found = 0;
	int head;

	nw_label_page_init(sound, SIZE, FIRST);
	head = 8 + 2 * fill(sound, 13);
	for (int round = 0; round < 10000; round++)
	{
		memcpy(page, sound, SIZE);
		page[check_below(head)] ^= (unsigned char) (1 + check_below(255));
		found += nw_label_page_damage(page, SIZE) != NULL;
		(void) look_around(page);
	}
	CHECK(found == 10000, "%d found", found);
	for (int round = 0; round < 2000; round++)
	{
		for (int i = 0; i < SIZE; i++)
			page[i] = (unsigned char) check_random();
		CHECK(nw_label_page_damage(page, SIZE) != NULL, "noise");
		(void) look_around(page);
	}
	free(page);
	free(sound);
}

int
main(void)
{
	check_start("label_page");
	for (int step = 0; step < 60; step += 7)
		check_filled(step);
	check_limits();
	check_damage();
	return check_finish();
}
