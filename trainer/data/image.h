/*
 * data/image.h: decoding, fitting and normalising images.
 */
#ifndef NW_IMAGE_H
#define NW_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NW_LEAST_STD 1e-12 /* of pixels: what is divided by it stays a number */
#define NW_MAX_ZOOM \
	64 /* an image is resized to so many times the side of a model's input at most */

/* pixels [height, width, channels], one byte each; channels 1 (grey) or 3 (RGB) */
typedef struct NwImage
{
	int height;
	int width;
	int channels;
	uint8_t *pixels;
} NwImage;

/* a part of an image: its upper left corner, and its size */
typedef struct NwBox
{
	int y;
	int x;
	int height;
	int width;
} NwBox;

/* what a model does to an image before it sees it */
typedef struct NwPreprocess
{
	int channels;
	int height;
	int width;
	double zoom;    /* resize to zoom times the model's side, then cut the centre */
	double mean[3]; /* of pixels in [0,1] */
	double std[3];
} NwPreprocess;

/* Count the numbers of an image's tensor. */
static inline size_t
nw_preprocess_size(const NwPreprocess *pre)
{
	return (size_t) pre->channels * (size_t) pre->height * (size_t) pre->width;
}

char *nw_image_decode(const void *data, size_t len, int channels, int enough, NwImage *out);
bool nw_image_is_at(const char *path);
void nw_image_free(NwImage *image);
void nw_image_fit(const NwImage *image, const NwPreprocess *pre, uint8_t *out);
void nw_image_cut(const NwImage *image, NwBox box, const NwPreprocess *pre, uint8_t *out);
void nw_image_tensor(const uint8_t *pixels, const NwPreprocess *pre, int dy, int dx, bool mirror,
                     float *out);

#endif
