/*
 * data/sampler.c: which images make up a training step.
 *
 * A step's choice depends on the seed and the step's number alone, so that a run
 * can go on from any step.  A query is never among its own supports, and its class
 * always is.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "base/message.h"
#include "base/random.h"
#include "base/text.h"
#include "data/batch_spec.h"
#include "data/dataset.h"
#include "data/sampler.h"

#define STREAM_SAMPLER 1
#define STREAM_EPOCH 2
#define MOST_SHARED 512 /* supports of a step, unless more are asked for */

/* Return how many of a class's images may be supports of a shared set: one is left to ask about. */
static int64_t
spare(int64_t images)
{
	return images > 1 ? images - 1 : images;
}

static int64_t
capacity(const NwSampler *s, int c)
{
	return spare(s->n_members[c]);
}

/*
 * Return the usual number of shared supports: two of each class, but at least so many, at
 * most MOST_SHARED, and no more than the images allow.
 */
int
nw_usual_shared_supports(const NwDataset *dataset, int least)
{
	int64_t *n = nw_dataset_count(dataset);
	int64_t wanted = 2 * (int64_t) dataset->n_classes;
	int64_t room = 0;

	for (int c = 0; c < dataset->n_classes; c++)
		room += spare(n[c]);
	free(n);
	wanted = wanted < least ? least : wanted > MOST_SHARED ? MOST_SHARED : wanted;
	return (int) (wanted < room ? wanted : room);
}

static void
check_enough(const NwSampler *s)
{
	int64_t room = 0;

	if (s->dataset->n_classes < 2)
		nw_fatal("\"%s\" has only one class (\"%s\"): at least two are needed to train",
		         s->dataset->name, s->dataset->classes[0]);
	if (s->spec.supports == 0)
		return;
	if (s->n_able == 0)
		nw_fatal(
			"\"%s\" has no class with two images: a query needs another image of its class as support",
			s->dataset->name);
	for (int c = 0; c < s->dataset->n_classes; c++)
		room += capacity(s, c);
	if (s->spec.shared ? room < s->spec.supports : s->dataset->n < s->spec.supports + 1)
		nw_fatal("\"%s\" has %lld images, fewer than the %d supports asked for need",
		         s->dataset->name, (long long) s->dataset->n, s->spec.supports);
}

NwSampler *
nw_sampler_new(const NwDataset *dataset, const NwBatchSpec *spec, double smoothing, uint64_t seed)
{
	NwSampler *s = nw_alloc0(sizeof(NwSampler));
	size_t classes = (size_t) dataset->n_classes;
	int64_t *listed = nw_alloc0(classes * sizeof(int64_t));

	s->dataset = dataset;
	s->spec = *spec;
	s->seed = seed;
	s->smoothing = smoothing;
	s->member = nw_alloc0(classes * sizeof(int64_t *));
	s->n_members = nw_dataset_count(dataset);
	s->able = nw_alloc((size_t) dataset->n * sizeof(int64_t));
	for (size_t c = 0; c < classes; c++)
		s->member[c] = nw_alloc((size_t) s->n_members[c] * sizeof(int64_t));
	for (int64_t i = 0; i < dataset->n; i++)
		s->member[dataset->label[i]][listed[dataset->label[i]]++] = i;
	free(listed);
	for (int64_t i = 0; i < dataset->n; i++)
		if (s->n_members[dataset->label[i]] > 1)
			s->able[s->n_able++] = i;
	check_enough(s);
	return s;
}

void
nw_sampler_free(NwSampler *s)
{
	for (int c = 0; c < s->dataset->n_classes; c++)
		free(s->member[c]);
	free(s->member);
	free(s->n_members);
	free(s->able);
	free(s);
}

void
nw_choice_init(NwChoice *c, const NwBatchSpec *spec)
{
	size_t sets = spec->shared ? 1 : (size_t) spec->queries;

	c->image = nw_alloc((size_t) nw_batch_images(spec) * sizeof(int64_t));
	c->targets = nw_alloc((size_t) spec->queries * (size_t) spec->slots * sizeof(float));
	c->truth = nw_alloc((size_t) spec->queries * sizeof(int));
	c->member =
		spec->supports > 0
			? nw_alloc(sets * (size_t) spec->supports * (size_t) spec->slots * sizeof(float))
			: NULL;
}

