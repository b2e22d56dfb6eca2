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

void
nw_heaviest_init(NwHeaviest *top, int limit, const NwLabels *labels, MemoryContext mcxt)
{
	memset(top, 0, sizeof(NwHeaviest));
	top->limit = limit;
	top->labels = labels;
	top->mcxt = mcxt;
}

/* Look up an id that was left for later. */
static void
name_item(const NwHeaviest *top, NwHeavy *item)
{
	if (item->unnamed)
	{
		MemoryContext old = MemoryContextSwitchTo(top->mcxt);

		item->id = top->namer(item, top->namer_arg);
		item->unnamed = false;
		MemoryContextSwitchTo(old);
	}
}

/* Negative where a comes before b: heavier, or as heavy and named earlier. */
static int
compare_items(NwHeavy *a, NwHeavy *b, const NwHeaviest *top)
{
	if (a->score != b->score)
		return a->score > b->score ? -1 : 1;
	if (a->class != b->class)
		return nw_bytes_compare(top->labels->text[a->class], top->labels->text[b->class]);
	name_item(top, a);
	name_item(top, b);
	if (a->id == NULL || b->id == NULL)
		return (a->id == NULL) - (b->id == NULL);
	return strcmp(a->id, b->id);
}

/* Compare items for qsort_arg. */
static int
compare_for_sort(const void *a, const void *b, void *arg)
{
	return compare_items(unconstify(void *, a), unconstify(void *, b), arg);
}

/* Exchange two items of the heap. */
static void
swap_items(NwHeaviest *top, int i, int j)
{
	NwHeavy item = top->item[i];

	top->item[i] = top->item[j];
	top->item[j] = item;
}

/* Let the last item rise to where it belongs. */
static void
sift_up(NwHeaviest *top)
{
	int i = top->n - 1;

	while (i > 0)
	{
		int parent = (i - 1) / 2;

		if (compare_items(&top->item[i], &top->item[parent], top) <= 0)
			break;
		swap_items(top, i, parent);
		i = parent;
	}
}

/* Let the item at the root sink to where it belongs. */
static void
sift_down(NwHeaviest *top)
{
	int i = 0;

	for (;;)
	{
		int child = 2 * i + 1;

		if (child >= top->n)
			break;
		if (child + 1 < top->n && compare_items(&top->item[child + 1], &top->item[child], top) > 0)
			child++;
		if (compare_items(&top->item[child], &top->item[i], top) <= 0)
			break;
		swap_items(top, i, child);
		i = child;
	}
}

void
nw_heaviest_offer(NwHeaviest *top, const NwHeavy *item)
{
	NwHeavy copy = *item;
	bool full = top->n == top->limit;

	if (full && compare_items(&copy, &top->item[0], top) >= 0)
	{
		if (copy.id != item->id)
			pfree(unconstify(char *, copy.id));
		return;
	}

	/* an id that was looked up is the list's own already */
	if (item->id)
		copy.id = MemoryContextStrdup(top->mcxt, item->id);
	if (full)
	{
		if (top->item[0].id)
			pfree(unconstify(char *, top->item[0].id));
		top->item[0] = copy;
		sift_down(top);
		return;
	}
	NW_RESERVE(top->mcxt, top->item, top->allocated, top->n + 1);
	top->item[top->n++] = copy;
	sift_up(top);
}

void
nw_heaviest_sort(NwHeaviest *top)
{
	if (top->n > 1)
		qsort_arg(top->item, top->n, sizeof(NwHeavy), compare_for_sort, top);
	for (int i = 0; i < top->n; i++)
		name_item(top, &top->item[i]);
}
