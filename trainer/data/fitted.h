/*
 * data/fitted.h: images as a model wants them, decoded once where memory allows.
 */
#ifndef NW_FITTED_H
#define NW_FITTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/dataset.h"
#include "data/image.h"

/* how large images are kept */
typedef enum NwKeep
{
	NW_KEEP_FITTED,  /* as the model wants them */
	NW_KEEP_RESIZED, /* whole, their shorter side resized to so many pixels */
	NW_KEEP_DETAIL   /* whole, their shorter side reduced to so many pixels where it is longer */
} NwKeep;

typedef struct NwFitted
{
	const NwDataset *dataset;
	NwPreprocess pre;
	NwKeep keep;
	int side;       /* the shorter one, where images are kept whole */
	NwImage *image; /* pixels NULL where it is not kept */
	size_t room;    /* bytes that may still be kept */
} NwFitted;

NwFitted *nw_fitted_new(const NwDataset *dataset, const NwPreprocess *pre, size_t bytes);
void nw_fitted_keep(NwFitted *f, NwKeep keep, int side);
void nw_fitted_free(NwFitted *f);
char *nw_fitted_image(NwFitted *f, int64_t i, NwImage *image, uint8_t **fresh);
char *nw_fitted_tensor(NwFitted *f, int64_t i, int dy, int dx, bool mirror, float *out);
char *nw_encoded_tensor(const void *data, size_t len, const NwPreprocess *pre, float *out);
void nw_fitted_statistics(NwFitted *f, double *mean, double *std);

#endif
