/*
 * bytes/vector_text.h
 *		Read vectors out of text as plain as they print themselves,
 *		[1,-2.5,3e-7].
 *
 * Pure C: no PostgreSQL, no allocation, no errors.
 */
#ifndef NW_BYTES_VECTOR_TEXT_H
#define NW_BYTES_VECTOR_TEXT_H

/* The dimensions of a vector at most: pgvector's own limit. */
#define NW_MAX_DIM 16000

extern int nw_vector_text_room(const char *text);
extern int nw_vector_text_read(const char *text, float *x, int room);

#endif /* NW_BYTES_VECTOR_TEXT_H */
