/*
 * data/fitted.c: images as a model wants them, decoded once where memory allows.
 */
#include <math.h>
#include <stdlib.h>

#include "data/fitted.h"

#define STATISTICS_SAMPLE 1000

/* Start a cache that keeps up to so many bytes. */
NwCache *
nw_cache_new(const NwSource *source, const NwPreprocess *pre, size_t bytes)
{
	NwCache *c = nw_alloc0(sizeof(NwCache));

	c->source = source;
	c->pre = *pre;
	c->image = nw_alloc0((size_t) source->n * sizeof(uint8_t *));
	c->image_bytes = (size_t) pre->channels * (size_t) pre->height * (size_t) pre->width;
	c->room = bytes;
	return c;
}

void
nw_cache_free(NwCache *c)
{
	for (int64_t i = 0; i < c->source->n; i++)
		free(c->image[i]);
	free(c->image);
	free(c);
}

/* Tell whether the source's images are what the model wants. */
static bool
fits_already(const NwCache *c)
{
	return c->source->pixels != NULL && c->source->height == c->pre.height &&
	       c->source->width == c->pre.width && c->pre.channels == 1 && c->pre.zoom == 1;
}

/* Get fitted pixels: kept ones, or new ones in *fresh for the caller to free. */
static char *
get_pixels(NwCache *c, int64_t i, const uint8_t **pixels, uint8_t **fresh)
{
	NwImage image;
	uint8_t *fitted;
	double side = (c->pre.height > c->pre.width ? c->pre.height : c->pre.width) * c->pre.zoom;
	char *why;

	*fresh = NULL;
	if (fits_already(c))
	{
		*pixels = nw_source_pixels(c->source, i);
		return NULL;
	}
	if (c->image[i] != NULL)
	{
		*pixels = c->image[i];
		return NULL;
	}
	why = nw_source_image(c->source, i, c->pre.channels, (int) ceil(2 * side), &image);
	if (why != NULL)
		return why;
	fitted = nw_alloc(c->image_bytes);
	nw_image_fit(&image, &c->pre, fitted);
	nw_image_free(&image);
	if (c->room >= c->image_bytes)
	{
		c->room -= c->image_bytes;
		c->image[i] = fitted;
	}
	else
		*fresh = fitted;
	*pixels = fitted;
	return NULL;
}

/* Make one image's tensor. */
char *
nw_cache_tensor(NwCache *c, int64_t i, int dy, int dx, bool mirror, float *out)
{
	const uint8_t *pixels;
	uint8_t *fresh;
	char *why = get_pixels(c, i, &pixels, &fresh);

	if (why != NULL)
		return why;
	nw_image_tensor(pixels, &c->pre, dy, dx, mirror, out);
	free(fresh);
	return NULL;
}

/* Measure the images' mean and standard deviation, evenly over the source. */
void
nw_cache_statistics(NwCache *c, double *mean, double *std)
{
	int64_t step = (c->source->n + STATISTICS_SAMPLE - 1) / STATISTICS_SAMPLE;
	double sum[3] = {0};
	double square[3] = {0};
	double n = 0;

	for (int64_t i = 0; i < c->source->n; i += step)
	{
		const uint8_t *p;
		uint8_t *fresh;
		char *why = get_pixels(c, i, &p, &fresh);

		if (why != NULL)
			nw_fatal("%s", why);
		for (size_t j = 0; j < c->image_bytes; j++)
		{
			double v = p[j] / 255.0;

			sum[j % (size_t) c->pre.channels] += v;
			square[j % (size_t) c->pre.channels] += v * v;
		}
		n += (double) (c->pre.height * c->pre.width);
		free(fresh);
	}
	for (int k = 0; k < c->pre.channels; k++)
	{
		double variance;

		mean[k] = sum[k] / n;
		variance = square[k] / n - mean[k] * mean[k];
		std[k] = variance > 1e-6 ? sqrt(variance) : 1;
	}
}
