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

/* Mark `wanted` images of each class, drawn at random from its n; both are used up. */
static void
mark(const NwDataset *d, int64_t *n, int64_t *wanted, uint64_t seed, uint64_t stream, bool *marked)
{
	NwRandom *r = nw_alloc((size_t) d->n_classes * sizeof(NwRandom));

	for (int c = 0; c < d->n_classes; c++)
		r[c] = nw_random(seed, stream, nw_hash(d->classes[c], strlen(d->classes[c])));
	/* one pass: each image is taken with the chance that the number still comes out */
	for (int64_t i = 0; i < d->n; i++)
	{
		int c = d->label[i];

		if (wanted[c] < 1)
			continue;
		marked[i] = nw_random_below(&r[c], (uint32_t) n[c]--) < (uint64_t) wanted[c];
		wanted[c] -= marked[i];
	}
	free(r);
}

/*
 * Take a share of each class out of a dataset, rounded to the nearest; every class keeps
 * what it takes to be trained.
 */
NwDataset *
nw_held_out_split(NwDataset *training, double share, uint64_t seed)
{
	int64_t *n = nw_dataset_count(training);
	int64_t *wanted = nw_alloc((size_t) training->n_classes * sizeof(int64_t));
	bool *held = nw_alloc0((size_t) training->n);
	int64_t total = 0;
	NwDataset *d;

	for (int c = 0; c < training->n_classes; c++)
	{
		wanted[c] = (int64_t) floor(share * (double) n[c] + 0.5);
		if (wanted[c] > n[c] - LEAST_TO_TRAIN)
			wanted[c] = n[c] - LEAST_TO_TRAIN;
		total += wanted[c] > 0 ? wanted[c] : 0;
	}
	if (total == 0)
		nw_fatal("--val-share %g holds out none of the %lld images: the classes are too small",
		         share, (long long) training->n);
	mark(training, n, wanted, seed, HELD_OUT_STREAM, held);
	d = nw_dataset_split(training, held);
	free(held);
	free(wanted);
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
	int64_t *size = nw_dataset_count(d);
	int64_t *wanted = nw_alloc((size_t) d->n_classes * sizeof(int64_t));

	for (int c = 0; c < d->n_classes; c++)
	{
		wanted[c] = most > 0 && d->n > most ? size[c] * most / d->n : size[c];
		if (wanted[c] < 1)
			wanted[c] = 1;
	}
	mark(d, size, wanted, 0, SAMPLE_STREAM, taken);
	*n = 0;
	for (int64_t i = 0; i < d->n; i++)
		if (taken[i])
			sample[(*n)++] = i;
	free(size);
	free(wanted);
	free(taken);
	return sample;
}
