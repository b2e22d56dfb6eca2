/*
 * index/number_tree.c
 *		Trees of 64-bit numbers on the pages of an nw index.
 *
 * Two of them find classes: see label_lookup.c.  A tree never moves: its root
 * stays where the meta page says.
 *
 * Readers hold the lock of a page until they have that of its child, so that no
 * split comes in between.  Only one backend at a time adds numbers.  It splits
 * what is full on its way down, so that a page above always has room for one
 * more child: each split is one WAL record of a page, its new neighbour and the
 * page above, in that order from above that readers take locks in, and the tree
 * is whole after each.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "bytes/tree_page.h"
#include "index/damage.h"
#include "index/number_tree.h"
#include "index/page.h"

/* Of a leaf that is built, so much is filled: numbers will be added anywhere. */
#define BUILD_FILL 0.75

#define PageGetTree(page) ((NwTreePage *) PageGetContents(page))

/* Read and lock a page of a level; -1 for any level, that of the root. */
static Buffer
read_node(Relation index, BlockNumber block, int level, int lock)
{
	Buffer buffer = nw_page_read(index, block, NW_PAGE_TREE, lock);
	const NwTreePage *tree = PageGetTree(BufferGetPage(buffer));

	if (!nw_tree_page_is_sane(tree, NW_PAGE_ROOM) || !nw_tree_page_is_sealed(tree, NW_PAGE_ROOM) ||
	    (level >= 0 && tree->level != level))
		nw_report_damaged_tree(index, block);
	return buffer;
}

/* The block of a child of a page that is locked. */
static BlockNumber
child_block(Relation index, Buffer buffer, int which)
{
	NwTreePage *tree = PageGetTree(BufferGetPage(buffer));
	BlockNumber block = nw_tree_page_children(tree, NW_PAGE_ROOM)[which];

	/* one that leads to itself would have us wait for ourselves */
	if (!BlockNumberIsValid(block) || block == BufferGetBlockNumber(buffer))
		nw_report_damaged_tree(index, BufferGetBlockNumber(buffer));
	return block;
}

/*
 * Go down to the leaf of a number; it comes back locked.  Tells the least number
 * of the leaf behind it, where there is one: its key in a page above.
 */
static Buffer
descend(Relation index, BlockNumber root, uint64 key, uint64 *next, bool *has_next)
{
	Buffer buffer = read_node(index, root, -1, BUFFER_LOCK_SHARE);

	*has_next = false;
	for (;;)
	{
		const NwTreePage *tree = PageGetTree(BufferGetPage(buffer));
		Buffer child;
		int which;

		if (tree->level == 0)
			return buffer;
		which = nw_tree_page_choose(tree, key);
		if (which + 1 < tree->n)
		{
			*next = tree->key[which + 1];
			*has_next = true;
		}
		child =
			read_node(index, child_block(index, buffer, which), tree->level - 1, BUFFER_LOCK_SHARE);
		UnlockReleaseBuffer(buffer);
		buffer = child;
	}
}

/* Find the least number that is not below one; false for none. */
bool
nw_tree_ceiling(Relation index, BlockNumber root, uint64 key, uint64 *found)
{
	uint64 next = 0;
	bool has_next;
	Buffer leaf = descend(index, root, key, &next, &has_next);
	bool any = nw_tree_page_ceiling(PageGetTree(BufferGetPage(leaf)), key, found);

	if (!any && has_next)
	{
		*found = next;
		any = true;
	}
	if (any && *found < key)
		nw_report_damaged_tree(index, BufferGetBlockNumber(leaf));
	UnlockReleaseBuffer(leaf);
	return any;
}

/* Find the largest number that is not above one; false for none. */
bool
nw_tree_floor(Relation index, BlockNumber root, uint64 key, uint64 *found)
{
	uint64 next = 0;
	bool has_next;
	Buffer leaf = descend(index, root, key, &next, &has_next);
	bool any = nw_tree_page_floor(PageGetTree(BufferGetPage(leaf)), key, found);

	UnlockReleaseBuffer(leaf);
	return any;
}

/* ---- adding ---- */

/* Say whether a page has no room. */
static bool
is_full(Buffer buffer)
{
	const NwTreePage *tree = PageGetTree(BufferGetPage(buffer));

	return tree->n >= nw_tree_page_capacity(NW_PAGE_ROOM, tree->level);
}

/* Move what the root has to a page below it.  The root is locked. */
static void
grow_root(Relation index, Buffer root)
{
	Buffer below = nw_page_extend(index, MAIN_FORKNUM);
	GenericXLogState *state = GenericXLogStart(index);
	Page root_page = GenericXLogRegisterBuffer(state, root, 0);
	Page page = GenericXLogRegisterBuffer(state, below, GENERIC_XLOG_FULL_IMAGE);
	NwTreePage *tree = PageGetTree(root_page);
	int level = tree->level;

	nw_page_init(page, NW_PAGE_TREE);
	memcpy(PageGetContents(page), tree, NW_PAGE_ROOM);
	memset(tree, 0, NW_PAGE_ROOM);
	tree->level = level + 1;
	nw_tree_page_add_child(tree, NW_PAGE_ROOM, 0, 0, BufferGetBlockNumber(below));
	GenericXLogFinish(state);
	UnlockReleaseBuffer(below);
}

