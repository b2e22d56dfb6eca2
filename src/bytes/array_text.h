/*
 * bytes/array_text.h
 *		Read the elements of an array out of its text, as PostgreSQL prints it:
 *		{a,"b c",NULL}, {{1,2},{3,4}}, [0:1]={x,y}.
 *
 * Pure C: no PostgreSQL, no allocation, no errors.
 */
#ifndef NW_BYTES_ARRAY_TEXT_H
#define NW_BYTES_ARRAY_TEXT_H

#include <stddef.h>

/* Dimensions of an array at most: PostgreSQL's own limit. */
#define NW_ARRAY_DEPTH 6

/* An element, without quotes. */
typedef struct NwElement
{
	const char *data; /* NULL where it is null */
	size_t len;
} NwElement;

extern size_t nw_array_text_room(const char *text, size_t len);
extern long nw_array_text_read(const char *text, size_t len, char *space, NwElement *element,
                               size_t room);

#endif /* NW_BYTES_ARRAY_TEXT_H */
