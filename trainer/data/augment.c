/*
 * data/augment.c: how training shows an image: never twice the same.
 *
 * Windows and boxes are cut out of images that are kept larger than the model's input.
 * What is drawn depends on the size of the kept image alone, and that on its file: so a
 * run is the same whatever fits into the cache.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "data/augment.h"
#include "data/fitted.h"
#include "data/image.h"
#include "data/jitter.h"

/* of boxes: how often one is drawn that may not lie within the image, and their shape */
#define TRIES 10
#define LEAST_ASPECT (3.0 / 4)
#define MOST_ASPECT (4.0 / 3)

/*
 * Say how large images are to be kept: for boxes such that the least one has as many
 * pixels as the model's input, as far as the image itself has them.
 */
void
nw_augment_keep(const NwAugment *a, NwFitted *f)
{
	int side = f->pre.height > f->pre.width ? f->pre.height : f->pre.width;

	if (a->least > 0)
		nw_fitted_keep(f, NW_KEEP_DETAIL, (int) ceil(side / sqrt(a->least)));
	else if (a->resize > 0)
		nw_fitted_keep(f, NW_KEEP_RESIZED, a->resize);
}

/* Draw where a window of the given size lies within an image. */
NwBox
nw_draw_window(int height, int width, int side_y, int side_x, NwRandom *r)
{
	NwBox box = {.height = side_y, .width = side_x};

	box.y = (int) nw_random_below(r, (uint32_t) (height - side_y) + 1);
	box.x = (int) nw_random_below(r, (uint32_t) (width - side_x) + 1);
	return box;
}

/* Cut the largest centred box of a shape that boxes may have. */
static NwBox
centre_box(int height, int width)
{
	double aspect = (double) width / height;
	NwBox box = {.height = height, .width = width};

	if (aspect < LEAST_ASPECT)
		box.height = (int) lrint(width / LEAST_ASPECT);
	else if (aspect > MOST_ASPECT)
		box.width = (int) lrint(height * MOST_ASPECT);
	box.y = (height - box.height) / 2;
	box.x = (width - box.width) / 2;
	return box;
}

/*
 * Draw a box as torchvision's RandomResizedCrop does: its share of the area is even in
 * [least, 1], the logarithm of width by height even, and so is its place.
 */
NwBox
nw_draw_box(int height, int width, double least, NwRandom *r)
{
	for (int i = 0; i < TRIES; i++)
	{
		double share = least + (1 - least) * nw_random_double(r);
		double area = share * height * width;
		double aspect =
			exp(log(LEAST_ASPECT) + (log(MOST_ASPECT) - log(LEAST_ASPECT)) * nw_random_double(r));
		long box_w = lrint(sqrt(area * aspect));
		long box_h = lrint(sqrt(area / aspect));

		if (box_w > 0 && box_w <= width && box_h > 0 && box_h <= height)
			return nw_draw_window(height, width, (int) box_h, (int) box_w, r);
	}
	return centre_box(height, width);
}

/*
 * Make the tensor of an image as one place of a batch shows it, with draws of its own;
 * why not (to be freed), else NULL.
 */
char *
nw_augmented_tensor(NwFitted *f, const NwAugment *a, int64_t i, NwMove move, NwRandom r, float *out)
{
	const NwPreprocess *pre = &f->pre;
	bool cut = a->least > 0 || a->resize > 0;
	NwImage image;
	uint8_t *fresh;
	uint8_t *own;
	char *why;

	if (!cut && !nw_jitter_any(&a->jitter))
		return nw_fitted_tensor(f, i, move.dy, move.dx, move.mirror, out);
	why = nw_fitted_image(f, i, &image, &fresh);
	if (why != NULL)
		return why;
	own = nw_alloc(nw_preprocess_size(pre));
	if (a->least > 0)
		nw_image_cut(&image, nw_draw_box(image.height, image.width, a->least, &r), pre, own);
	else if (a->resize > 0)
		nw_image_cut(&image, nw_draw_window(image.height, image.width, pre->height, pre->width, &r),
		             pre, own);
	else
		memcpy(own, image.pixels, nw_preprocess_size(pre));
	if (nw_jitter_any(&a->jitter))
	{
		NwJitterDraw d = nw_jitter_draw(&a->jitter, &r);

		nw_jitter_apply(&d, own, (size_t) pre->height * (size_t) pre->width, pre->channels);
	}
	nw_image_tensor(own, pre, move.dy, move.dx, move.mirror, out);
	free(fresh);
	free(own);
	return NULL;
}
