/*
 * base/text.h: strings, and buffers that grow.
 */
#ifndef NW_TEXT_H
#define NW_TEXT_H

#include <stdarg.h>
#include <stddef.h>

/* bytes, always followed by a zero byte once something was added */
typedef struct NwBuf
{
	char *data;
	size_t len;
	size_t cap;
} NwBuf;

char *nw_strdup(const char *s);
char *nw_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *nw_vprintf(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));
char *nw_valid_utf8(const char *text);
char *nw_short_text(const char *text);
void nw_trim_end(char *text, const char *these);

void nw_buf_add(NwBuf *b, const void *data, size_t len);
void nw_buf_printf(NwBuf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void nw_buf_json(NwBuf *b, const char *text);
void nw_buf_numbers(NwBuf *b, int n, const double *v, int digits);
void nw_buf_free(NwBuf *b);

#endif
