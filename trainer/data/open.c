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
#include "data/open.h"
#include "data/table.h"

#define SUBSET_STREAM 0x73756273

/* Make image `from` number `to`; what was there takes its place. */
static void
move_image(NwDataset *d, int64_t to, int64_t from)
{
	d->label[to] = d->label[from];
	if (d->place)
		d->place[to] = d->place[from];
	if (d->path)
	{
		char *t = d->path[to];

		d->path[to] = d->path[from];
		d->path[from] = t;
	}
	if (d->blob)
	{
		NwBuf blob = d->blob[to];
		NwBuf id = d->id[to];

		d->blob[to] = d->blob[from];
		d->blob[from] = blob;
		d->id[to] = d->id[from];
		d->id[from] = id;
	}
}

/* Keep at most so many images of each class, drawn by the seed, in their order. */
static void
take_subset(NwDataset *d, int per_class, uint64_t seed)
{
	int64_t *member = nw_alloc((size_t) d->n * sizeof(int64_t));
	bool *keep = nw_alloc0((size_t) d->n);
	int64_t kept = 0;

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
	for (int64_t i = 0; i < d->n; i++)
		if (keep[i])
			move_image(d, kept++, i);
	d->n = kept;
	free(keep);
	free(member);
}

NwDataset *
nw_dataset_open(const NwDatasetOptions *options, bool labels_needed)
{
	NwDataset *d = options->idx_images ? nw_idx_open(options)
	               : options->folder   ? nw_folder_open(options)
	                                   : nw_table_open(options);

	if (d->n == 0)
		nw_fatal("\"%s\" holds no images", d->name);
	if (labels_needed)
		for (int64_t i = 0; i < d->n; i++)
			if (d->label[i] < 0)
				nw_fatal("\"%s\"%s%s has no class: put it into a folder named after one", d->name,
				         d->path ? "/" : "", d->path ? d->path[i] : "");
	if (options->per_class > 0)
		take_subset(d, options->per_class, options->subset_seed);
	if (d->pixels == NULL) /* the first image tells what kind they are */
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
	return d;
}
