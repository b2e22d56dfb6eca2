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

/* Prepare to fit the images of a dataset, and to keep up to so many bytes of them. */
NwFitted *
nw_fitted_new(const NwDataset *dataset, const NwPreprocess *pre, size_t bytes)
{
	NwFitted *f = nw_alloc0(sizeof(NwFitted));

	f->dataset = dataset;
	f->pre = *pre;
	f->image = nw_alloc0((size_t) dataset->n * sizeof(uint8_t *));
	f->image_bytes = nw_preprocess_size(pre);
	f->room = bytes;
	return f;
}

void
nw_fitted_free(NwFitted *f)
{
	for (int64_t i = 0; i < f->dataset->n; i++)
		free(f->image[i]);
	free(f->image);
	free(f);
}

/* Say whether the images of the dataset are what the model wants. */
static bool
fits_already(const NwFitted *f)
{
	return f->dataset->pixels != NULL && f->dataset->height == f->pre.height &&
	       f->dataset->width == f->pre.width && f->pre.channels == 1 && f->pre.zoom == 1;
}

/* Say how many pixels a side are as good as any more, when an image is scaled down. */
static int
enough_pixels(const NwPreprocess *pre)
{
	return (int) ceil(2 * (pre->height > pre->width ? pre->height : pre->width) * pre->zoom);
}

/* Get fitted pixels: kept ones, or new ones in *fresh for the caller to free. */
static char *
get_pixels(NwFitted *f, int64_t i, const uint8_t **pixels, uint8_t **fresh)
{
	NwImage image;
	uint8_t *fitted;
	char *why;

	*fresh = NULL;
	if (fits_already(f))
	{
		*pixels = nw_dataset_pixels(f->dataset, i);
		return NULL;
	}
	if (f->image[i] != NULL)
	{
		*pixels = f->image[i];
		return NULL;
	}
	why = nw_dataset_image(f->dataset, i, f->pre.channels, enough_pixels(&f->pre), &image);
	if (why != NULL)
		return why;
	fitted = nw_alloc(f->image_bytes);
	nw_image_fit(&image, &f->pre, fitted);
	nw_image_free(&image);
	if (f->room >= f->image_bytes)
	{
		f->room -= f->image_bytes;
		f->image[i] = fitted;
	}
	else
		*fresh = fitted;
	*pixels = fitted;
	return NULL;
}

/* Make the tensor [channels, height, width] of an image; why not (to be freed), else NULL. */
char *
nw_fitted_tensor(NwFitted *f, int64_t i, int dy, int dx, bool mirror, float *out)
{
	const uint8_t *pixels;
	uint8_t *fresh;
	char *why = get_pixels(f, i, &pixels, &fresh);

	if (why != NULL)
		return why;
	nw_image_tensor(pixels, &f->pre, dy, dx, mirror, out);
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

/* Measure mean and standard deviation of each channel over a sample of the images. */
void
nw_fitted_statistics(NwFitted *f, double *mean, double *std)
{
	int64_t step = (f->dataset->n + STATISTICS_SAMPLE - 1) / STATISTICS_SAMPLE;
	double sum[3] = {0};
	double square[3] = {0};
	double n = 0;

	for (int64_t i = 0; i < f->dataset->n; i += step)
	{
		const uint8_t *p;
		uint8_t *fresh;
		char *why = get_pixels(f, i, &p, &fresh);

		if (why != NULL)
			nw_fatal("%s", why);
		for (size_t j = 0; j < f->image_bytes; j++)
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
}
