/*
 * bytes/vector_text.h
 *		Read vectors out of text as plain as they print themselves,
 *		[1,-2.5,3e-7].
 *
 * Pure C: no PostgreSQL, no allocation, no errors.
 */
#ifndef NW_BYTES_VECTOR_TEXT_H
#define NW_BYTES_VECTOR_TEXT_H

/* How many elements the text has at most; 0 where it is surely not plain. */
extern int nw_vectext_room(const char *text);

/* Read up to so many elements; their number, 0 where the text is not plain. */
extern int nw_vectext_read(const char *text, float *x, int room);

#endif /* NW_BYTES_VECTOR_TEXT_H */
