/*
 * base/util.h: memory, text, files, time and messages for the nwhead program.
 */
#ifndef NW_UTIL_H
#define NW_UTIL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NW_LENGTH(a) ((int) (sizeof(a) / sizeof((a)[0])))

/* exit statuses, as in PostgreSQL's client programs */
#define NW_EXIT_FAILED 1
#define NW_EXIT_USAGE 2

/* messages: "nwhead: error: ..." */
void nw_fatal(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
void nw_usage_error(const char *subcommand, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 2, 3)));
void nw_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void nw_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* memory: never NULL, the program ends where there is none left */
void *nw_alloc(size_t bytes);
void *nw_alloc0(size_t bytes);
void *nw_realloc(void *p, size_t bytes);
char *nw_strdup(const char *s);
char *nw_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *nw_vprintf(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));

/* grow an array so that one more element fits */
#define NW_GROW(array, n, cap)                                                \
	do                                                                        \
	{                                                                         \
		if ((n) >= (cap))                                                     \
		{                                                                     \
			(cap) = (cap) ? (cap) * 2 : 16;                                   \
			(array) = nw_realloc((array), (size_t) (cap) * sizeof(*(array))); \
		}                                                                     \
	} while (0)

/* a growing string of bytes, always followed by a zero byte */
typedef struct NwBuf
{
	char *data;
	size_t len;
	size_t cap;
} NwBuf;

void nw_buf_add(NwBuf *b, const void *data, size_t len);
void nw_buf_printf(NwBuf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void nw_buf_json(NwBuf *b, const char *text);
void nw_buf_free(NwBuf *b);

/* files */
void nw_read_file(const char *path, NwBuf *into);
bool nw_try_read_file(const char *path, NwBuf *into);
void nw_write_file(const char *path, const void *data, size_t len);
void nw_check_writable(const char *path);

/* seconds on a clock that only goes forward */
double nw_now(void);

/* a small generator whose whole state is one number: (seed, stream, step) gives it */
typedef struct NwRng
{
	uint64_t state;
} NwRng;

NwRng nw_rng(uint64_t seed, uint64_t stream, uint64_t step);
uint64_t nw_rng_next(NwRng *r);
uint32_t nw_rng_below(NwRng *r, uint32_t n);
double nw_rng_uniform(NwRng *r);
double nw_rng_normal(NwRng *r);
uint64_t nw_hash(const void *data, size_t len);

#endif
