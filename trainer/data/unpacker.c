/*
 * data/unpacker.c: a file, compressed or not, that a thread reads into memory in use already.
 *
 * Unpacking takes a good part of the time that a small model needs for what is
 * unpacked, so it goes on while the first images are on their way.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/memory.h"
#include "base/message.h"
#include "base/text.h"
#include "base/thread.h"
#include "data/unpacker.h"

#define CHUNK (256 << 10) /* large enough that zlib unpacks it in its place */
#define BUFFER (64 << 10)
#define MAX_RATIO 1032 /* what deflate makes of a byte at most */

struct NwUnpacker
{
	char *path;
	gzFile file;
	char *into;
	size_t size;          /* of what `into` takes */
	_Atomic size_t there; /* of that */
	bool started;
	bool whole; /* read, and sound */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t change;
};

/* Read up to so many bytes; fewer only at the end of the file. */
static size_t
read_some(NwUnpacker *u, void *into, size_t len)
{
	int n = gzread(u->file, into, (unsigned) len);
	int status;
	const char *why = gzerror(u->file, &status);

	if (n < 0 || status == Z_BUF_ERROR) /* the latter: cut short */
		nw_fatal("could not read \"%s\": %s", u->path, status == Z_ERRNO ? strerror(errno) : why);
	return (size_t) n;
}

/* Open a file, and read its first bytes; fewer where it is shorter. */
NwUnpacker *
nw_unpacker_open(const char *path, void *head, size_t len, size_t *got)
{
	NwUnpacker *u = nw_alloc0(sizeof(NwUnpacker));

	u->path = nw_strdup(path);
	errno = 0;
	u->file = gzopen(path, "rb");
	if (u->file == NULL)
		nw_fatal("could not read \"%s\": %s", path, errno ? strerror(errno) : "out of memory");
	gzbuffer(u->file, BUFFER);
	pthread_mutex_init(&u->lock, NULL);
	pthread_cond_init(&u->change, NULL);
	*got = read_some(u, head, len);
	return u;
}

/* Return more bytes than the file can hold, its header included; SIZE_MAX where that is not known.
 */
size_t
nw_unpacker_bound(const NwUnpacker *u)
{
	struct stat st;

	if (stat(u->path, &st) != 0 || !S_ISREG(st.st_mode) ||
	    (uint64_t) st.st_size > SIZE_MAX / MAX_RATIO - 1)
		return SIZE_MAX;
	return gzdirect(u->file) ? (size_t) st.st_size : ((size_t) st.st_size + 1) * MAX_RATIO;
}

/* Tell those who wait how far the file is read. */
static void
tell(NwUnpacker *u, size_t there, bool whole)
{
	pthread_mutex_lock(&u->lock);
	atomic_store_explicit(&u->there, there, memory_order_release);
	u->whole = whole;
	pthread_cond_broadcast(&u->change);
	pthread_mutex_unlock(&u->lock);
}

/* Read the file to its end, which must be where the size says. */
static void *
work(void *arg)
{
	NwUnpacker *u = arg;
	char beyond[4096];
	size_t there = 0;
	size_t n;

	while (there < u->size)
	{
		n = read_some(u, u->into + there, u->size - there < CHUNK ? u->size - there : CHUNK);
		if (n == 0)
			break;
		there += n;
		tell(u, there, false);
	}
	while (there >= u->size && (n = read_some(u, beyond, sizeof(beyond))) > 0)
		there += n;
	if (there != u->size)
		nw_fatal("\"%s\" holds %zu bytes where its header says %zu", u->path, there, u->size);
	tell(u, there, true);
	return NULL;
}

/* Have a thread read all the rest, `size` bytes it must be, into the caller's memory. */
void
nw_unpacker_start(NwUnpacker *u, void *into, size_t size)
{
	u->into = into;
	u->size = size;
	nw_thread_start(&u->thread, work, u);
	u->started = true;
}

/* Wait until the first bytes, `end` of them, are there. */
void
nw_unpacker_await(NwUnpacker *u, size_t end)
{
	if (atomic_load_explicit(&u->there, memory_order_acquire) >= end)
		return;
	pthread_mutex_lock(&u->lock);
	while (atomic_load_explicit(&u->there, memory_order_acquire) < end)
		pthread_cond_wait(&u->change, &u->lock);
	pthread_mutex_unlock(&u->lock);
}

/* Wait until the file is read, and known to be sound. */
void
nw_unpacker_whole(NwUnpacker *u)
{
	pthread_mutex_lock(&u->lock);
	while (!u->whole)
		pthread_cond_wait(&u->change, &u->lock);
	pthread_mutex_unlock(&u->lock);
}

/* Wait for the thread, and close the file. */
void
nw_unpacker_close(NwUnpacker *u)
{
	if (u->started)
		pthread_join(u->thread, NULL);
	gzclose(u->file);
	pthread_mutex_destroy(&u->lock);
	pthread_cond_destroy(&u->change);
	free(u->path);
	free(u);
}
