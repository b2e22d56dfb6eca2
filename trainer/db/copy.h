/*
 * db/copy.h: rows with a vector column, written by binary COPY.
 */
#ifndef NW_COPY_H
#define NW_COPY_H

#include <stdint.h>

#include "base/text.h"
#include "db/pg.h"

typedef struct NwCopy
{
	PGconn *conn;
	const char *what; /* the table, for messages */
	NwBuf buf;
} NwCopy;

void nw_copy_begin(NwCopy *c, PGconn *conn, const char *relation);
void nw_copy_row(NwCopy *c, const void *id, int id_len, const char *label, const float *vector,
                 int dim);
void nw_copy_row_bigint(NwCopy *c, int64_t id, const char *label, const float *vector, int dim);
void nw_copy_end(NwCopy *c);

#endif
