/*
 * bytes/array_text.c
 *		Read the elements of an array out of its text, as PostgreSQL prints it.
 *
 * Strict: what PostgreSQL would not print is refused, but for rows of a matrix
 * that are not equally long.  Elements of all dimensions come in one list.
 */
#include "bytes/array_text.h"

#include <stdbool.h>
#include <string.h>

/* A text that is being read. */
typedef struct Reader
{
	const char *at;
	const char *end;
	char *space; /* where the next element goes */
} Reader;

/* How many elements a text has at most, by its commas. */
size_t
nw_array_text_room(const char *text, size_t len)
{
	size_t room = 1;

	for (size_t i = 0; i < len; i++)
		room += text[i] == ',';
	return room;
}

/* Step over a character; false where another one comes, or none. */
static bool
skip(Reader *reader, char expected)
{
	if (reader->at == reader->end || *reader->at != expected)
		return false;
	reader->at++;
	return true;
}

/* Step over the number of a bound. */
static bool
skip_number(Reader *reader)
{
	const char *first;

	(void) skip(reader, '-');
	first = reader->at;
	while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9')
		reader->at++;
	return reader->at > first;
}

/* Step over the bounds of dimensions that do not begin at 1: [0:1][5:7]= */
static bool
skip_bounds(Reader *reader)
{
	if (reader->at == reader->end || *reader->at != '[')
		return true;
	while (skip(reader, '['))
	{
		if (!skip_number(reader) || !skip(reader, ':') || !skip_number(reader) ||
		    !skip(reader, ']'))
			return false;
	}
	return skip(reader, '=');
}

/* Read an element in quotes, the first of which is behind. */
static bool
read_quoted(Reader *reader, NwElement *element)
{
	element->data = reader->space;
	while (reader->at < reader->end && *reader->at != '"')
	{
		if (*reader->at == '\\' && ++reader->at == reader->end)
			return false;
		*reader->space++ = *reader->at++;
	}
	element->len = (size_t) (reader->space - element->data);
	return skip(reader, '"');
}

/* Say whether an element is the word for no element at all. */
static bool
is_null(const char *text, size_t len)
{
	const char *word = "null";

	if (len != strlen(word))
		return false;
	for (size_t i = 0; i < len; i++)
	{
		if ((text[i] | ('a' ^ 'A')) != word[i])
			return false;
	}
	return true;
}

/* Read an element without quotes. */
static bool
read_bare(Reader *reader, NwElement *element)
{
	const char *first = reader->at;

	while (reader->at < reader->end && *reader->at != '\0' &&
	       strchr("\"\\{}, \t\n\v\f\r", *reader->at) == NULL)
		reader->at++;
	element->len = (size_t) (reader->at - first);
	if (element->len == 0)
		return false;
	if (is_null(first, element->len))
	{
		*element = (NwElement) {NULL, 0};
		return true;
	}
	memcpy(reader->space, first, element->len);
	element->data = reader->space;
	reader->space += element->len;
	return true;
}

/*
 * Read up to so many elements; their bytes go to space, which has room for len.  Returns
 * how many there are, -1 where the text is not that of an array.
 */
long
nw_array_text_read(const char *text, size_t len, char *space, NwElement *element, size_t room)
{
	Reader reader = {text, text + len, space};
	size_t n = 0;
	int depth = 0;
	int leaf = 0; /* depth of all elements; 0 until the first */

	if (!skip_bounds(&reader))
		return -1;
	for (;;)
	{
		/* down to an element */
		while (skip(&reader, '{'))
		{
			if (++depth > NW_ARRAY_DEPTH)
				return -1;
		}
		if (depth == 1 && n == 0 && skip(&reader, '}'))
			return reader.at == reader.end ? 0 : -1;
		if (depth == 0 || (leaf > 0 && depth != leaf) || n == room)
			return -1;
		leaf = depth;
		if (skip(&reader, '"') ? !read_quoted(&reader, &element[n])
		                       : !read_bare(&reader, &element[n]))
			return -1;
		n++;

		/* up to the next comma */
		while (skip(&reader, '}'))
		{
			if (--depth == 0)
				return reader.at == reader.end ? (long) n : -1;
		}
		if (!skip(&reader, ','))
			return -1;
	}
}
