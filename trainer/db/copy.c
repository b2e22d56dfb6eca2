/*
 * db/copy.c: rows with a vector column, written by binary COPY.
 *
 * A vector's binary form is pgvector's: its dimension and an unused zero as 16-bit
 * integers, then the elements as 32-bit floats; all numbers highest byte first.
 */
#include <arpa/inet.h>
#include <string.h>

#include "base/text.h"
#include "db/copy.h"
#include "db/pg.h"

#define FLUSH_BYTES (64 << 10) /* what fits the caches on either side of the socket */

static void
add16(NwBuf *b, int v)
{
	uint16_t n = htons((uint16_t) v);

	nw_buf_add(b, &n, 2);
}

static void
add32(NwBuf *b, uint32_t v)
{
	uint32_t n = htonl(v);

	nw_buf_add(b, &n, 4);
}

/* Turn floats in place into the order of the network. */
static void
swap_floats(char *p, int n)
{
	for (int i = 0; i < n; i++, p += 4)
	{
		uint32_t bits;

		memcpy(&bits, p, 4);
		bits = htonl(bits);
		memcpy(p, &bits, 4);
	}
}

/* Hand the rows so far to the server. */
static void
flush(NwCopy *c)
{
	if (c->buf.len > 0 && PQputCopyData(c->conn, c->buf.data, (int) c->buf.len) != 1)
		nw_pg_fatal(c->conn, c->what);
	c->buf.len = 0;
}

/* Start to copy into (id, label, embedding) of a relation, its name quoted. */
void
nw_copy_begin(NwCopy *c, PGconn *conn, const char *relation)
{
	static const char header[19] = "PGCOPY\n\377\r\n\0";

	*c = (NwCopy) {.conn = conn, .what = relation};
	PQclear(nw_pg_query(conn, PGRES_COPY_IN, 0, NULL,
	                    "COPY %s (id, label, embedding) FROM STDIN (FORMAT binary)", relation));
	nw_buf_add(&c->buf, header, sizeof(header));
}

/* Write one row; the id in binary form, the label NULL where there is none. */
void
nw_copy_row(NwCopy *c, const void *id, int id_len, const char *label, const float *vector, int dim)
{
	add16(&c->buf, 3);
	add32(&c->buf, (uint32_t) id_len);
	nw_buf_add(&c->buf, id, (size_t) id_len);
	add32(&c->buf, label ? (uint32_t) strlen(label) : UINT32_MAX);
	if (label)
		nw_buf_add(&c->buf, label, strlen(label));
	add32(&c->buf, 4 + 4 * (uint32_t) dim);
	add16(&c->buf, dim);
	add16(&c->buf, 0);
	nw_buf_add(&c->buf, vector, 4 * (size_t) dim);
	swap_floats(c->buf.data + c->buf.len - 4 * (size_t) dim, dim);
	if (c->buf.len > FLUSH_BYTES)
		flush(c);
}

/* Write one row whose id is a bigint. */
void
nw_copy_row_bigint(NwCopy *c, int64_t id, const char *label, const float *vector, int dim)
{
	uint32_t halves[2] = {htonl((uint32_t) ((uint64_t) id >> 32)), htonl((uint32_t) id)};

	nw_copy_row(c, halves, 8, label, vector, dim);
}

/* End the copy, and learn whether the server took it all. */
void
nw_copy_end(NwCopy *c)
{
	PGresult *r;

	add16(&c->buf, -1);
	flush(c);
	if (PQputCopyEnd(c->conn, NULL) != 1)
		nw_pg_fatal(c->conn, c->what);
	while ((r = PQgetResult(c->conn)) != NULL)
	{
		if (PQresultStatus(r) != PGRES_COMMAND_OK)
			nw_pg_fatal(c->conn, c->what);
		PQclear(r);
	}
	nw_buf_free(&c->buf);
}
