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

typedef struct NwFitted
{
	const NwDataset *dataset;
	NwPreprocess pre;
	uint8_t **image; /* fitted pixels, or NULL */
	size_t image_bytes;
	size_t room; /* bytes that may still be kept */
} NwFitted;

NwFitted *nw_fitted_new(const NwDataset *dataset, const NwPreprocess *pre, size_t bytes);
void nw_fitted_free(NwFitted *f);
char *nw_fitted_tensor(NwFitted *f, int64_t i, int dy, int dx, bool mirror, float *out);
char *nw_encoded_tensor(const void *data, size_t len, const NwPreprocess *pre, float *out);
void nw_fitted_statistics(NwFitted *f, double *mean, double *std);

#endif