/* Split a child of a page.  Both are locked, and the page has room. */
static void
split_child(Relation index, Buffer parent, int which, Buffer child)
{
	Buffer right = nw_page_extend(index, MAIN_FORKNUM);
	GenericXLogState *state = GenericXLogStart(index);
	Page parent_page = GenericXLogRegisterBuffer(state, parent, 0);
	Page child_page = GenericXLogRegisterBuffer(state, child, 0);
	Page right_page = GenericXLogRegisterBuffer(state, right, GENERIC_XLOG_FULL_IMAGE);
	uint64 least;

	nw_page_init(right_page, NW_PAGE_TREE);
	least =
		nw_tree_page_split(PageGetContents(child_page), PageGetContents(right_page), NW_PAGE_ROOM);
	nw_tree_page_add_child(PageGetContents(parent_page), NW_PAGE_ROOM, which, least,
	                       BufferGetBlockNumber(right));
	GenericXLogFinish(state);
	UnlockReleaseBuffer(right);
}

/* Exchange one kind of lock for another; nobody else adds anything meanwhile. */
static void
relock(Buffer buffer, int lock)
{
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	LockBuffer(buffer, lock);
}

/*
 * Make room for a number that is not there yet, and return its leaf, locked
 * exclusively.  Only one backend at a time may do so.
 */
Buffer
nw_tree_make_room(Relation index, BlockNumber root, uint64 key)
{
	Buffer buffer = read_node(index, root, -1, BUFFER_LOCK_SHARE);
	int level = PageGetTree(BufferGetPage(buffer))->level;

	if (level == 0 || is_full(buffer))
		relock(buffer, BUFFER_LOCK_EXCLUSIVE);
	if (is_full(buffer))
	{
		if (level + 1 >= NW_TREE_LEVELS)
			nw_report_damaged_tree(index, root);
		grow_root(index, buffer);
		level++;
	}
	while (level > 0)
	{
		int which = nw_tree_page_choose(PageGetTree(BufferGetPage(buffer)), key);
		BlockNumber block = child_block(index, buffer, which);
		Buffer child;

		LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
		child = read_node(index, block, level - 1,
		                  level > 1 ? BUFFER_LOCK_SHARE : BUFFER_LOCK_EXCLUSIVE);
		if (!is_full(child))
		{
			ReleaseBuffer(buffer);
			buffer = child;
			level--;
			continue;
		}
		LockBuffer(child, BUFFER_LOCK_UNLOCK);
		LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
		LockBuffer(child, BUFFER_LOCK_EXCLUSIVE);
		split_child(index, buffer, which, child);
		UnlockReleaseBuffer(child);
		relock(buffer, BUFFER_LOCK_SHARE);
	}
	return buffer;
}

/* ---- building ---- */

/* The pages of one level while a tree is built. */
typedef struct Level
{
	int64 n;
	uint64 *key;        /* [n] the least number of each */
	BlockNumber *block; /* [n] */
} Level;

/* Fill a page with numbers, or with pages of the level below. */
static void
fill_node(Buffer buffer, int level, const uint64 *key, const BlockNumber *block, int n)
{
	NwTreePage *tree = PageGetTree(BufferGetPage(buffer));

	nw_page_init(BufferGetPage(buffer), NW_PAGE_TREE);
	tree->level = level;
	tree->n = n;
	if (n > 0)
		memcpy(tree->key, key, n * sizeof(uint64));
	if (level > 0)
		memcpy(nw_tree_page_children(tree, NW_PAGE_ROOM), block, n * sizeof(BlockNumber));
	nw_tree_page_seal(tree, NW_PAGE_ROOM);
	MarkBufferDirty(buffer);
	UnlockReleaseBuffer(buffer);
}

/* Fill a tree that is empty with sorted numbers, without writing to the log. */
void
nw_tree_load(Relation index, BlockNumber root, const uint64 *key, int64 n)
{
	Level below = {n, unconstify(uint64 *, key), NULL};
	int level = 0;
	Buffer buffer;

	for (;;)
	{
		int most = (int) (nw_tree_page_capacity(NW_PAGE_ROOM, level) * BUILD_FILL);
		Level above = {0};

		if (below.n <= most)
			break;
		above.n = (below.n + most - 1) / most;
		above.key = palloc_extended(above.n * sizeof(uint64), MCXT_ALLOC_HUGE);
		above.block = palloc_extended(above.n * sizeof(BlockNumber), MCXT_ALLOC_HUGE);
		for (int64 i = 0; i < above.n; i++)
		{
			int64 first = i * most;

			buffer = nw_page_extend(index, MAIN_FORKNUM);
			above.key[i] = below.key[first];
			above.block[i] = BufferGetBlockNumber(buffer);
			fill_node(buffer, level, below.key + first, level > 0 ? below.block + first : NULL,
			          (int) Min(most, below.n - first));
			CHECK_FOR_INTERRUPTS();
		}
		if (level > 0)
		{
			pfree(below.key);
			pfree(below.block);
		}
		below = above;
		level++;
	}
	buffer = ReadBuffer(index, root);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	fill_node(buffer, level, below.key, below.block, (int) below.n);
}
