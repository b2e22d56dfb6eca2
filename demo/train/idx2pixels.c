/*
 * idx2pixels.c
 *		Turn images in MNIST's idx format into rows for COPY.
 *
 *	zcat images.gz | idx2pixels
 *
 * Each row is: id from 1, vector.  An image is halved in both directions, four
 * pixels becoming their mean, so 28 x 28 gives 14 x 14 = 196 dimensions.  The
 * means are multiples of 1/4 and are written without rounding.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_SIDE	256

#define IMAGES_MAGIC	2051	/* unsigned bytes, 3 dimensions */

/* Say what is wrong, and end. */
static void
fail(const char *message)
{
	fprintf(stderr, "idx2pixels: %s\n", message);
	exit(1);
}

/* Read bytes that must be there. */
static void
read_bytes(FILE *file, uint8_t *bytes, size_t n)
{
	if (fread(bytes, 1, n, file) != n)
		fail("the input ends too early");
}

/* Read a big-endian number. */
static uint32_t
read_number(FILE *file)
{
	uint8_t		b[4];

	read_bytes(file, b, sizeof(b));
	return (uint32_t) b[0] << 24 | (uint32_t) b[1] << 16 |
		(uint32_t) b[2] << 8 | b[3];
}

/* Write one image as a vector. */
static void
write_vector(const uint8_t *image, uint32_t height, uint32_t width)
{
	static const char *const quarters[] = {"", ".25", ".5", ".75"};
	char		separator = '[';

	for (uint32_t y = 0; y + 1 < height; y += 2)
	{
		for (uint32_t x = 0; x + 1 < width; x += 2)
		{
			const uint8_t *p = image + y * width + x;
			int			sum = p[0] + p[1] + p[width] + p[width + 1];

			printf("%c%d%s", separator, sum / 4, quarters[sum % 4]);
			separator = ',';
		}
	}
	fputs("]\n", stdout);
}

int
main(void)
{
	static uint8_t image[MAX_SIDE * MAX_SIDE];
	uint32_t	n;
	uint32_t	height;
	uint32_t	width;

	if (read_number(stdin) != IMAGES_MAGIC)
		fail("these are not images in idx format");
	n = read_number(stdin);
	height = read_number(stdin);
	width = read_number(stdin);
	if (height < 2 || width < 2 || height > MAX_SIDE || width > MAX_SIDE)
		fail("unexpected image size");

	for (uint32_t i = 0; i < n; i++)
	{
		read_bytes(stdin, image, (size_t) height * width);
		printf("%ld\t", (long) i + 1);
		write_vector(image, height, width);
	}
	if (fclose(stdout) != 0)
		fail("cannot write");
	return 0;
}
