/*
 * data/exif.h: which way up an image is, as its file says.
 */
#ifndef NW_EXIF_H
#define NW_EXIF_H

#include <stddef.h>

int nw_exif_orientation(const void *file, size_t len);

#endif
