/*
 * bytes/vector_text.c
 *		Read vectors out of text as plain as they print themselves,
 *		[1,-2.5,3e-7], by the function that pgvector uses for its numbers.
 */
#include "bytes/vector_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* How many elements a text has at most, by its commas; 0 where it is surely not plain. */
int
nw_vector_text_room(const char *text)
{
	int room = 1;

	if (*text != '[')
		return 0;
	for (; *text; text++)
	{
		room += *text == ',';
		if (room > NW_MAX_DIM)
			return 0;
	}
	return room;
}

/* Read up to so many elements; returns how many, 0 where the text is not plain. */
int
nw_vector_text_read(const char *text, float *x, int room)
{
	int dim = 0;

	if (*text != '[')
		return 0;
	while (*text != ']')
	{
		size_t length = strspn(++text, "0123456789.e+-");
		char *end;

		if (length == 0 || dim == room)
			return 0;
		errno = 0;
		x[dim++] = strtof(text, &end);
		if (end != text + length || errno != 0 || (*end != ',' && *end != ']'))
			return 0;
		text = end;
	}
	return text[1] == '\0' ? dim : 0;
}
