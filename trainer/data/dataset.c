/*
 * data/dataset.c: labelled images, wherever they come from.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "data/dataset.h"
#include "data/image.h"
#include "data/unpacker.h"

static int
compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *) a, *(char *const *) b);
}

/* Give each image its class by name, or NULL, and number the classes in byte order; takes the names
 * over. */
void
nw_dataset_set_labels(NwDataset *s, char **names)
{
	char **sorted = nw_alloc((size_t) s->n * sizeof(char *));
	int64_t n = 0;

	for (int64_t i = 0; i < s->n; i++)
		if (names[i] != NULL)
			sorted[n++] = names[i];
	qsort(sorted, (size_t) n, sizeof(char *), compare_names);
	s->classes = nw_alloc((size_t) n * sizeof(char *));
	for (int64_t i = 0; i < n; i++)
		if (i == 0 || strcmp(sorted[i], sorted[i - 1]) != 0)
			s->classes[s->n_classes++] = nw_strdup(sorted[i]);
	s->label = nw_alloc((size_t) s->n * sizeof(int));
	for (int64_t i = 0; i < s->n; i++)
	{
		char **found = NULL;

		if (names[i] != NULL)
			found = bsearch(&names[i], s->classes, (size_t) s->n_classes, sizeof(char *),
			                compare_names);
		s->label[i] = found ? (int) (found - s->classes) : -1;
		free(names[i]);
	}
	free(names);
	free(sorted);
}

/* Wait until a file that is being read is known to be sound. */
void
nw_dataset_whole(const NwDataset *s)
{
	if (s->unpacker != NULL)
		nw_unpacker_whole(s->unpacker);
}

void
nw_dataset_free(NwDataset *s)
{
	if (s->unpacker != NULL)
		nw_unpacker_close(s->unpacker);
	for (int i = 0; i < s->n_classes; i++)
		free(s->classes[i]);
	for (int64_t i = 0; i < s->n; i++)
	{
		if (s->path)
			free(s->path[i]);
		if (s->blob)
		{
			nw_buf_free(&s->blob[i]);
			nw_buf_free(&s->id[i]);
		}
	}
	free(s->classes);
	free(s->label);
	free(s->path);
	free(s->blob);
	free(s->id);
	free(s->id_type);
	free(s->place);
	free(s->pixels);
	free(s->name);
	free(s);
}

/* Find an image that lies ready in memory, grey and of the size of all; else NULL. */
const uint8_t *
nw_dataset_pixels(const NwDataset *s, int64_t i)
{
	size_t size = (size_t) s->height * (size_t) s->width;

	if (s->pixels == NULL)
		return NULL;
	nw_unpacker_await(s->unpacker, ((size_t) s->place[i] + 1) * size);
	return s->pixels + (size_t) s->place[i] * size;
}

/* Decode an image, grey or RGB as asked; why not (to be freed), else NULL. */
char *
nw_dataset_image(const NwDataset *s, int64_t i, int channels, int enough, NwImage *out)
{
	char *why;
	char *named;

	if (s->pixels != NULL)
	{
		size_t size = (size_t) s->height * (size_t) s->width;

		*out = (NwImage) {s->height, s->width, 1, nw_alloc(size)};
		memcpy(out->pixels, nw_dataset_pixels(s, i), size);
		return NULL;
	}
	if (s->path != NULL)
	{
		char *full = nw_printf("%s/%s", s->name, s->path[i]);
		NwBuf b;

		if (!nw_try_read_file(full, &b))
			why = nw_strdup(strerror(errno));
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
		why = nw_image_decode(s->blob[i].data, s->blob[i].len, channels, enough, out);
		named =
			why ? nw_printf("could not read image number %lld of table \"%s\" in order of id: %s",
		                    (long long) i + 1, s->name, why)
				: NULL;
	}
	free(why);
	return named;
}
