/*
 * data/unpacker.h: a file, compressed or not, that a thread reads into memory in use already.
 */
#ifndef NW_UNPACKER_H
#define NW_UNPACKER_H

#include "base/util.h"

typedef struct NwStream NwStream;

/* open a file and read its first bytes; fewer where it is shorter */
NwStream *nw_stream_open(const char *path, void *head, size_t len, size_t *got);

/* more bytes than the file can hold, its header included; SIZE_MAX where that is not known */
size_t nw_stream_bound(const NwStream *s);

/* read all the rest, `size` bytes it must be, into the caller's memory */
void nw_stream_start(NwStream *s, void *into, size_t size);
void nw_stream_await(NwStream *s, size_t end); /* until the first `end` of these are there */
void nw_stream_whole(NwStream *s); /* until all are, and the file is known to be sound */
void nw_stream_close(NwStream *s);

#endif
