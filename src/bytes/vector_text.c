/*
 * bytes/vector_text.c
 *		Read vectors out of text as plain as they print themselves,
 *		[1,-2.5,3e-7], by the function that pgvector uses for its numbers.
 */
#include "bytes/vector_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* pgvector's limit on the dimensions of a vector */
#define PLAIN_MAX_DIM 16000

/* Count elements by their commas. */
int
nw_vectext_room(const char *text)
{
	int room = 1;

	if (*text != '[')
		return 0;
	for (; *text; text++)
	{
		room += *text == ',';
		if (room > PLAIN_MAX_DIM)
			return 0;
	}
	return room;
}

/* Read the elements. */
int
nw_vectext_read(const char *text, float *x, int room)
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
