/*
 * data/dataset.c: labelled images, wherever they come from.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/text.h"
#include "data/dataset.h"
#include "data/image.h"
#include "data/unpacker.h"

static int
compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *) a, *(char *const *) b);
}

static void
free_classes(NwDataset *d)
{
	for (int i = 0; i < d->n_classes; i++)
		free(d->classes[i]);
	free(d->classes);
}

static void
copy_classes(NwDataset *d, const NwDataset *from)
{
	d->n_classes = from->n_classes;
	d->classes = nw_alloc((size_t) from->n_classes * sizeof(char *));
	for (int i = 0; i < from->n_classes; i++)
		d->classes[i] = nw_strdup(from->classes[i]);
}

/* Give each image its class by name, or NULL, and number the classes in byte order; takes the names
 * over. */
void
nw_dataset_set_labels(NwDataset *d, char **names)
{
	char **sorted = nw_alloc((size_t) d->n * sizeof(char *));
	int64_t n = 0;

	for (int64_t i = 0; i < d->n; i++)
		if (names[i] != NULL)
			sorted[n++] = names[i];
	qsort(sorted, (size_t) n, sizeof(char *), compare_names);
	d->classes = nw_alloc((size_t) n * sizeof(char *));
	for (int64_t i = 0; i < n; i++)
		if (i == 0 || strcmp(sorted[i], sorted[i - 1]) != 0)
			d->classes[d->n_classes++] = nw_strdup(sorted[i]);
	d->label = nw_alloc((size_t) d->n * sizeof(int));
	for (int64_t i = 0; i < d->n; i++)
	{
		char **found = NULL;

		if (names[i] != NULL)
			found = bsearch(&names[i], d->classes, (size_t) d->n_classes, sizeof(char *),
			                compare_names);
		d->label[i] = found ? (int) (found - d->classes) : -1;
		free(names[i]);
	}
	free(names);
	free(sorted);
}

/* Number classes as another dataset does; one that it does not have, else NULL. */
const char *
nw_dataset_use_classes(NwDataset *d, const NwDataset *other)
{
	int *number = nw_alloc((size_t) d->n_classes * sizeof(int));
	const char *unknown = NULL;

	for (int c = 0; c < d->n_classes && unknown == NULL; c++)
	{
		char **found = bsearch(&d->classes[c], other->classes, (size_t) other->n_classes,
		                       sizeof(char *), compare_names);

		if (found == NULL)
			unknown = d->classes[c];
		else
			number[c] = (int) (found - other->classes);
	}
	if (unknown == NULL)
	{
		for (int64_t i = 0; i < d->n; i++)
			d->label[i] = number[d->label[i]];
		free_classes(d);
		copy_classes(d, other);
	}
	free(number);
	return unknown;
}

/* Count the images of each class; to be freed. */
int64_t *
nw_dataset_count(const NwDataset *d)
{
	int64_t *n = nw_alloc0((size_t) d->n_classes * sizeof(int64_t));

	for (int64_t i = 0; i < d->n; i++)
		n[d->label[i]]++;
	return n;
}

/* Wait until a file that is being read is known to be sound. */
void
nw_dataset_whole(const NwDataset *d)
{
	if (d->unpacker != NULL)
		nw_unpacker_whole(d->unpacker);
}

/* Make image `from` number `to`; what was there takes its place. */
static void
move_image(NwDataset *d, int64_t to, int64_t from)
{
	int label = d->label[to];

	d->label[to] = d->label[from];
	d->label[from] = label;
	if (d->place)
	{
		int64_t place = d->place[to];

		d->place[to] = d->place[from];
		d->place[from] = place;
	}
	if (d->path)
	{
		char *path = d->path[to];

		d->path[to] = d->path[from];
		d->path[from] = path;
	}
	if (d->blob)
	{
		NwBuf blob = d->blob[to];
		NwBuf id = d->id[to];
		char *text = d->id_text[to];

		d->blob[to] = d->blob[from];
		d->blob[from] = blob;
		d->id[to] = d->id[from];
		d->id[from] = id;
		d->id_text[to] = d->id_text[from];
		d->id_text[from] = text;
	}
}

/* Free what images from a number on hold. */
static void
free_images(NwDataset *d, int64_t first)
{
	for (int64_t i = first; i < d->n; i++)
	{
		if (d->path)
			free(d->path[i]);
		if (d->blob)
		{
			nw_buf_free(&d->blob[i]);
			nw_buf_free(&d->id[i]);
			free(d->id_text[i]);
		}
	}
}

/* Leave out all images but some, in their order. */
void
nw_dataset_keep(NwDataset *d, const bool *keep)
{
	int64_t kept = 0;

	for (int64_t i = 0; i < d->n; i++)
		if (keep[i])
			move_image(d, kept++, i);
	free_images(d, kept);
	d->n = kept;
}

/*
 * Take images out of a dataset into one of their own, in their order, with the same classes.
 * Pixels of a file are shared: the new one is to be freed first.
 */
