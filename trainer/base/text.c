/*
 * base/text.c: strings, and buffers that grow.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

#define MAX_SHORT_TEXT 200 /* bytes */

char *
nw_strdup(const char *s)
{
	size_t len = strlen(s) + 1;

	return memcpy(nw_alloc(len), s, len);
}

char *
nw_vprintf(const char *fmt, va_list ap)
{
	va_list again;
	int len;
	char *s;

	va_copy(again, ap);
	len = vsnprintf(NULL, 0, fmt, ap);
	s = nw_alloc((size_t) len + 1);
	vsnprintf(s, (size_t) len + 1, fmt, again);
	va_end(again);
	return s;
}

/* Format into a string that is the caller's to free. */
char *
nw_printf(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = nw_vprintf(fmt, ap);
	va_end(ap);
	return s;
}

void
nw_buf_add(NwBuf *b, const void *data, size_t len)
{
	if (b->len + len + 1 > b->cap)
	{
		b->cap = (b->len + len + 1) * 3 / 2 + 64;
		b->data = nw_realloc(b->data, b->cap);
	}
	if (len > 0)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = 0;
}

void
nw_buf_printf(NwBuf *b, const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = nw_vprintf(fmt, ap);
	va_end(ap);
	nw_buf_add(b, s, strlen(s));
	free(s);
}

/* Append text as a JSON string, quotes included. */
void
nw_buf_json(NwBuf *b, const char *text)
{
	nw_buf_add(b, "\"", 1);
	for (; *text; text++)
	{
		unsigned char c = (unsigned char) *text;

		if (c == '"' || c == '\\')
			nw_buf_printf(b, "\\%c", c);
		else if (c < 0x20)
			nw_buf_printf(b, "\\u%04x", c);
		else
			nw_buf_add(b, text, 1);
	}
	nw_buf_add(b, "\"", 1);
}

void
nw_buf_free(NwBuf *b)
{
	free(b->data);
	*b = (NwBuf) {0};
}

/* Append numbers with commas between them; none make an empty text. */
void
nw_buf_numbers(NwBuf *b, int n, const double *v, int digits)
{
	nw_buf_add(b, NULL, 0);
	for (int i = 0; i < n; i++)
		nw_buf_printf(b, "%s%.*g", i ? "," : "", digits, v[i]);
}

/* Measure the character of UTF-8 that text begins with; 0 where it is none. */
static size_t
utf8_length(const unsigned char *p)
{
	static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000}; /* no shorter form will do */
	size_t n = p[0] < 0x80 ? 1 : p[0] < 0xc0 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	unsigned c = n == 1 ? p[0] : p[0] & (0x7fu >> n);

	if (n == 0 || p[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < n; i++)
	{
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	return c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : n;
}

/* Copy text with U+FFFD for every byte that is no UTF-8; to be freed. */
char *
nw_valid_utf8(const char *text)
{
	NwBuf b = {0};

	nw_buf_add(&b, NULL, 0);
	while (*text)
	{
		size_t n = utf8_length((const unsigned char *) text);

		nw_buf_add(&b, n > 0 ? text : "\xef\xbf\xbd", n > 0 ? n : 3);
		text += n > 0 ? n : 1;
	}
	return b.data;
}

/* Copy text that somebody else has chosen so that it can be shown: without control characters, and
 * no longer than some bytes; to be freed. */
char *
nw_short_text(const char *text)
{
	NwBuf b = {0};

	nw_buf_add(&b, NULL, 0);
	while (*text)
	{
		const unsigned char *p = (const unsigned char *) text;
		size_t n = utf8_length(p);
		bool control = n == 0 || p[0] < 0x20 || p[0] == 0x7f || (p[0] == 0xc2 && p[1] < 0xa0);

		if (b.len + (control ? 1 : n) > MAX_SHORT_TEXT)
			break;
		nw_buf_add(&b, control ? "?" : text, control ? 1 : n);
		text += n > 0 ? n : 1;
	}
	return b.data;
}

/* Cut characters such as these off the end of a text. */
void
nw_trim_end(char *text, const char *these)
{
	size_t len = strlen(text);

	while (len > 0 && strchr(these, text[len - 1]) != NULL)
		text[--len] = 0;
}
