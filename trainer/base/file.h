/*
 * base/file.h: whole files, read and written.
 */
#ifndef NW_FILE_H
#define NW_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

void nw_read_file(const char *path, NwBuf *into);
bool nw_try_read_stdin(NwBuf *into);
bool nw_try_read_file(const char *path, NwBuf *into);
bool nw_try_read_regular_file(const char *path, NwBuf *into, const char **problem);
char *nw_try_write_file(const char *path, const void *data, size_t len);
void nw_write_file(const char *path, const void *data, size_t len);
void nw_remove_file(const char *path);
void nw_check_folder(const char *path);
void nw_check_writable(const char *path);
bool nw_same_file(const char *a, const char *b);

#endif
