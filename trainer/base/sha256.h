/*
 * base/sha256.h: the SHA-256 digest of bytes.
 */
#ifndef NW_SHA256_H
#define NW_SHA256_H

#include <stddef.h>

#define NW_SHA256_HEX 64 /* digits of a digest */

void nw_sha256(const void *data, size_t len, char *hex);

#endif