NwDataset *
nw_dataset_split(NwDataset *d, const bool *out)
{
	NwDataset *part = nw_alloc(sizeof(NwDataset));
	size_t room = (size_t) d->n;
	bool *keep = nw_alloc(room);
	int64_t n = 0;

	*part = *d;
	part->borrowed = true;
	part->name = nw_strdup(d->name);
	part->id_type = d->id_type ? nw_strdup(d->id_type) : NULL;
	copy_classes(part, d);
	part->label = nw_alloc(room * sizeof(int));
	part->path = d->path ? nw_alloc0(room * sizeof(char *)) : NULL;
	part->place = d->place ? nw_alloc0(room * sizeof(int64_t)) : NULL;
	part->blob = d->blob ? nw_alloc0(room * sizeof(NwBuf)) : NULL;
	part->id = d->id ? nw_alloc0(room * sizeof(NwBuf)) : NULL;
	part->id_text = d->id_text ? nw_alloc0(room * sizeof(char *)) : NULL;
	for (int64_t i = 0; i < d->n; i++)
	{
		keep[i] = !out[i];
		if (keep[i])
			continue;
		part->label[n] = d->label[i];
		if (d->path)
		{
			part->path[n] = d->path[i];
			d->path[i] = NULL;
		}
		if (d->place)
			part->place[n] = d->place[i];
		if (d->blob)
		{
			part->blob[n] = d->blob[i];
			part->id[n] = d->id[i];
			part->id_text[n] = d->id_text[i];
			d->blob[i] = d->id[i] = (NwBuf) {0};
			d->id_text[i] = NULL;
		}
		n++;
	}
	part->n = n;
	nw_dataset_keep(d, keep);
	free(keep);
	return part;
}

void
nw_dataset_free(NwDataset *d)
{
	if (d->unpacker != NULL && !d->borrowed)
		nw_unpacker_close(d->unpacker);
	free_images(d, 0);
	free_classes(d);
	free(d->label);
	free(d->path);
	free(d->blob);
	free(d->id);
	free(d->id_text);
	free(d->id_type);
	free(d->place);
	if (!d->borrowed)
		free(d->pixels);
	free(d->name);
	free(d);
}

/* Find an image that lies ready in memory, grey and of the size of all; else NULL. */
const uint8_t *
nw_dataset_pixels(const NwDataset *d, int64_t i)
{
	size_t size = (size_t) d->height * (size_t) d->width;

	if (d->pixels == NULL)
		return NULL;
	nw_unpacker_await(d->unpacker, ((size_t) d->place[i] + 1) * size);
	return d->pixels + (size_t) d->place[i] * size;
}

/* What tells an image from others: its pixels where they lie ready, or its name, with its size. */
static uint64_t
hash_image(const NwDataset *d, int64_t i, uint64_t *size)
{
	struct stat st;
	uint64_t hash;
	char *full;

	*size = (uint64_t) d->height * (uint64_t) d->width;
	if (d->pixels != NULL)
		return nw_hash(nw_dataset_pixels(d, i), (size_t) *size);
	if (d->path == NULL)
	{
		*size = d->blob[i].len;
		return nw_hash(d->id[i].data, d->id[i].len);
	}
	full = nw_printf("%s/%s", d->name, d->path[i]);
	hash = nw_hash(d->path[i], strlen(d->path[i]));
	*size = stat(full, &st) == 0 ? (uint64_t) st.st_size : 0;
	free(full);
	return hash;
}

/*
 * Tell images from others, without decoding them: a folder's by the names and sizes of files,
 * a table's by ids and sizes.
 */
uint64_t
nw_dataset_hash(const NwDataset *d)
{
	uint64_t chain[3] = {0};

	for (int64_t i = 0; i < d->n; i++)
	{
		chain[1] = hash_image(d, i, &chain[2]);
		chain[0] = nw_hash(chain, sizeof(chain));
	}
	return chain[0];
}

/* Decode an image, grey or RGB as asked; why not (to be freed), else NULL. */
char *
nw_dataset_image(const NwDataset *d, int64_t i, int channels, int enough, NwImage *out)
{
	char *why;
	char *named;

	if (d->pixels != NULL)
	{
		size_t size = (size_t) d->height * (size_t) d->width;

		*out = (NwImage) {d->height, d->width, 1, nw_alloc(size)};
		memcpy(out->pixels, nw_dataset_pixels(d, i), size);
		return NULL;
	}
	if (d->path != NULL)
	{
		char *full = nw_printf("%s/%s", d->name, d->path[i]);
		const char *problem;
		NwBuf b;

		if (!nw_try_read_regular_file(full, &b, &problem))
			why = nw_strdup(problem);
		else
		{
			why = nw_image_decode(b.data, b.len, channels, enough, out);
			nw_buf_free(&b);
		}
		named = why ? nw_printf("could not read image \"%s\": %s", full, why) : NULL;
		free(full);
	}
	else
	{
		why = nw_image_decode(d->blob[i].data, d->blob[i].len, channels, enough, out);
		named = why ? nw_printf("could not read image \"%s\" of table \"%s\": %s", d->id_text[i],
		                        d->name, why)
		            : NULL;
	}
	free(why);
	return named;
}
