/*
 * fuzz_image.c
 *		JPEG and PNG: decoded, fitted, cut and normalised as training and
 *		embedding do, or refused with a reason.
 *
 * options: -max_len=4096 -malloc_limit_mb=256
 */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/random.h"
#include "data/augment.h"
#include "data/image.h"
#include "harness.h"

typedef struct Work
{
	FuzzInput file;
	int channels;
	int enough;
	NwPreprocess pre;
} Work;

/* Decode an image, and give it the form that a model wants. */
static void
read_image(void *arg)
{
	Work *w = arg;
	void *bytes = fuzz_copy(w->file);
	NwImage image;
	char *why = nw_image_decode(bytes, w->file.size, w->channels, w->enough, &image);

	free(bytes);
	if (why != NULL)
	{
		if (why[0] == 0 || image.pixels != NULL)
			fuzz_broken("a refused image has a reason and no pixels");
		free(why);
		return;
	}
	if (image.height < 1 || image.width < 1 || (image.channels != 1 && image.channels != 3))
		fuzz_broken("an image has a size");

	/* pixels beyond these are read by the same loops */
	if ((int64_t) image.height * image.width <= 1 << 16)
	{
		size_t n = nw_preprocess_size(&w->pre);
		uint8_t *fitted = nw_alloc(n);
		float *tensor = nw_alloc(n * sizeof(float));
		NwRandom r = nw_random(w->file.size, 1, 1);

		nw_image_fit(&image, &w->pre, fitted);
		nw_image_tensor(fitted, &w->pre, 1, -1, true, tensor);
		nw_image_cut(&image, nw_draw_box(image.height, image.width, 0.1, &r), &w->pre, fitted);
		nw_image_tensor(fitted, &w->pre, 0, 0, false, tensor);
		for (size_t i = 0; i < n; i++)
			if (!isfinite(tensor[i]))
				fuzz_broken("a pixel is a number");
		free(fitted);
		free(tensor);
	}
	nw_image_free(&image);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Work w = {.file = {data, size}};
	uint8_t how = fuzz_byte(&w.file);

	w.channels = how & 1 ? 1 : 3;
	w.enough = 1 << (how >> 5);
	w.pre = (NwPreprocess) {.channels = how & 2 ? 1 : 3,
	                        .height = 1 + (how >> 2 & 3) * 3,
	                        .width = 5,
	                        .zoom = how & 16 ? 1.15 : 1,
	                        .mean = {0.5, 0.4, 0.3},
	                        .std = {0.2, 0.3, 0.4}};
	fuzz_call(read_image, &w);
	return 0;
}
