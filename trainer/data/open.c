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

/* Keep image `from` as number `to`. */
static void
move_image(NwDataset *s, int64_t to, int64_t from)
{
	s->label[to] = s->label[from];
	if (s->place)
		s->place[to] = s->place[from];
	if (s->path)
	{
		char *t = s->path[to];

		s->path[to] = s->path[from];
		s->path[from] = t;
	}
	if (s->blob)
	{
		NwBuf blob = s->blob[to];
		NwBuf id = s->id[to];

		s->blob[to] = s->blob[from];
		s->blob[from] = blob;
		s->id[to] = s->id[from];
		s->id[from] = id;
	}
}

/* Keep at most so many images of each class, drawn by the seed, in their order. */
static void
take_subset(NwDataset *s, int per_class, uint64_t seed)
{
	int64_t *member = nw_alloc((size_t) s->n * sizeof(int64_t));
	bool *keep = nw_alloc0((size_t) s->n);
	int64_t kept = 0;

	for (int c = 0; c < s->n_classes; c++)
	{
		NwRandom r = nw_random(seed, SUBSET_STREAM, nw_hash(s->classes[c], strlen(s->classes[c])));
		int64_t n = 0;

		for (int64_t i = 0; i < s->n; i++)
			if (s->label[i] == c)
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
	for (int64_t i = 0; i < s->n; i++)
		if (keep[i])
			move_image(s, kept++, i);
	s->n = kept;
	free(keep);
	free(member);
}

NwDataset *
nw_dataset_open(const NwDatasetOptions *options, bool labels_needed)
{
	NwDataset *s = options->idx_images ? nw_idx_open(options)
	               : options->folder   ? nw_folder_open(options)
	                                   : nw_table_open(options);

	if (s->n == 0)
		nw_fatal("\"%s\" holds no images", s->name);
	if (labels_needed)
		for (int64_t i = 0; i < s->n; i++)
			if (s->label[i] < 0)
				nw_fatal("\"%s\"%s%s has no class: put it into a folder named after one", s->name,
				         s->path ? "/" : "", s->path ? s->path[i] : "");
	if (options->per_class > 0)
		take_subset(s, options->per_class, options->subset_seed);
	if (s->pixels == NULL) /* the first image tells what kind they are */
	{
		NwImage image;
		char *why = nw_dataset_image(s, 0, 3, 1 << 20, &image);

		if (why != NULL)
			nw_fatal("%s", why);
		s->channels = 3;
		s->height = image.height;
		s->width = image.width;
		nw_image_free(&image);
	}
	return s;
}
