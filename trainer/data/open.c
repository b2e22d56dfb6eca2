/*
 * data/open.c: the dataset that the command line names.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/message.h"
#include "base/random.h"
#include "base/text.h"
#include "data/dataset.h"
#include "data/folder.h"
#include "data/idx.h"
#include "data/image.h"
#include "data/known.h"
#include "data/open.h"
#include "data/table.h"

#define SUBSET_STREAM 0x73756273

/* Keep at most so many images of each class, drawn by the seed, in their order. */
static void
take_subset(NwDataset *d, int per_class, uint64_t seed)
{
	int64_t *member = nw_alloc((size_t) d->n * sizeof(int64_t));
	bool *keep = nw_alloc0((size_t) d->n);

	for (int c = 0; c < d->n_classes; c++)
	{
		NwRandom r = nw_random(seed, SUBSET_STREAM, nw_hash(d->classes[c], strlen(d->classes[c])));
		int64_t n = 0;

		for (int64_t i = 0; i < d->n; i++)
			if (d->label[i] == c)
				member[n++] = i;
		for (int64_t i = 0; i < n && i < per_class; i++)
		{
			int64_t j = i + nw_random_below(&r, (uint32_t) (n - i));
			int64_t t = member[j];

			member[j] = member[i];
			member[i] = t;
			keep[t] = true;
		}
	}
	nw_dataset_keep(d, keep);
	free(keep);
	free(member);
}

/* Check that there is something to learn from. */
static void
check_labelled(const NwDataset *d, const NwDatasetOptions *options)
{
	if (d->n == 0 && options->folder)
		nw_fatal("folder \"%s\" holds no JPEG or PNG images", d->name);
	if (d->n == 0)
		nw_fatal("\"%s\" holds no images", d->name);
	for (int64_t i = 0; i < d->n; i++)
		if (d->label[i] < 0)
			nw_fatal("\"%s\"%s%s has no class: put it into a folder named after one", d->name,
			         d->path ? "/" : "", d->path ? d->path[i] : "");
}

/* Learn from the first image what kind they are. */
static void
learn_kind(NwDataset *d)
{
	NwImage image;
	char *why = nw_dataset_image(d, 0, 3, 1 << 20, &image);

	if (why != NULL)
		nw_fatal("%s", why);
	d->channels = 3;
	d->height = image.height;
	d->width = image.width;
	nw_image_free(&image);
}

/* Open a dataset; one to train with has images, each with a class. */
NwDataset *
nw_dataset_open(const NwDatasetOptions *options, bool training)
{
	NwDataset *d = options->idx_images ? nw_idx_open(options)
	               : options->folder   ? nw_folder_open(options)
	                                   : nw_table_open(options);

	if (options->known && !options->table)
		nw_known_leave_out(d, options);
	if (training)
		check_labelled(d, options);
	if (options->per_class > 0)
		take_subset(d, options->per_class, options->subset_seed);
	if (training && d->pixels == NULL)
		learn_kind(d);
	return d;
}
