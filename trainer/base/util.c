/*
 * base/util.c: memory, text, files and time for the nwhead program.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"

/* Allocate memory. */
void *
nw_alloc(size_t bytes)
{
	void *p = malloc(bytes ? bytes : 1);

	if (p == NULL)
		nw_fatal("out of memory (%zu bytes wanted)", bytes);
	return p;
}

/* Allocate memory filled with zeros. */
void *
nw_alloc0(size_t bytes)
{
	void *p = calloc(1, bytes ? bytes : 1);

	if (p == NULL)
		nw_fatal("out of memory (%zu bytes wanted)", bytes);
	return p;
}

/* Change the size of an allocation. */
void *
nw_realloc(void *p, size_t bytes)
{
	p = realloc(p, bytes ? bytes : 1);
	if (p == NULL)
		nw_fatal("out of memory (%zu bytes wanted)", bytes);
	return p;
}

/* Copy a string. */
char *
nw_strdup(const char *s)
{
	size_t len = strlen(s) + 1;

	return memcpy(nw_alloc(len), s, len);
}

/* Format into a string of its own, arguments given as a list. */
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

/* Format into a string of its own. */
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

/* Append bytes. */
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

/* Append formatted text. */
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

/* Give a buffer's memory back. */
void
nw_buf_free(NwBuf *b)
{
	free(b->data);
	*b = (NwBuf) {0};
}

/* Read a whole file; false, with errno set, where that is not possible. */
bool
nw_try_read_file(const char *path, NwBuf *into)
{
	char chunk[65536];
	struct stat st;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	*into = (NwBuf) {0};
	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
	{
		into->cap = (size_t) st.st_size + 1;
		into->data = nw_alloc(into->cap);
	}
	while ((n = read(fd, chunk, sizeof(chunk))) > 0)
		nw_buf_add(into, chunk, (size_t) n);
	if (n < 0)
	{
		int saved = errno;

		close(fd);
		nw_buf_free(into);
		errno = saved;
		return false;
	}
	close(fd);
	nw_buf_add(into, NULL, 0);
	return true;
}

/* Read a whole file. */
void
nw_read_file(const char *path, NwBuf *into)
{
	if (!nw_try_read_file(path, into))
		nw_fatal("could not read \"%s\": %s", path, strerror(errno));
}

/* Make a rename in a folder survive a crash. */
static void
sync_parent(const char *path)
{
	char *copy = nw_strdup(path);
	int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
	{
		fsync(fd);
		close(fd);
	}
	free(copy);
}

/* Replace a file as a whole: readers see the old content or the new, never a part. */
void
nw_write_file(const char *path, const void *data, size_t len)
{
	char *tmp = nw_printf("%s.%ld.tmp", path, (long) getpid());
	const char *p = data;
	int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	const char *what = "create";

	if (fd < 0)
		goto fail;
	what = "write";
	while (len > 0)
	{
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			goto fail;
		p += n;
		len -= (size_t) n;
	}
	if (fsync(fd) != 0)
		goto fail;
	if (close(fd) != 0)
	{
		fd = -1;
		goto fail;
	}
	fd = -1;
	what = "rename";
	if (rename(tmp, path) != 0)
		goto fail;
	sync_parent(path);
	free(tmp);
	return;

fail:
{
	int saved = errno;

	if (fd >= 0)
		close(fd);
	unlink(tmp);
	nw_fatal("could not %s \"%s\": %s", what, path, strerror(saved));
}
}

/* Find out before hours of work that a file can be written where it shall go. */
void
nw_check_writable(const char *path)
{
	char *copy = nw_strdup(path);
	char *dir = dirname(copy);
	struct stat st;

	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		nw_fatal("\"%s\" is not a regular file", path);
	if (access(dir, W_OK) != 0)
		nw_fatal("could not write to folder \"%s\": %s", dir, strerror(errno));
	free(copy);
}

/* Return seconds on a clock that only goes forward. */
double
nw_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double) ts.tv_sec + (double) ts.tv_nsec * 1e-9;
}

/* Mix the bits of a number (the finaliser of splitmix64). */
static uint64_t
mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* Start a generator that depends on nothing but its three numbers. */
NwRng
nw_rng(uint64_t seed, uint64_t stream, uint64_t step)
{
	NwRng r = {mix(mix(mix(seed + UINT64_C(0x9e3779b97f4a7c15)) + stream) + step)};

	return r;
}

/* Draw 64 random bits. */
uint64_t
nw_rng_next(NwRng *r)
{
	r->state += UINT64_C(0x9e3779b97f4a7c15);
	return mix(r->state);
}

/* Draw a number in [0, n) without bias (Lemire's method). */
uint32_t
nw_rng_below(NwRng *r, uint32_t n)
{
	uint64_t m = (uint64_t) (uint32_t) nw_rng_next(r) * n;

	if ((uint32_t) m < n)
	{
		uint32_t floor = (uint32_t) -n % n;

		while ((uint32_t) m < floor)
			m = (uint64_t) (uint32_t) nw_rng_next(r) * n;
	}
	return (uint32_t) (m >> 32);
}

/* Draw a number in [0, 1). */
double
nw_rng_uniform(NwRng *r)
{
	return (double) (nw_rng_next(r) >> 11) * 0x1p-53;
}

/* Draw from the standard normal distribution (Box-Muller). */
double
nw_rng_normal(NwRng *r)
{
	double u = 1.0 - nw_rng_uniform(r);
	double v = nw_rng_uniform(r);

	return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

/* Hash bytes (FNV-1a, mixed). */
uint64_t
nw_hash(const void *data, size_t len)
{
	const unsigned char *p = data;
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * UINT64_C(0x100000001b3);
	return mix(h);
}
