/*
 * data/fitted.c: images as a model wants them, decoded once where memory allows.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/message.h"
#include "data/dataset.h"
#include "data/fitted.h"
#include "data/image.h"

#define STATISTICS_SAMPLE 1000

/* The longer side of a resized image is cut to so many times the shorter one. */
#define MOST_LENGTH 4

/* Prepare to fit the images of a dataset, and to keep up to so many bytes of them. */
NwFitted *
nw_fitted_new(const NwDataset *dataset, const NwPreprocess *pre, size_t bytes)
{
	NwFitted *f = nw_alloc0(sizeof(NwFitted));

	f->dataset = dataset;
	f->pre = *pre;
	f->image = nw_alloc0((size_t) dataset->n * sizeof(NwImage));
	f->room = bytes;
	return f;
}

/* Keep images otherwise than as the model wants them; to be said before the first is asked for. */
void
nw_fitted_keep(NwFitted *f, NwKeep keep, int side)
{
	f->keep = keep;
	f->side = side;
}

void
nw_fitted_free(NwFitted *f)
{
	for (int64_t i = 0; i < f->dataset->n; i++)
		nw_image_free(&f->image[i]);
	free(f->image);
	free(f);
}

/* Say what form an image of the given size is kept in. */
static NwPreprocess
kept_form(const NwFitted *f, int height, int width)
{
	NwPreprocess form = f->pre;
	int shorter = height < width ? height : width;
	int64_t longer = height < width ? width : height;
	int side = f->side;

	if (f->keep == NW_KEEP_FITTED)
		return form;
	if (f->keep == NW_KEEP_DETAIL && shorter < side)
		side = shorter;
	longer = longer * side / shorter;
	if (f->keep == NW_KEEP_RESIZED && longer > (int64_t) MOST_LENGTH * side)
		longer = (int64_t) MOST_LENGTH * side;
	form.zoom = 1;
	form.height = height < width ? side : (int) longer;
	form.width = height < width ? (int) longer : side;
	return form;
}

/* Say whether the images of the dataset are kept as they lie ready in memory. */
static bool
fits_already(const NwFitted *f)
{
	NwPreprocess form;

	if (f->dataset->pixels == NULL || f->pre.channels != 1)
		return false;
	form = kept_form(f, f->dataset->height, f->dataset->width);
	return f->dataset->height == form.height && f->dataset->width == form.width && form.zoom == 1;
}

/* Say how many pixels a side are as good as any more, when an image is scaled down. */
static int
enough_pixels(const NwPreprocess *pre)
{
	return (int) ceil(2 * (pre->height > pre->width ? pre->height : pre->width) * pre->zoom);
}

/*
 * Get an image as it is kept, not to be written to; one that is not kept is in *fresh for
 * the caller to free.  Why not (to be freed), else NULL.
 */
char *
nw_fitted_image(NwFitted *f, int64_t i, NwImage *image, uint8_t **fresh)
{
	NwImage whole;
	NwPreprocess form;
	size_t bytes;
	char *why;

	*fresh = NULL;
	if (fits_already(f))
	{
		*image = (NwImage) {f->dataset->height, f->dataset->width, 1,
		                    (uint8_t *) nw_dataset_pixels(f->dataset, i)};
		return NULL;
	}
	if (f->image[i].pixels != NULL)
	{
		*image = f->image[i];
		return NULL;
	}
	why =
		nw_dataset_image(f->dataset, i, f->pre.channels,
	                     f->keep == NW_KEEP_FITTED ? enough_pixels(&f->pre) : 2 * f->side, &whole);
	if (why != NULL)
		return why;
	form = kept_form(f, whole.height, whole.width);
	bytes = nw_preprocess_size(&form);
	*image = (NwImage) {form.height, form.width, form.channels, nw_alloc(bytes)};
	nw_image_fit(&whole, &form, image->pixels);
	nw_image_free(&whole);
	if (f->room >= bytes)
	{
		f->room -= bytes;
		f->image[i] = *image;
	}
	else
		*fresh = image->pixels;
	return NULL;
}

/* Make the tensor [channels, height, width] of an image; why not (to be freed), else NULL. */
char *
nw_fitted_tensor(NwFitted *f, int64_t i, int dy, int dx, bool mirror, float *out)
{
	NwImage image;
	uint8_t *fresh;
	char *why = nw_fitted_image(f, i, &image, &fresh);

	if (why != NULL)
		return why;
	nw_image_tensor(image.pixels, &f->pre, dy, dx, mirror, out);
	free(fresh);
	return NULL;
}

/* Make the tensor of an image that is in no dataset, JPEG or PNG; why not (to be freed), else NULL.
 */
char *
nw_encoded_tensor(const void *data, size_t len, const NwPreprocess *pre, float *out)
{
	NwImage image;
	uint8_t *fitted;
	char *why = nw_image_decode(data, len, pre->channels, enough_pixels(pre), &image);

	if (why != NULL)
		return why;
	fitted = nw_alloc(nw_preprocess_size(pre));
	nw_image_fit(&image, pre, fitted);
	nw_image_free(&image);
	nw_image_tensor(fitted, pre, 0, 0, false, out);
	free(fitted);
	return NULL;
}

/* Measure mean and standard deviation of each channel over a sample of the images, as the model
 * sees them when nothing is drawn. */
void
nw_fitted_statistics(NwFitted *f, double *mean, double *std)
{
	int64_t step = (f->dataset->n + STATISTICS_SAMPLE - 1) / STATISTICS_SAMPLE;
	size_t size = nw_preprocess_size(&f->pre);
	uint8_t *centre = f->keep == NW_KEEP_FITTED ? NULL : nw_alloc(size);
	double sum[3] = {0};
	double square[3] = {0};
	double n = 0;

	for (int64_t i = 0; i < f->dataset->n; i += step)
	{
		NwImage image;
		const uint8_t *p;
		uint8_t *fresh;
		char *why = nw_fitted_image(f, i, &image, &fresh);

		if (why != NULL)
			nw_fatal("%s", why);
		if (centre != NULL)
			nw_image_fit(&image, &f->pre, centre);
		p = centre ? centre : image.pixels;
		for (size_t j = 0; j < size; j++)
		{
			double v = p[j] / 255.0;

			sum[j % (size_t) f->pre.channels] += v;
			square[j % (size_t) f->pre.channels] += v * v;
		}
		n += (double) (f->pre.height * f->pre.width);
		free(fresh);
	}
	for (int k = 0; k < f->pre.channels; k++)
	{
		double variance;

		mean[k] = sum[k] / n;
		variance = square[k] / n - mean[k] * mean[k];
		std[k] = variance > 1e-6 ? sqrt(variance) : 1;
	}
	free(centre);
}
