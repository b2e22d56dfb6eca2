/*
 * test_tree_page.c
 *		Trees of numbers, in memory, against a sorted array; and pages of noise.
 */
#include <string.h>

#include "bytes/tree_page.h"
#include "check.h"

/* Small pages make high trees of few numbers. */
#define SMALL 120
#define LARGE 8160
#define MAX_PAGES 20000

static size_t size;
static void *pages[MAX_PAGES];
static int npages;

/* Make an empty page. */
static uint32_t
new_page(void)
{
	pages[npages] = check_alloc(size);
	memset(pages[npages], 0, size);
	return (uint32_t) npages++;
}

/* Say whether a page has no room. */
static int
is_full(const NwTreePage *page)
{
	return page->n >= nw_tree_page_capacity(size, page->level);
}

/* Add a number, splitting from above what is full, as the index does. */
static void
add(uint64_t key)
{
	NwTreePage *page = pages[0];

	if (is_full(page))
	{
		uint32_t below = new_page();
		int level = page->level;

		memcpy(pages[below], page, size);
		memset(page, 0, size);
		page->level = (uint16_t) (level + 1);
		nw_tree_page_add_child(page, size, 0, 0, below);
	}
	while (page->level > 0)
	{
		int which = nw_tree_page_choose(page, key);
		NwTreePage *child = pages[nw_tree_page_children(page, size)[which]];

		if (is_full(child))
		{
			uint32_t right = new_page();
			uint64_t least = nw_tree_page_split(child, pages[right], size);

			nw_tree_page_add_child(page, size, which, least, right);
			continue;
		}
		page = child;
	}
	nw_tree_page_add(page, size, key);
}

/* Go down to a leaf. */
static const NwTreePage *
descend(uint64_t key, uint64_t *next, bool *has_next)
{
	NwTreePage *page = pages[0];

	*has_next = false;
	while (page->level > 0)
	{
		int which = nw_tree_page_choose(page, key);

		if (which + 1 < page->n)
		{
			*next = page->key[which + 1];
			*has_next = true;
		}
		page = pages[nw_tree_page_children(page, size)[which]];
	}
	return page;
}

/* Order numbers. */
static int
compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *) a;
	uint64_t y = *(const uint64_t *) b;

	return (x > y) - (x < y);
}

/* Compare what the tree finds with what a sorted array says. */
static void
check_find(const uint64_t *sorted, int n, uint64_t key)
{
	uint64_t next = 0;
	uint64_t found = 0;
	bool has_next;
	const NwTreePage *leaf = descend(key, &next, &has_next);
	bool any = nw_tree_page_ceiling(leaf, key, &found);
	int above = 0;

	if (!any && has_next)
	{
		found = next;
		any = true;
	}
	while (above < n && sorted[above] < key)
		above++;
	CHECK(any == (above < n), "%llu", (unsigned long long) key);
	CHECK(!any || found == sorted[above], "%llu", (unsigned long long) key);

	any = nw_tree_page_floor(leaf, key, &found);
	if (above == n || sorted[above] != key)
		above--;
	CHECK(any == (above >= 0), "%llu", (unsigned long long) key);
	CHECK(!any || found == sorted[above], "%llu", (unsigned long long) key);
}

/* Add numbers in some order; all are found, and nothing else. */
static void
check_tree(size_t page_size, int n, int order)
{
	uint64_t *sorted = check_alloc(sizeof(uint64_t) * n);

	size = page_size;
	(void) new_page();
	for (int i = 0; i < n; i++)
	{
		sorted[i] = order == 0   ? (uint64_t) i << 32 | check_below(1000)
		            : order == 1 ? (uint64_t) (n - i) * 3
		                         : check_random();
		add(sorted[i]);
	}
	qsort(sorted, n, sizeof(uint64_t), compare);
	for (int i = 0; i < npages; i++)
	{
		unsigned char *bytes = pages[i];
		int n = ((NwTreePage *) pages[i])->n;
		int at = check_below((int) (offsetof(NwTreePage, key) + n * sizeof(uint64_t)));

		CHECK(nw_tree_page_damage(bytes, size) == NULL, "page %d", i);
		bytes[at] ^= 1 << at % 8;
		CHECK(nw_tree_page_damage(bytes, size) != NULL, "page %d, byte %d", i, at);
		bytes[at] ^= 1 << at % 8;
	}
	for (int i = 0; i < 300; i++)
	{
		uint64_t key = sorted[check_below(n)];

		check_find(sorted, n, key);
		check_find(sorted, n, key + 1);
		check_find(sorted, n, key - 1);
		check_find(sorted, n, check_random());
	}
	check_find(sorted, n, 0);
	check_find(sorted, n, UINT64_MAX);
	while (npages > 0)
		free(pages[--npages]);
	free(sorted);
}

/* Pages of noise: what is sane can be looked at; a sanitizer looks on. */
static void
check_noise(void)
{
	unsigned char *page = check_alloc(LARGE);
	NwTreePage *tree = (NwTreePage *) page;
	int sane = 0;

	for (int round = 0; round < 2000; round++)
	{
		uint64_t found;

		for (int i = 0; i < LARGE; i++)
			page[i] = (unsigned char) check_random();
		CHECK(nw_tree_page_is_sane(page, LARGE) || nw_tree_page_damage(page, LARGE) != NULL,
		      "noise");
		tree->level = (uint16_t) check_below(10);
		tree->n = (uint16_t) check_below(1100);
		if (!nw_tree_page_is_sane(page, LARGE))
			continue;
		sane++;
		(void) nw_tree_page_ceiling(page, check_random(), &found);
		(void) nw_tree_page_floor(page, check_random(), &found);
		if (tree->level > 0)
		{
			int which = nw_tree_page_choose(page, check_random());

			CHECK(which >= 0 && which < tree->n, "%d of %d", which, tree->n);
			nw_tree_page_seal(page, LARGE);
			CHECK(nw_tree_page_damage(page, LARGE) != NULL || tree->n < 8, "keys are out of order");
		}
	}
	CHECK(sane > 500, "%d", sane);
	free(page);
}

int
main(void)
{
	check_start("tree_page");
	CHECK(nw_tree_page_capacity(LARGE, 0) > 1000, "leaf");
	CHECK(nw_tree_page_capacity(LARGE, 1) > 600, "above");
	for (int order = 0; order < 3; order++)
	{
		check_tree(SMALL, 1, order);
		check_tree(SMALL, 14, order);
		check_tree(SMALL, 15, order);
		check_tree(SMALL, 3000, order);
		check_tree(LARGE, 5000, order);
	}
	check_noise();
	return check_finish();
}
