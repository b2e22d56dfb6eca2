/*
 * data/unpacker.c: a file, compressed or not, that a thread reads into memory in use already.
 *
 * Unpacking takes a good part of the time that a small model needs for what is
 * unpacked, so it goes on while the first images are on their way.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "data/unpacker.h"

#define CHUNK (256 << 10) /* large enough that zlib unpacks it in its place */
#define BUFFER (64 << 10)
#define MAX_RATIO 1032 /* what deflate makes of a byte at most */

struct NwStream
{
	char *path;
	gzFile file;
	char *into;
	size_t size;
	_Atomic size_t there;
	bool started;
	bool whole;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t change;
};

/* Read up to so many bytes; fewer only at the end of the file. */
static size_t
read_some(NwStream *s, void *into, size_t len)
{
	int n = gzread(s->file, into, (unsigned) len);
	int status;
	const char *why = gzerror(s->file, &status);

	if (n < 0 || status == Z_BUF_ERROR) /* the latter: cut short */
		nw_fatal("could not read \"%s\": %s", s->path, status == Z_ERRNO ? strerror(errno) : why);
	return (size_t) n;
}

/* Open a file, and read its first bytes. */
NwStream *
nw_stream_open(const char *path, void *head, size_t len, size_t *got)
{
	NwStream *s = nw_alloc0(sizeof(NwStream));

	s->path = nw_strdup(path);
	errno = 0;
	s->file = gzopen(path, "rb");
	if (s->file == NULL)
		nw_fatal("could not read \"%s\": %s", path, errno ? strerror(errno) : "out of memory");
	gzbuffer(s->file, BUFFER);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->change, NULL);
	*got = read_some(s, head, len);
	return s;
}

/* Bound what a file can hold. */
size_t
nw_stream_bound(const NwStream *s)
{
	struct stat st;

	if (stat(s->path, &st) != 0 || !S_ISREG(st.st_mode) ||
	    (uint64_t) st.st_size > SIZE_MAX / MAX_RATIO - 1)
		return SIZE_MAX;
	return gzdirect(s->file) ? (size_t) st.st_size : ((size_t) st.st_size + 1) * MAX_RATIO;
}

/* Tell those who wait how far the file is read. */
static void
tell(NwStream *s, size_t there, bool whole)
{
	pthread_mutex_lock(&s->lock);
	atomic_store_explicit(&s->there, there, memory_order_release);
	s->whole = whole;
	pthread_cond_broadcast(&s->change);
	pthread_mutex_unlock(&s->lock);
}

/* Read the file to its end, which must be where the size says. */
static void *
work(void *arg)
{
	NwStream *s = arg;
	char beyond[4096];
	size_t there = 0;
	size_t n;

	while (there < s->size)
	{
		n = read_some(s, s->into + there, s->size - there < CHUNK ? s->size - there : CHUNK);
		if (n == 0)
			break;
		there += n;
		tell(s, there, false);
	}
	while (there >= s->size && (n = read_some(s, beyond, sizeof(beyond))) > 0)
		there += n;
	if (there != s->size)
		nw_fatal("\"%s\" holds %zu bytes where its header says %zu", s->path, there, s->size);
	tell(s, there, true);
	return NULL;
}

/* Start the thread; signals stay with the thread that called. */
void
nw_stream_start(NwStream *s, void *into, size_t size)
{
	sigset_t all;
	sigset_t old;

	s->into = into;
	s->size = size;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&s->thread, NULL, work, s) != 0)
		nw_fatal("could not start a thread");
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	s->started = true;
}

/* Wait until the first bytes, `end` of them, are there. */
void
nw_stream_await(NwStream *s, size_t end)
{
	if (atomic_load_explicit(&s->there, memory_order_acquire) >= end)
		return;
	pthread_mutex_lock(&s->lock);
	while (atomic_load_explicit(&s->there, memory_order_acquire) < end)
		pthread_cond_wait(&s->change, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

/* Wait until the file is read and sound. */
void
nw_stream_whole(NwStream *s)
{
	pthread_mutex_lock(&s->lock);
	while (!s->whole)
		pthread_cond_wait(&s->change, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

/* Wait for the thread, and close the file. */
void
nw_stream_close(NwStream *s)
{
	if (s->started)
		pthread_join(s->thread, NULL);
	gzclose(s->file);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->change);
	free(s->path);
	free(s);
}