void
nw_choice_free(NwChoice *c)
{
	free(c->image);
	free(c->targets);
	free(c->truth);
	free(c->member);
}

/* Put the first n of an array of numbers into random order, drawn from all `total`. */
static void
shuffle(NwRandom *r, int *v, int n, int total)
{
	for (int i = 0; i < n && i < total; i++)
	{
		int j = i + (int) nw_random_below(r, (uint32_t) (total - i));
		int t = v[j];

		v[j] = v[i];
		v[i] = t;
	}
}

static bool
contains(const int64_t *list, int n, int64_t value)
{
	for (int i = 0; i < n; i++)
		if (list[i] == value)
			return true;
	return false;
}

/*
 * Draw an image of a class that is not `but` and, while the class has others, not
 * among the n already drawn.
 */
static int64_t
draw_member(const NwSampler *s, NwRandom *r, int c, int64_t but, const int64_t *drawn, int n)
{
	int64_t size = s->n_members[c];
	int64_t start = nw_random_below(r, (uint32_t) size);
	int64_t repeat = -1;

	for (int64_t i = 0; i < size; i++)
	{
		int64_t image = s->member[c][(start + i) % size];

		if (image == but)
			continue;
		if (!contains(drawn, n, image))
			return image;
		if (repeat < 0)
			repeat = image;
	}
	return repeat;
}

/* Write a query's target: its class gets all but the smoothing, which is spread evenly. */
static void
set_target(const NwSampler *s, float *row, int slots_present, int truth)
{
	double share = s->smoothing / s->dataset->n_classes;

	for (int i = 0; i < s->spec.slots; i++)
		row[i] = (float) (i < slots_present ? share : 0);
	row[truth] += (float) (1 - s->smoothing);
}

/* Draw a query's own supports: its class and others, all different, evenly filled. */
static void
draw_distinct(const NwSampler *s, NwRandom *r, int q, int *classes, NwChoice *c)
{
	int ns = s->spec.supports;
	int slots = s->spec.slots;
	int own = s->dataset->label[c->image[q]];
	int64_t *support = c->image + s->spec.queries + (int64_t) q * ns;
	float *member = c->member + (size_t) q * (size_t) ns * (size_t) slots;
	int n_classes = s->dataset->n_classes;

	for (int i = 0; i < n_classes; i++)
		classes[i] = i;
	classes[own] = 0; /* the query's class takes the first slot */
	classes[0] = own;
	shuffle(r, classes + 1, slots - 1, n_classes - 1);
	for (int i = 0; i < ns; i++)
	{
		int slot = i % slots;

		support[i] = draw_member(s, r, classes[slot], slot == 0 ? c->image[q] : -1, support, i);
		for (int k = 0; k < slots; k++)
			member[i * slots + k] = k == slot ? 0 : NW_NOT_A_MEMBER;
	}
	c->truth[q] = 0;
	set_target(s, c->targets + (size_t) q * (size_t) slots, slots, 0);
}

/* Say whether a query can be asked: its class among the supports, itself not. */
static bool
askable(const NwSampler *s, int64_t image, const int *slot_of, const int64_t *support)
{
	return slot_of == NULL ||
	       (slot_of[s->dataset->label[image]] >= 0 && !contains(support, s->spec.supports, image));
}

/*
 * Draw queries, without repeats as far as there are enough images; with a shared
 * support set (slot_of[class] is its slot or -1) only such as fit it.  False where
 * there is none.
 */
static bool
draw_queries(const NwSampler *s, NwRandom *r, const int *slot_of, const int64_t *support,
             NwChoice *c)
{
	for (int q = 0; q < s->spec.queries; q++)
	{
		int64_t image = -1;

		for (int tries = 0; tries < 1000 && image < 0; tries++)
		{
			int64_t drawn = s->able[nw_random_below(r, (uint32_t) s->n_able)];

			if (askable(s, drawn, slot_of, support) &&
			    (tries > 100 || !contains(c->image, q, drawn)))
				image = drawn;
		}
		for (int64_t i = 0; i < s->n_able && image < 0; i++)
			if (askable(s, s->able[i], slot_of, support))
				image = s->able[i];
		if (image < 0)
			return false;
		c->image[q] = image;
	}
	return true;
}

