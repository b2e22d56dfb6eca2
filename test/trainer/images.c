/*
 * images.c: shows the tests what becomes of images.
 *
 *   images jpeg IN.ppm OUT.jpg                     compress, at the highest quality
 *   images decode FILE CHANNELS ENOUGH OUT         prints height, width, channels
 *   images cut FILE Y X HEIGHT WIDTH SIDE OUT      a box, resized to SIDE x SIDE
 *   images window HEIGHT WIDTH SIDE N              prints N draws: y, x
 *   images box HEIGHT WIDTH LEAST N                prints N draws: y, x, height, width
 *   images colours B C S H N                       prints N draws: the order, then factors
 *   images jitter FILE CHANNELS B C S H SEED OUT   prints the draw, and makes it
 *   images show FILE CHANNELS SIDE RESIZE LEAST N OUT
 *                                                  N tensors of pixels in [0, 1] as training
 *                                                  shows them, then that of an embedding, and
 *                                                  the same of a file that is in no dataset
 *
 * OUT are the bare bytes, or floats.
 */
#include <stdio.h> /* before jpeglib.h, which needs it */

#include <jpeglib.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/message.h"
#include "base/random.h"
#include "base/text.h"
#include "data/augment.h"
#include "data/dataset.h"
#include "data/fitted.h"
#include "data/image.h"
#include "data/jitter.h"

#define SEED 11 /* of the draws that are printed, and of those that are shown */

/* Compress a picture of the form P6. */
static void
write_jpeg(const char *in, const char *out)
{
	struct jpeg_compress_struct c;
	struct jpeg_error_mgr e;
	int width;
	int height;
	uint8_t *pixels;
	FILE *f = fopen(in, "rb");

	if (f == NULL || fscanf(f, "P6 %d %d 255", &width, &height) != 2 || fgetc(f) == EOF)
		nw_fatal("\"%s\" is not a picture", in);
	pixels = nw_alloc((size_t) (3 * width * height));
	if (fread(pixels, 1, (size_t) (3 * width * height), f) != (size_t) (3 * width * height))
		nw_fatal("\"%s\" is too short", in);
	fclose(f);
	f = fopen(out, "wb");
	c.err = jpeg_std_error(&e);
	jpeg_create_compress(&c);
	jpeg_stdio_dest(&c, f);
	c.image_width = (unsigned) width;
	c.image_height = (unsigned) height;
	c.input_components = 3;
	c.in_color_space = JCS_RGB;
	jpeg_set_defaults(&c);
	jpeg_set_quality(&c, 100, TRUE);
	jpeg_start_compress(&c, TRUE);
	while (c.next_scanline < c.image_height)
	{
		JSAMPROW row = pixels + c.next_scanline * c.image_width * 3;

		jpeg_write_scanlines(&c, &row, 1);
	}
	jpeg_finish_compress(&c);
	jpeg_destroy_compress(&c);
	fclose(f);
	free(pixels);
}

static NwImage
read_image(const char *path, int channels, int enough)
{
	NwBuf b;
	NwImage image;
	char *why;

	nw_read_file(path, &b);
	why = nw_image_decode(b.data, b.len, channels, enough, &image);
	if (why != NULL)
		nw_fatal("\"%s\": %s", path, why);
	nw_buf_free(&b);
	return image;
}

static NwPreprocess
input(int channels, int side)
{
	return (NwPreprocess) {
		.channels = channels, .height = side, .width = side, .zoom = 1, .std = {1, 1, 1}};
}

static void
decode(const char *path, int channels, int enough, const char *out)
{
	NwImage image = read_image(path, channels, enough);

	printf("%d %d %d\n", image.height, image.width, image.channels);
	nw_write_file(out, image.pixels,
	              (size_t) image.height * (size_t) image.width * (size_t) image.channels);
	nw_image_free(&image);
}

static void
cut(const char *path, NwBox box, int side, const char *out)
{
	NwImage image = read_image(path, 3, 1 << 20);
	NwPreprocess pre = input(3, side);
	uint8_t *pixels = nw_alloc(nw_preprocess_size(&pre));

	nw_image_cut(&image, box, &pre, pixels);
	nw_write_file(out, pixels, nw_preprocess_size(&pre));
	nw_image_free(&image);
	free(pixels);
}

static void
print_draw(const NwJitterDraw *d)
{
	for (int i = 0; i < NW_JITTERS; i++)
		printf("%d ", d->order[i]);
	for (int i = 0; i < NW_JITTERS; i++)
		printf("%.17g%s", d->by[i], i + 1 < NW_JITTERS ? " " : "\n");
}

static NwJitter
read_jitter(char **argv)
{
	return (NwJitter) {{atof(argv[0]), atof(argv[1]), atof(argv[2]), atof(argv[3])}};
}

static void
jitter(const char *path, int channels, const NwJitter *j, uint64_t seed, const char *out)
{
	NwImage image = read_image(path, channels, 1 << 20);
	NwRandom r = nw_random(seed, 1, 1);
	NwJitterDraw d = nw_jitter_draw(j, &r);
	size_t n = (size_t) image.height * (size_t) image.width;

	print_draw(&d);
	nw_jitter_apply(&d, image.pixels, n, channels);
	nw_write_file(out, image.pixels, n * (size_t) channels);
	nw_image_free(&image);
}

