/*
 * data/dataset.c: labelled images, wherever they come from.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "data/dataset.h"
#include "data/unpacker.h"

/* Compare strings by their bytes. */
static int
compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *) a, *(char *const *) b);
}

/* Number the classes in byte order of their names. */
void
nw_source_set_labels(NwSource *s, char **names)
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

/* Keep image `from` as number `to`. */
static void
move_image(NwSource *s, int64_t to, int64_t from)
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
take_subset(NwSource *s, int per_class, uint64_t seed)
{
	int64_t *member = nw_alloc((size_t) s->n * sizeof(int64_t));
	bool *keep = nw_alloc0((size_t) s->n);
	int64_t kept = 0;

	for (int c = 0; c < s->n_classes; c++)
	{
		NwRng r = nw_rng(seed, 0x73756273, nw_hash(s->classes[c], strlen(s->classes[c])));
		int64_t n = 0;

		for (int64_t i = 0; i < s->n; i++)
			if (s->label[i] == c)
				member[n++] = i;
		for (int64_t i = 0; i < n && i < per_class; i++)
		{
			int64_t j = i + nw_rng_below(&r, (uint32_t) (n - i));
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

/* Open what the options name. */
NwSource *
nw_source_open(const NwSourceOptions *options, bool labels_needed)
{
	NwSource *s = options->idx_images ? nw_source_idx(options)
	              : options->folder   ? nw_source_folder(options)
	                                  : nw_source_table(options);

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
		char *why = nw_source_image(s, 0, 3, 1 << 20, &image);

		if (why != NULL)
			nw_fatal("%s", why);
		s->channels = 3;
		s->height = image.height;
		s->width = image.width;
		nw_image_free(&image);
	}
	return s;
}

/* Wait until what is being read is there, and sound. */
void
nw_source_whole(const NwSource *s)
{
	if (s->stream != NULL)
		nw_stream_whole(s->stream);
}

/* Give a source's memory back. */
void
nw_source_free(NwSource *s)
{
	if (s->stream != NULL)
		nw_stream_close(s->stream);
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

/* Find an image that needs no decoding. */
const uint8_t *
nw_source_pixels(const NwSource *s, int64_t i)
{
	size_t size = (size_t) s->height * (size_t) s->width;

	if (s->pixels == NULL)
		return NULL;
	nw_stream_await(s->stream, ((size_t) s->place[i] + 1) * size);
	return s->pixels + (size_t) s->place[i] * size;
}

/* Decode one image. */
char *
nw_source_image(const NwSource *s, int64_t i, int channels, int enough, NwImage *out)
{
	char *why;
	char *named;

	if (s->pixels != NULL)
	{
		size_t size = (size_t) s->height * (size_t) s->width;

		*out = (NwImage) {s->height, s->width, 1, nw_alloc(size)};
		memcpy(out->pixels, nw_source_pixels(s, i), size);
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
