/*
 * data/idx.c: images and labels in the MNIST format, plain or compressed.
 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/message.h"
#include "base/text.h"
#include "data/dataset.h"
#include "data/idx.h"
#include "data/unpacker.h"

#define MAX_HEADER 16 /* type and rank, then a length for each dimension */

static uint32_t
big_endian(const char *p)
{
	const unsigned char *u = (const unsigned char *) p;

	return (uint32_t) u[0] << 24 | (uint32_t) u[1] << 16 | (uint32_t) u[2] << 8 | u[3];
}

/* Open a file of bytes of the given rank: its dimensions, and the number of bytes to come. */
static NwUnpacker *
open_idx(const char *path, int rank, const char *what, uint32_t *dims, size_t *size)
{
	char header[MAX_HEADER];
	size_t len = 4 + 4 * (size_t) rank;
	size_t got;
	NwUnpacker *u = nw_unpacker_open(path, header, len, &got);

	if (got < len || header[0] != 0 || header[1] != 0 || header[2] != 8 || header[3] != rank)
		nw_fatal("\"%s\" is not an IDX file of %s", path, what);
	*size = 1;
	for (int i = 0; i < rank; i++)
	{
		dims[i] = big_endian(header + 4 + 4 * i);
		if (dims[i] == 0 || dims[i] > 100000000 || (*size *= dims[i]) > ((size_t) 1 << 40))
			nw_fatal("\"%s\" has an impossible size in its header", path);
	}
	if (*size > nw_unpacker_bound(u)) /* before memory is asked for it */
		nw_fatal("\"%s\" is too short for the %zu bytes that its header says", path, *size);
	return u;
}

static uint8_t *
read_labels(const char *path, uint32_t *n)
{
	size_t size;
	NwUnpacker *u = open_idx(path, 1, "labels", n, &size);
	uint8_t *labels = nw_alloc(size);

	nw_unpacker_start(u, labels, size);
	nw_unpacker_whole(u);
	nw_unpacker_close(u);
	return labels;
}

/* Read names, one on each line: label 0 first. */
static char **
read_class_names(const char *path, int *n)
{
	NwBuf b;
	char **names = NULL;
	int cap = 0;
	char *rest;

	nw_read_file(path, &b);
	*n = 0;
	for (char *line = strtok_r(b.data, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest))
	{
		NW_GROW(names, *n, cap);
		names[(*n)++] = nw_strdup(line);
	}
	nw_buf_free(&b);
	return names;
}

/* Open a pair of IDX files; the images are being read when this returns. */
NwDataset *
nw_idx_open(const NwDatasetOptions *options)
{
	NwDataset *d = nw_alloc0(sizeof(NwDataset));
	uint8_t *labels;
	uint32_t dims[3];
	uint32_t n_labels;
	size_t size;
	char **names = NULL;
	int n_names = 0;
	char **label;

	d->unpacker = open_idx(options->idx_images, 3, "images", dims, &size);
	labels = read_labels(options->idx_labels, &n_labels);
	if (n_labels != dims[0])
		nw_fatal("\"%s\" has %u images, but \"%s\" has %u labels", options->idx_images, dims[0],
		         options->idx_labels, n_labels);
	if (options->class_names != NULL)
		names = read_class_names(options->class_names, &n_names);
	d->n = dims[0];
	d->height = (int) dims[1];
	d->width = (int) dims[2];
	d->channels = 1;
	d->name = nw_strdup(options->idx_images);
	d->pixels = malloc(size);
	if (d->pixels == NULL)
		nw_fatal("\"%s\" says that it holds %zu bytes, more than there is memory for",
		         options->idx_images, size);
	nw_unpacker_start(d->unpacker, d->pixels, size);
	d->place = nw_alloc((size_t) d->n * sizeof(int64_t));
	label = nw_alloc((size_t) d->n * sizeof(char *));
	for (int64_t i = 0; i < d->n; i++)
	{
		if (names != NULL && labels[i] >= n_names)
			nw_fatal("\"%s\" has no name for label %d", options->class_names, labels[i]);
		label[i] = names ? nw_strdup(names[labels[i]]) : nw_printf("%d", labels[i]);
		d->place[i] = i;
	}
	for (int i = 0; i < n_names; i++)
		free(names[i]);
	free(names);
	free(labels);
	nw_dataset_set_labels(d, label);
	return d;
}