/* Make the tensors of one image, and see to what it takes to keep it. */
static void
show(const char *path, NwPreprocess pre, const NwAugment *a, int n, const char *out)
{
	NwDataset d = {.name = nw_strdup("memory"), .n = 1};
	size_t size = nw_preprocess_size(&pre);
	float *tensor = nw_alloc((size_t) (n + 2) * size * sizeof(float));
	float *again = nw_alloc(size * sizeof(float));
	NwImage kept;
	uint8_t *fresh;
	size_t bytes;
	NwFitted *f;

	d.blob = nw_alloc0(sizeof(NwBuf));
	d.id_text = nw_alloc0(sizeof(char *));
	nw_read_file(path, d.blob);
	if (a->resize > 0)
		pre.zoom = (double) a->resize / pre.width;
	f = nw_fitted_new(&d, &pre, 0);
	nw_augment_keep(a, f);
	free(nw_fitted_image(f, 0, &kept, &fresh));
	bytes = (size_t) kept.height * (size_t) kept.width * (size_t) kept.channels;
	printf("%d %d %d\n", kept.height, kept.width, kept.channels);
	if (fresh == NULL || f->image[0].pixels != NULL)
		nw_fatal("an image is kept without room");
	free(fresh);
	f->room = bytes - 1;
	free(nw_fitted_image(f, 0, &kept, &fresh));
	if (fresh == NULL || f->room != bytes - 1)
		nw_fatal("an image is kept in too little room");
	free(fresh);
	for (int i = 0; i < n; i++)
		free(nw_augmented_tensor(f, a, 0, (NwMove) {0}, nw_random(SEED, 1, (uint64_t) i),
		                         tensor + (size_t) i * size));
	f->room = bytes;
	for (int i = 0; i < n; i++)
	{
		free(nw_augmented_tensor(f, a, 0, (NwMove) {0}, nw_random(SEED, 1, (uint64_t) i), again));
		if (memcmp(again, tensor + (size_t) i * size, size * sizeof(float)) != 0)
			nw_fatal("an image depends on whether it is kept");
	}
	if (f->room != 0 || f->image[0].pixels == NULL)
		nw_fatal("an image is not kept though there is room");
	nw_fitted_free(f);
	f = nw_fitted_new(&d, &pre, 0);
	free(nw_fitted_tensor(f, 0, 0, 0, false, tensor + (size_t) n * size));
	nw_fitted_free(f);
	free(nw_encoded_tensor(d.blob->data, d.blob->len, &pre, tensor + (size_t) (n + 1) * size));
	nw_write_file(out, tensor, (size_t) (n + 2) * size * sizeof(float));
	nw_buf_free(d.blob);
	free(d.blob);
	free(d.id_text);
	free(d.name);
	free(tensor);
	free(again);
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "jpeg") == 0 && argc == 4)
		write_jpeg(argv[2], argv[3]);
	else if (strcmp(what, "decode") == 0 && argc == 6)
		decode(argv[2], atoi(argv[3]), atoi(argv[4]), argv[5]);
	else if (strcmp(what, "cut") == 0 && argc == 9)
		cut(argv[2], (NwBox) {atoi(argv[3]), atoi(argv[4]), atoi(argv[5]), atoi(argv[6])},
		    atoi(argv[7]), argv[8]);
	else if (strcmp(what, "window") == 0 && argc == 6)
		for (int i = 0; i < atoi(argv[5]); i++)
		{
			NwRandom r = nw_random(SEED, 1, (uint64_t) i);
			NwBox b =
				nw_draw_window(atoi(argv[2]), atoi(argv[3]), atoi(argv[4]), atoi(argv[4]), &r);

			printf("%d %d\n", b.y, b.x);
		}
	else if (strcmp(what, "box") == 0 && argc == 6)
		for (int i = 0; i < atoi(argv[5]); i++)
		{
			NwRandom r = nw_random(SEED, 1, (uint64_t) i);
			NwBox b = nw_draw_box(atoi(argv[2]), atoi(argv[3]), atof(argv[4]), &r);

			printf("%d %d %d %d\n", b.y, b.x, b.height, b.width);
		}
	else if (strcmp(what, "colours") == 0 && argc == 7)
		for (int i = 0; i < atoi(argv[6]); i++)
		{
			NwJitter j = read_jitter(argv + 2);
			NwRandom r = nw_random(SEED, 1, (uint64_t) i);
			NwJitterDraw d = nw_jitter_draw(&j, &r);

			print_draw(&d);
		}
	else if (strcmp(what, "jitter") == 0 && argc == 10)
	{
		NwJitter j = read_jitter(argv + 4);

		jitter(argv[2], atoi(argv[3]), &j, (uint64_t) atoi(argv[8]), argv[9]);
	}
	else if (strcmp(what, "show") == 0 && argc == 9)
	{
		NwAugment a = {.resize = atoi(argv[5]), .least = atof(argv[6])};

		show(argv[2], input(atoi(argv[3]), atoi(argv[4])), &a, atoi(argv[7]), argv[8]);
	}
	else
		return 2;
	return 0;
}
