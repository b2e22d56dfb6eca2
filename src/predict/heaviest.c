/*
 * predict/heaviest.c
 *		Keep the heaviest supports of a query in a bounded heap.
 *
 * Equal scores are ordered by label and id, so that neither the order of rows
 * nor the place where the list is cut ever shows.
 */
#include "postgres.h"

#include "grow.h"
#include "predict/heaviest.h"

/* Make an empty list of at most so many supports. */
void
nw_heaviest_init(NwHeaviest *heaviest, int limit, const NwLabels *labels, MemoryContext mcxt)
{
	memset(heaviest, 0, sizeof(NwHeaviest));
	heaviest->limit = limit;
	heaviest->labels = labels;
	heaviest->mcxt = mcxt;
}

/* Look up an id that was left for later. */
static void
name_item(const NwHeaviest *heaviest, NwHeavy *item)
{
	if (item->unnamed)
	{
		MemoryContext old = MemoryContextSwitchTo(heaviest->mcxt);

		item->id = heaviest->namer(item, heaviest->namer_arg);
		item->unnamed = false;
		MemoryContextSwitchTo(old);
	}
}

/* Negative where a comes before b: heavier, or as heavy and named earlier. */
static int
compare_items(NwHeavy *a, NwHeavy *b, const NwHeaviest *heaviest)
{
	if (a->score != b->score)
		return a->score > b->score ? -1 : 1;
	if (a->class != b->class)
		return nw_bytes_compare(heaviest->labels->text[a->class], heaviest->labels->text[b->class]);
	name_item(heaviest, a);
	name_item(heaviest, b);
	if (a->id == NULL || b->id == NULL)
		return (a->id == NULL) - (b->id == NULL);
	return strcmp(a->id, b->id);
}

static int
compare_for_sort(const void *a, const void *b, void *arg)
{
	return compare_items(unconstify(void *, a), unconstify(void *, b), arg);
}

static void
swap_items(NwHeaviest *heaviest, int i, int j)
{
	NwHeavy item = heaviest->item[i];

	heaviest->item[i] = heaviest->item[j];
	heaviest->item[j] = item;
}

/* Let the last item rise to where it belongs. */
static void
sift_up(NwHeaviest *heaviest)
{
	int i = heaviest->n - 1;

	while (i > 0)
	{
		int parent = (i - 1) / 2;

		if (compare_items(&heaviest->item[i], &heaviest->item[parent], heaviest) <= 0)
			break;
		swap_items(heaviest, i, parent);
		i = parent;
	}
}

/* Let the item at the root sink to where it belongs. */
static void
sift_down(NwHeaviest *heaviest)
{
	int i = 0;

	for (;;)
	{
		int child = 2 * i + 1;

		if (child >= heaviest->n)
			break;
		if (child + 1 < heaviest->n &&
		    compare_items(&heaviest->item[child + 1], &heaviest->item[child], heaviest) > 0)
			child++;
		if (compare_items(&heaviest->item[child], &heaviest->item[i], heaviest) <= 0)
			break;
		swap_items(heaviest, i, child);
		i = child;
	}
}

/* Keep a copy of an item where it is among the heaviest so far. */
void
nw_heaviest_offer(NwHeaviest *heaviest, const NwHeavy *item)
{
	NwHeavy copy = *item;
	bool full = heaviest->n == heaviest->limit;

	if (full && compare_items(&copy, &heaviest->item[0], heaviest) >= 0)
	{
		if (copy.id != item->id)
			pfree(unconstify(char *, copy.id));
		return;
	}

	/* an id that was looked up is the list's own already */
	if (item->id)
		copy.id = MemoryContextStrdup(heaviest->mcxt, item->id);
	if (full)
	{
		if (heaviest->item[0].id)
			pfree(unconstify(char *, heaviest->item[0].id));
		heaviest->item[0] = copy;
		sift_down(heaviest);
		return;
	}
	NW_RESERVE(heaviest->mcxt, heaviest->item, heaviest->allocated, heaviest->n + 1);
	heaviest->item[heaviest->n++] = copy;
	sift_up(heaviest);
}

/* Put the heaviest first.  No more offers after that. */
void
nw_heaviest_sort(NwHeaviest *heaviest)
{
	if (heaviest->n > 1)
		qsort_arg(heaviest->item, heaviest->n, sizeof(NwHeavy), compare_for_sort, heaviest);
	for (int i = 0; i < heaviest->n; i++)
		name_item(heaviest, &heaviest->item[i]);
}
