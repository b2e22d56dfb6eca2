/*
 * fuzz_exif.c
 *		EXIF blocks: which way up an image is, read from a whole file, or from a
 *		block that a sound JPEG or PNG is put around.
 *
 * options: -max_len=1024
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "data/exif.h"
#include "harness.h"

/* Write a number of so many bytes, the highest first. */
static size_t
put(uint8_t *at, size_t bytes, size_t v)
{
	for (size_t i = 0; i < bytes; i++)
		at[i] = (uint8_t) (v >> 8 * (bytes - 1 - i));
	return bytes;
}

/* Put the head of a JPEG around a block. */
static size_t
wrap_jpeg(FuzzInput block, uint8_t *out)
{
	size_t n = 0;

	n += put(out, 4, 0xffd8ffe1);
	n += put(out + n, 2, block.size + 8);
	memcpy(out + n, "Exif\0\0", 6);
	n += 6;
	memcpy(out + n, block.data, block.size);
	return n + block.size;
}

/* Put the head of a PNG around a block. */
static size_t
wrap_png(FuzzInput block, uint8_t *out)
{
	size_t n = 8;

	memcpy(out, "\x89PNG\r\n\x1a\n", 8);
	n += put(out + n, 4, block.size);
	memcpy(out + n, "eXIf", 4);
	memcpy(out + n + 4, block.data, block.size);
	n += 4 + block.size;
	n += put(out + n, 4, crc32(0, out + 12, (uInt) block.size + 4));
	return n;
}

/* Read bytes of exactly this size, so that a byte too many is seen. */
static int
read_exact(const uint8_t *data, size_t size)
{
	void *bytes = fuzz_copy((FuzzInput) {data, size});
	int orientation = nw_exif_orientation(bytes, size);

	free(bytes);
	if (orientation < 1 || orientation > 8)
		fuzz_broken("an orientation is one of eight");
	return orientation;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FuzzInput in = {data, size};
	uint8_t how = fuzz_byte(&in);
	uint8_t file[2048];

	if (in.size > 1024)
		return 0;
	if (how & 1)
		read_exact(in.data, in.size);
	else
	{
		int jpeg = read_exact(file, wrap_jpeg(in, file));
		int png = read_exact(file, wrap_png(in, file));

		if (jpeg != png)
			fuzz_broken("a block says the same in either kind of file");
	}
	return 0;
}
