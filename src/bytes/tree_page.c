/*
 * bytes/tree_page.c
 *		A page of a tree of numbers.
 *
 * nw_tree_page_is_sane() comes first; after it, no function here looks beyond
 * the page, whatever its bytes are.
 */
#include "bytes/tree_page.h"

#include <stdlib.h>
#include <string.h>

/* How many keys a page of a level holds. */
int
nw_tree_page_capacity(size_t size, int level)
{
	size_t each = sizeof(uint64_t) + (level > 0 ? sizeof(uint32_t) : 0);

	return (int) ((size - offsetof(NwTreePage, key)) / each);
}

/* The blocks of the children of a page above leaves. */
uint32_t *
nw_tree_page_children(void *page, size_t size)
{
	NwTreePage *tree = page;

	return (uint32_t *) (tree->key + nw_tree_page_capacity(size, 1));
}

/* Say whether a page can be looked at: its level and number of keys. */
bool
nw_tree_page_is_sane(const void *page, size_t size)
{
	const NwTreePage *tree = page;

	return tree->level < NW_TREE_LEVELS && tree->n <= nw_tree_page_capacity(size, tree->level) &&
	       (tree->level == 0 || tree->n > 0);
}

/* Spread a number over 64 bits, differently for each place. */
#define KEY(place) (0x9e3779b97f4a7c15u * (2 * (uint64_t) (place) + 1))

/* The checksum of a page; 0 for one without keys, as it comes from the disk. */
static uint32_t
checksum_of(const void *page, size_t size)
{
	const NwTreePage *tree = page;
	uint64_t sum = tree->level * KEY(5000) + tree->n * KEY(5001);

	for (int i = 0; i < tree->n; i++)
		sum += tree->key[i] * KEY(i);
	if (tree->level > 0)
	{
		const uint32_t *children = nw_tree_page_children((void *) page, size);

		for (int i = 0; i < tree->n; i++)
			sum += children[i] * KEY(10000 + i);
	}
	return (uint32_t) (sum >> 32);
}

/* Say whether a sane page has the checksum that it should have. */
bool
nw_tree_page_is_sealed(const void *page, size_t size)
{
	return ((const NwTreePage *) page)->checksum == checksum_of(page, size);
}

/* Give a page that was changed its checksum. */
void
nw_tree_page_seal(void *page, size_t size)
{
	((NwTreePage *) page)->checksum = checksum_of(page, size);
}

/* The child below which a number is, or would be. */
int
nw_tree_page_choose(const void *page, uint64_t key)
{
	const NwTreePage *tree = page;
	int low = 0;
	int high = tree->n - 1;

	while (low < high)
	{
		int middle = (low + high + 1) / 2;

		if (tree->key[middle] <= key)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* Find the least number of a leaf that is not below one; false for none. */
bool
nw_tree_page_ceiling(const void *page, uint64_t key, uint64_t *found)
{
	const NwTreePage *tree = page;
	uint64_t best = UINT64_MAX;
	bool any = false;

	for (int i = 0; i < tree->n; i++)
	{
		bool fits = tree->key[i] >= key;

		any |= fits;
		best = fits && tree->key[i] < best ? tree->key[i] : best;
	}
	*found = best;
	return any;
}

/* Find the largest number of a leaf that is not above one; false for none. */
bool
nw_tree_page_floor(const void *page, uint64_t key, uint64_t *found)
{
	const NwTreePage *tree = page;
	uint64_t best = 0;
	bool any = false;

	for (int i = 0; i < tree->n; i++)
	{
		bool fits = tree->key[i] <= key;

		any |= fits;
		best = fits && tree->key[i] > best ? tree->key[i] : best;
	}
	*found = best;
	return any;
}

/* Add a number to a leaf that is not full. */
void
nw_tree_page_add(void *page, size_t size, uint64_t key)
{
	NwTreePage *tree = page;

	tree->key[tree->n++] = key;
	nw_tree_page_seal(page, size);
}

/* Add a child behind one of a page that is not full, or the first one. */
void
nw_tree_page_add_child(void *page, size_t size, int behind, uint64_t key, uint32_t child)
{
	NwTreePage *tree = page;
	uint32_t *children = nw_tree_page_children(page, size);
	int at = tree->n == 0 ? 0 : behind + 1;

	memmove(tree->key + at + 1, tree->key + at, (tree->n - at) * sizeof(uint64_t));
	memmove(children + at + 1, children + at, (tree->n - at) * sizeof(uint32_t));
	tree->key[at] = key;
	children[at] = child;
	tree->n++;
	nw_tree_page_seal(page, size);
}

/* Order numbers, for qsort(). */
int
nw_tree_key_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *) a;
	uint64_t y = *(const uint64_t *) b;

	return (x > y) - (x < y);
}

/* Move the upper half of a page to an empty one; returns the least of it. */
uint64_t
nw_tree_page_split(void *page, void *right, size_t size)
{
	NwTreePage *tree = page;
	NwTreePage *other = right;
	int kept = tree->n / 2;

	if (tree->level == 0)
		qsort(tree->key, tree->n, sizeof(uint64_t), nw_tree_key_compare);
	other->level = tree->level;
	other->n = tree->n - kept;
	memcpy(other->key, tree->key + kept, other->n * sizeof(uint64_t));
	if (tree->level > 0)
		memcpy(nw_tree_page_children(right, size), nw_tree_page_children(page, size) + kept,
		       other->n * sizeof(uint32_t));
	tree->n = kept;
	nw_tree_page_seal(page, size);
	nw_tree_page_seal(right, size);
	return other->key[0];
}

/* Say what is wrong with a page; NULL where nothing is. */
const char *
nw_tree_page_damage(const void *page, size_t size)
{
	const NwTreePage *tree = page;

	if (!nw_tree_page_is_sane(page, size))
		return "has no proper level or number of keys";
	if (!nw_tree_page_is_sealed(page, size))
		return "has a wrong checksum";
	for (int i = 1; i < tree->n && tree->level > 0; i++)
	{
		if (tree->key[i] <= tree->key[i - 1])
			return "has keys out of order";
	}
	return NULL;
}
