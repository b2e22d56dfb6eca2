/*
 * data/unpacker.h: a file, compressed or not, that a thread reads into memory in use already.
 */
#ifndef NW_UNPACKER_H
#define NW_UNPACKER_H

#include <stddef.h>

typedef struct NwUnpacker NwUnpacker;

NwUnpacker *nw_unpacker_open(const char *path, void *head, size_t len, size_t *got);
size_t nw_unpacker_bound(const NwUnpacker *u);
void nw_unpacker_start(NwUnpacker *u, void *into, size_t size);
void nw_unpacker_await(NwUnpacker *u, size_t end);
void nw_unpacker_whole(NwUnpacker *u);
void nw_unpacker_close(NwUnpacker *u);

#endif
