/*
 * idx.c: images and labels in the MNIST format, plain or compressed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "source.h"

/* Read a whole file, decompressed where it is compressed. */
static void
read_gz(const char *path, NwBuf *into)
{
	gzFile		f;
	char		chunk[65536];
	int			n;
	int			status;
	const char *why;

	errno = 0;
	f = gzopen(path, "rb");
	*into = (NwBuf) {0};
	if (f == NULL)
		nw_fatal("could not read \"%s\": %s", path, errno ? strerror(errno) : "out of memory");
	while ((n = gzread(f, chunk, sizeof(chunk))) > 0)
		nw_buf_add(into, chunk, (size_t) n);
	why = gzerror(f, &status);
	if (n < 0 || status == Z_BUF_ERROR)	/* the latter: cut short */
		nw_fatal("could not read \"%s\": %s", path, status == Z_ERRNO ? strerror(errno) : why);
	gzclose(f);
	nw_buf_add(into, NULL, 0);
}

/* Read a 32-bit number, highest byte first. */
static uint32_t
big_endian(const char *p)
{
	const unsigned char *u = (const unsigned char *) p;

	return (uint32_t) u[0] << 24 | (uint32_t) u[1] << 16 | (uint32_t) u[2] << 8 | u[3];
}

/* Check a file's header: bytes, of the given rank, and as many as the header says. */
static void
check_header(const char *path, const NwBuf *b, int rank, const char *what, uint32_t *dims)
{
	size_t		size = 1;

	if (b->len < 4 || b->data[0] != 0 || b->data[1] != 0 || b->data[2] != 8 || b->data[3] != rank ||
		b->len < 4 + 4 * (size_t) rank)
		nw_fatal("\"%s\" is not an IDX file of %s", path, what);
	for (int i = 0; i < rank; i++)
	{
		dims[i] = big_endian(b->data + 4 + 4 * i);
		if (dims[i] == 0 || dims[i] > 100000000 || (size *= dims[i]) > ((size_t) 1 << 40))
			nw_fatal("\"%s\" has an impossible size in its header", path);
	}
	if (b->len != size + 4 + 4 * (size_t) rank)
		nw_fatal("\"%s\" holds %zu bytes where its header says %zu", path, b->len - 4 - 4 * (size_t) rank, size);
}

/* Read names, one on each line: label 0 first. */
static char **
read_class_names(const char *path, int *n)
{
	NwBuf		b;
	char	  **names = NULL;
	int			cap = 0;
	char	   *rest;

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

/* Open a pair of IDX files. */
NwSource *
nw_source_idx(const NwSourceOptions *options)
{
	NwSource   *s = nw_alloc0(sizeof(NwSource));
	NwBuf		images;
	NwBuf		labels;
	uint32_t	dims[3];
	uint32_t	n_labels;
	char	  **names = NULL;
	int			n_names = 0;
	char	  **label;

	read_gz(options->idx_images, &images);
	check_header(options->idx_images, &images, 3, "images", dims);
	read_gz(options->idx_labels, &labels);
	check_header(options->idx_labels, &labels, 1, "labels", &n_labels);
	if (n_labels != dims[0])
		nw_fatal("\"%s\" has %u images, but \"%s\" has %u labels", options->idx_images, dims[0],
				 options->idx_labels, n_labels);
	if (options->class_names != NULL)
		names = read_class_names(options->class_names, &n_names);
	s->n = dims[0];
	s->height = (int) dims[1];
	s->width = (int) dims[2];
	s->channels = 1;
	s->name = nw_strdup(options->idx_images);
	s->pixels = nw_alloc(images.len - 16);
	memcpy(s->pixels, images.data + 16, images.len - 16);
	s->place = nw_alloc((size_t) s->n * sizeof(int64_t));
	label = nw_alloc((size_t) s->n * sizeof(char *));
	for (int64_t i = 0; i < s->n; i++)
	{
		int			l = (unsigned char) labels.data[8 + i];

		if (names != NULL && l >= n_names)
			nw_fatal("\"%s\" has no name for label %d", options->class_names, l);
		label[i] = names ? nw_strdup(names[l]) : nw_printf("%d", l);
		s->place[i] = i;
	}
	for (int i = 0; i < n_names; i++)
		free(names[i]);
	free(names);
	nw_buf_free(&images);
	nw_buf_free(&labels);
	nw_source_set_labels(s, label);
	return s;
}
