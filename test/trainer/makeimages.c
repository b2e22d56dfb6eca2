/*
 * makeimages.c: images with classes that can be told apart, for the tests.
 *
 *   makeimages idx PREFIX N CLASSES SIZE      PREFIX-images.gz, PREFIX-labels.gz
 *   makeimages folder DIR N CLASSES SIZE      DIR/class-K/I.jpg or .png, in turn
 *
 * An image of class k shows stripes whose angle is k's, at a random place, with
 * noise over it.
 */
#include <stdio.h> /* before jpeglib.h, which needs it */

#include <jpeglib.h>
#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/text.h"

/* Draw an image [size, size, channels]. */
static void
draw(uint8_t *out, int size, int channels, int k, int classes, NwRandom *r)
{
	double angle = M_PI * k / classes;
	double phase = 6.28 * nw_random_double(r);

	for (int y = 0; y < size; y++)
		for (int x = 0; x < size; x++)
		{
			double at = (x * cos(angle) + y * sin(angle)) * 9.0 / size + phase;

			for (int c = 0; c < channels; c++)
			{
				double v = 128 + 80 * sin(at + 0.3 * c) + 30 * nw_random_normal(r);

				*out++ = (uint8_t) (v < 0 ? 0 : v > 255 ? 255 : v);
			}
		}
}

static void
write_jpeg(const char *path, uint8_t *pixels, int size)
{
	struct jpeg_compress_struct c;
	struct jpeg_error_mgr e;
	FILE *f = fopen(path, "wb");

	c.err = jpeg_std_error(&e);
	jpeg_create_compress(&c);
	jpeg_stdio_dest(&c, f);
	c.image_width = c.image_height = (unsigned) size;
	c.input_components = 3;
	c.in_color_space = JCS_RGB;
	jpeg_set_defaults(&c);
	jpeg_set_quality(&c, 95, TRUE);
	jpeg_start_compress(&c, TRUE);
	while (c.next_scanline < c.image_height)
	{
		JSAMPROW row = pixels + c.next_scanline * c.image_width * 3;

		jpeg_write_scanlines(&c, &row, 1);
	}
	jpeg_finish_compress(&c);
	jpeg_destroy_compress(&c);
	fclose(f);
}

static void
put32(gzFile f, uint32_t v)
{
	uint8_t b[4] = {(uint8_t) (v >> 24), (uint8_t) (v >> 16), (uint8_t) (v >> 8), (uint8_t) v};

	gzwrite(f, b, 4);
}

static void
make_idx(const char *prefix, int n, int classes, int size)
{
	gzFile images = gzopen(nw_printf("%s-images.gz", prefix), "wb1");
	gzFile labels = gzopen(nw_printf("%s-labels.gz", prefix), "wb1");
	uint8_t *p = nw_alloc((size_t) (size * size));
	NwRandom r = nw_random(nw_hash(prefix, strlen(prefix)), 1, 1);

	put32(images, 0x803);
	put32(images, (uint32_t) n);
	put32(images, (uint32_t) size);
	put32(images, (uint32_t) size);
	put32(labels, 0x801);
	put32(labels, (uint32_t) n);
	for (int i = 0; i < n; i++)
	{
		uint8_t k = (uint8_t) (i % classes);

		draw(p, size, 1, k, classes, &r);
		gzwrite(images, p, (unsigned) (size * size));
		gzwrite(labels, &k, 1);
	}
	gzclose(images);
	gzclose(labels);
}

static void
make_folder(const char *dir, int n, int classes, int size)
{
	uint8_t *p = nw_alloc((size_t) (3 * size * size));
	NwRandom r = nw_random(5, 1, 1);

	mkdir(dir, 0777);
	for (int i = 0; i < n; i++)
	{
		char *class = nw_printf("%s/class-%d", dir, i % classes);
		png_image png = {.version = PNG_IMAGE_VERSION,
		                 .width = (unsigned) size,
		                 .height = (unsigned) size,
		                 .format = PNG_FORMAT_RGB};

		mkdir(class, 0777);
		draw(p, size, 3, i % classes, classes, &r);
		if (i / classes % 2)
			png_image_write_to_file(&png, nw_printf("%s/%d.png", class, i), 0, p, 0, NULL);
		else
			write_jpeg(nw_printf("%s/%d.jpg", class, i), p, size);
	}
}

int
main(int argc, char **argv)
{
	if (argc != 6)
		return 2;
	if (strcmp(argv[1], "idx") == 0)
		make_idx(argv[2], atoi(argv[3]), atoi(argv[4]), atoi(argv[5]));
	else
		make_folder(argv[2], atoi(argv[3]), atoi(argv[4]), atoi(argv[5]));
	return 0;
}
