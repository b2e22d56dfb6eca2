/*
 * data/exif.c: which way up an image is, as its file says.
 *
 * A camera stores the pixels as they come, and how it was held as a number from 1 to 8
 * in the EXIF block: segment APP1 of a JPEG, chunk eXIf of a PNG.  Whatever is wrong
 * with a block, or leads out of it, counts as its absence: the image is as it is stored.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>

#include "data/exif.h"

#define UPRIGHT 1

#define TAG_ORIENTATION 0x0112
#define TYPE_SHORT 3
#define ENTRY_BYTES 12

/* bytes that somebody else wrote; nothing is read beyond them */
typedef struct Bytes
{
	const uint8_t *at;
	size_t len;
} Bytes;

/* Take a part of bytes; an empty one where they have no such part. */
static Bytes
part(Bytes b, size_t from, size_t len)
{
	if (from > b.len || len > b.len - from)
		return (Bytes) {b.at, 0};
	return (Bytes) {b.at + from, len};
}

static Bytes
rest(Bytes b, size_t from)
{
	return from > b.len ? (Bytes) {b.at, 0} : part(b, from, b.len - from);
}

static bool
begins_with(Bytes b, const char *what, size_t len)
{
	return b.len >= len && memcmp(b.at, what, len) == 0;
}

/* Read a number of 2 or 4 bytes; 0 where there are not so many. */
static uint32_t
number(Bytes b, size_t from, size_t len, bool little)
{
	Bytes n = part(b, from, len);
	uint32_t v = 0;

	for (size_t i = 0; i < n.len; i++)
		v = v << 8 | n.at[little ? n.len - 1 - i : i];
	return v;
}

/* Read the orientation in a TIFF header's first directory. */
static int
in_tiff(Bytes tiff)
{
	bool little = begins_with(tiff, "II*\0", 4);
	Bytes directory;
	uint32_t entries;

	if (!little && !begins_with(tiff, "MM\0*", 4))
		return UPRIGHT;
	directory = rest(tiff, number(tiff, 4, 4, little));
	entries = number(directory, 0, 2, little);
	for (uint32_t i = 0; i < entries; i++)
	{
		Bytes entry = part(directory, 2 + (size_t) i * ENTRY_BYTES, ENTRY_BYTES);
		uint32_t v;

		if (entry.len == 0)
			break;
		if (number(entry, 0, 2, little) != TAG_ORIENTATION)
			continue;
		v = number(entry, 8, 2, little);
		return number(entry, 2, 2, little) == TYPE_SHORT && number(entry, 4, 4, little) == 1 &&
		               v >= 1 && v <= 8
		           ? (int) v
		           : UPRIGHT;
	}
	return UPRIGHT;
}

/* Walk the segments of a JPEG up to its first scan, and read the first EXIF block. */
static int
in_jpeg(Bytes file)
{
	size_t at = 2;

	while (at + 1 < file.len && file.at[at] == 0xff)
	{
		uint8_t marker = file.at[at + 1];
		uint32_t len;
		Bytes segment;

		if (marker == 0xff) /* before a marker there may be any number of these */
		{
			at++;
			continue;
		}
		at += 2;
		if (marker == 0x01 || (marker >= 0xd0 && marker <= 0xd7)) /* of no length */
			continue;
		len = number(file, at, 2, false);
		if (marker == 0xda || marker == 0xd9 || len < 2)
			break;
		segment = part(file, at + 2, len - 2);
		if (marker == 0xe1 && begins_with(segment, "Exif\0\0", 6))
			return in_tiff(rest(segment, 6));
		at += len;
	}
	return UPRIGHT;
}

/* Walk the chunks of a PNG, and read the one of EXIF where its checksum is right. */
static int
in_png(Bytes file)
{
	size_t at = 8;

	while (at < file.len && file.len - at >= 12)
	{
		uint32_t len = number(file, at, 4, false);
		Bytes named;

		if (len > file.len - at - 12)
			break;
		named = part(file, at + 4, 4 + (size_t) len);
		if (begins_with(named, "eXIf", 4))
			return crc32(0, named.at, (uInt) named.len) == number(file, at + 8 + len, 4, false)
			           ? in_tiff(rest(named, 4))
			           : UPRIGHT;
		at += 12 + (size_t) len;
	}
	return UPRIGHT;
}

/* Read how a JPEG or PNG is to be turned: 1 (not at all) to 8, as EXIF numbers it. */
int
nw_exif_orientation(const void *file, size_t len)
{
	Bytes bytes = {file, len};

	if (begins_with(bytes, "\xff\xd8", 2))
		return in_jpeg(bytes);
	if (begins_with(bytes, "\x89PNG\r\n\x1a\n", 8))
		return in_png(bytes);
	return UPRIGHT;
}