/* Draw one support set for all queries, evenly over the classes, then queries about it. */
static bool
draw_shared(const NwSampler *s, NwRandom *r, int *classes, NwChoice *c)
{
	int ns = s->spec.supports;
	int slots = s->spec.slots;
	int n_classes = s->dataset->n_classes;
	int64_t *support = c->image + s->spec.queries;
	int *slot_of = nw_alloc((size_t) n_classes * sizeof(int));
	int *taken = nw_alloc0((size_t) n_classes * sizeof(int));
	int present = 0;
	int n = 0;
	bool found;

	for (int i = 0; i < n_classes; i++)
	{
		classes[i] = i;
		slot_of[i] = -1;
	}
	shuffle(r, classes, n_classes, n_classes);
	while (n < ns) /* one of each class, then a second of each, and so on */
		for (int i = 0; i < n_classes && n < ns; i++)
		{
			int k = classes[i];

			if (taken[k] >= capacity(s, k))
				continue;
			if (slot_of[k] < 0)
				slot_of[k] = present++;
			support[n] = draw_member(s, r, k, -1, support, n);
			for (int j = 0; j < slots; j++)
				c->member[n * slots + j] = j == slot_of[k] ? 0 : NW_NOT_A_MEMBER;
			taken[k]++;
			n++;
		}
	found = draw_queries(s, r, slot_of, support, c);
	for (int q = 0; q < s->spec.queries && found; q++)
	{
		c->truth[q] = slot_of[s->dataset->label[c->image[q]]];
		set_target(s, c->targets + (size_t) q * (size_t) slots, present, c->truth[q]);
	}
	free(slot_of);
	free(taken);
	return found;
}

/*
 * Return place `at` of a random order of [0, n) that needs no memory: a Feistel
 * network permutes [0, 4^bits), and is walked until it is back within [0, n).
 */
static uint64_t
permute(uint64_t at, uint64_t n, NwRandom order)
{
	uint64_t key[4];
	int bits = 1;
	uint64_t half;

	for (int i = 0; i < 4; i++)
		key[i] = nw_random_next(&order);
	while (((uint64_t) 1 << (2 * bits)) < n)
		bits++;
	half = ((uint64_t) 1 << bits) - 1;
	do
		for (int round = 0; round < 4; round++)
		{
			uint64_t left = at >> bits;
			uint64_t right = at & half;
			NwRandom f = nw_random(key[round], right, 0);

			at = right << bits | (left ^ (nw_random_next(&f) & half));
		}
	while (at >= n);
	return at;
}

/* Draw a batch for the FC head: epoch by epoch through all images; every class is a slot. */
static void
draw_plain(const NwSampler *s, int64_t step, NwChoice *c)
{
	uint64_t n = (uint64_t) s->dataset->n;

	for (int q = 0; q < s->spec.queries; q++)
	{
		uint64_t at = (uint64_t) step * (uint64_t) s->spec.queries + (uint64_t) q;
		uint64_t image = permute(at % n, n, nw_random(s->seed, STREAM_EPOCH, at / n));

		c->image[q] = (int64_t) image;
		c->truth[q] = s->dataset->label[image];
		set_target(s, c->targets + (size_t) q * (size_t) s->spec.slots, s->spec.slots, c->truth[q]);
	}
}

/* Choose the images of a step; why that is not possible (to be freed), else NULL. */
char *
nw_sampler_draw(const NwSampler *s, int64_t step, NwChoice *c)
{
	NwRandom r = nw_random(s->seed, STREAM_SAMPLER, (uint64_t) step);
	int *classes;
	bool found = true;

	if (s->spec.supports == 0)
	{
		draw_plain(s, step, c);
		return NULL;
	}
	classes = nw_alloc((size_t) s->dataset->n_classes * sizeof(int));
	if (s->spec.shared)
		found = draw_shared(s, &r, classes, c);
	else
	{
		draw_queries(s, &r, NULL, NULL, c);
		for (int q = 0; q < s->spec.queries; q++)
			draw_distinct(s, &r, q, classes, c);
	}
	free(classes);
	return found ? NULL
	             : nw_printf("\"%s\": the supports leave no image to ask about", s->dataset->name);
}
