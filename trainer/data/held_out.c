/*
 * data/held_out.c: images that are held out from training, and samples of those that are not.
 *
 * Choices are made class by class, and depend on a seed and the name of the class alone.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/message.h"
#include "base/random.h"
#include "data/dataset.h"
#include "data/held_out.h"
#include "data/open.h"

#define HELD_OUT_STREAM 0x68656c64
#define SAMPLE_STREAM 0x73616d70
#define LEAST_TO_TRAIN 2 /* a query, and a support of its class */

/* Open a source whose classes are among those of the training images, and number them alike. */
NwDataset *
nw_held_out_open(const NwDatasetOptions *options, const NwDataset *training)
{
	NwDataset *d = nw_dataset_open(options, true);
	const char *unknown = nw_dataset_use_classes(d, training);

	if (unknown != NULL)
		nw_fatal("\"%s\" has images of class \"%s\", which the training images do not have",
		         d->name, unknown);
	return d;
}

/* Mark `count` images of a class, drawn at random from its n. */
static void
mark(const NwDataset *d, int c, int64_t n, int64_t count, uint64_t seed, uint64_t stream,
     bool *marked)
{
	NwRandom r = nw_random(seed, stream, nw_hash(d->classes[c], strlen(d->classes[c])));

	/* one pass: each image is taken with the chance that the count still comes out */
	for (int64_t i = 0; i < d->n && count > 0; i++)
		if (d->label[i] == c)
		{
			marked[i] = nw_random_below(&r, (uint32_t) n--) < (uint64_t) count;
			count -= marked[i];
		}
}

/* Count the images of each class. */
static int64_t *
count_classes(const NwDataset *d)
{
	int64_t *n = nw_alloc0((size_t) d->n_classes * sizeof(int64_t));

	for (int64_t i = 0; i < d->n; i++)
		n[d->label[i]]++;
	return n;
}

/*
 * Take a share of each class out of a dataset, rounded to the nearest; every class keeps
 * what it takes to be trained.
 */
NwDataset *
nw_held_out_split(NwDataset *training, double share, uint64_t seed)
{
	int64_t *n = count_classes(training);
	bool *held = nw_alloc0((size_t) training->n);
	int64_t total = 0;
	NwDataset *d;

	for (int c = 0; c < training->n_classes; c++)
	{
		int64_t count = (int64_t) floor(share * (double) n[c] + 0.5);

		if (count > n[c] - LEAST_TO_TRAIN)
			count = n[c] - LEAST_TO_TRAIN;
		if (count > 0)
			mark(training, c, n[c], count, seed, HELD_OUT_STREAM, held);
		total += count > 0 ? count : 0;
	}
	if (total == 0)
		nw_fatal("--val-share %g holds out none of the %lld images: the classes are too small",
		         share, (long long) training->n);
	d = nw_dataset_split(training, held);
	free(held);
	free(n);
	return d;
}

/*
 * Draw at most so many images (0: all), always the same ones: of each class in proportion,
 * and at least one.
 */
int64_t *
nw_stratified_sample(const NwDataset *d, int64_t most, int64_t *n)
{
	int64_t *sample = nw_alloc((size_t) d->n * sizeof(int64_t));
	bool *taken = nw_alloc0((size_t) d->n);
	int64_t *size = count_classes(d);

	for (int c = 0; c < d->n_classes; c++)
	{
		int64_t count = size[c];

		if (most > 0 && d->n > most)
			count = (int64_t) ((double) size[c] * ((double) most / (double) d->n));
		if (count < 1)
			count = 1;
		if (size[c] > 0)
			mark(d, c, size[c], count, 0, SAMPLE_STREAM, taken);
	}
	*n = 0;
	for (int64_t i = 0; i < d->n; i++)
		if (taken[i])
			sample[(*n)++] = i;
	free(size);
	free(taken);
	return sample;
}
