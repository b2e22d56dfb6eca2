/*
 * fuzz_tree_page.c
 *		Pages of the tree of labels: where a page is sane, nothing is read or
 *		written beyond it; where nothing is wrong with it, it answers right.
 *
 * options: -max_len=512
 */
#include <stdlib.h>
#include <string.h>

#include "bytes/tree_page.h"
#include "harness.h"

/* Compare the answers of a leaf with those of a plain search. */
static void
check_leaf(const NwTreePage *tree, uint64_t key)
{
	uint64_t above = UINT64_MAX;
	uint64_t below = 0;
	bool any_above = false;
	bool any_below = false;
	uint64_t found;

	for (int i = 0; i < tree->n; i++)
	{
		if (tree->key[i] >= key && (!any_above || tree->key[i] < above))
		{
			any_above = true;
			above = tree->key[i];
		}
		if (tree->key[i] <= key && (!any_below || tree->key[i] > below))
		{
			any_below = true;
			below = tree->key[i];
		}
	}
	if (nw_tree_page_ceiling(tree, key, &found) != any_above || (any_above && found != above))
		fuzz_broken("the least number not below");
	if (nw_tree_page_floor(tree, key, &found) != any_below || (any_below && found != below))
		fuzz_broken("the largest number not above");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FuzzInput in = {data, size};
	uint64_t key = fuzz_short(&in);
	NwTreePage *tree;
	NwTreePage *right;
	bool sound;
	int capacity;

	key = fuzz_byte(&in) & 1 ? key << 48 | key : key;
	in.size -= in.size % 8;
	if (in.size < sizeof(NwTreePage))
		return 0;
	tree = fuzz_copy(in);
	right = calloc(1, in.size);
	/* a checksum that fits: what is behind it has to be safe all the same */
	if (nw_tree_page_is_sane(tree, in.size))
		nw_tree_page_seal(tree, in.size);
	sound = nw_tree_page_damage(tree, in.size) == NULL;
	if (nw_tree_page_is_sane(tree, in.size))
	{
		bool leaf = tree->level == 0;

		capacity = nw_tree_page_capacity(in.size, tree->level);
		if (leaf)
		{
			check_leaf(tree, key);
			if (tree->n < capacity)
				nw_tree_page_add(tree, in.size, key);
			check_leaf(tree, key);
		}
		else
		{
			int child = nw_tree_page_choose(tree, key);

			fuzz_use(&nw_tree_page_children(tree, in.size)[child], sizeof(uint32_t));
			if (sound && child > 0 && tree->key[child] > key)
				fuzz_broken("a child has what is not less than its key");
			if (sound && child < tree->n - 1 && tree->key[child + 1] <= key)
				fuzz_broken("no later child has it");
			if (tree->n < capacity)
				nw_tree_page_add_child(tree, in.size, child, key, 7);
		}
		if (!nw_tree_page_is_sane(tree, in.size) || !nw_tree_page_is_sealed(tree, in.size))
			fuzz_broken("a page with one number more is sane");
		if (tree->n == capacity && tree->n > 1)
		{
			int n = tree->n;
			uint64_t least = nw_tree_page_split(tree, right, in.size);

			if (!nw_tree_page_is_sane(tree, in.size) || !nw_tree_page_is_sane(right, in.size) ||
			    tree->n + right->n != n || least != right->key[0])
				fuzz_broken("halves of a page are sane");
			for (int i = 0; leaf && i < tree->n; i++)
				if (tree->key[i] > least)
					fuzz_broken("the left half has what is less");
		}
	}
	free(tree);
	free(right);
	return 0;
}
