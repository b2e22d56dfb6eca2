/*
 * data/fitted.h: images as a model wants them, decoded once where memory allows.
 */
#ifndef NW_FITTED_H
#define NW_FITTED_H

#include "data/dataset.h"

typedef struct NwCache
{
	const NwSource *source;
	NwPreprocess pre;
	uint8_t **image; /* fitted pixels, or NULL */
	size_t image_bytes;
	size_t room; /* bytes that may still be kept */
} NwCache;

NwCache *nw_cache_new(const NwSource *source, const NwPreprocess *pre, size_t bytes);
void nw_cache_free(NwCache *c);

/* image i as a tensor [channels, height, width]; why not (to be freed), else NULL */
char *nw_cache_tensor(NwCache *c, int64_t i, int dy, int dx, bool mirror, float *out);

/* mean and standard deviation of each channel over a sample of the images */
void nw_cache_statistics(NwCache *c, double *mean, double *std);

#endif
