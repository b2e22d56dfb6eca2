/*
 * data/table.c: images in a bytea column of a table.
 *
 * Encoded images are kept in memory, in order of their id; rows without an image
 * are left out.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "base/message.h"
#include "base/text.h"
#include "data/dataset.h"
#include "data/table.h"
#include "db/pg.h"

typedef struct Row
{
	NwBuf id;
	char *id_text;
	NwBuf blob;
	char *label; /* NULL where there is none */
} Row;

static NwBuf
copy_value(const PGresult *r, int column)
{
	NwBuf b = {0};

	nw_buf_add(&b, PQgetvalue(r, 0, column), (size_t) PQgetlength(r, 0, column));
	return b;
}

static void
set_rows(NwDataset *d, Row *row, int64_t n)
{
	char **labels = nw_alloc((size_t) n * sizeof(char *));

	d->n = n;
	d->id = nw_alloc((size_t) n * sizeof(NwBuf));
	d->id_text = nw_alloc((size_t) n * sizeof(char *));
	d->blob = nw_alloc((size_t) n * sizeof(NwBuf));
	for (int64_t i = 0; i < n; i++)
	{
		d->id[i] = row[i].id;
		d->id_text[i] = row[i].id_text;
		d->blob[i] = row[i].blob;
		labels[i] = row[i].label;
	}
	free(row);
	nw_dataset_set_labels(d, labels);
}

NwDataset *
nw_table_open(const NwDatasetOptions *options)
{
	NwDataset *d = nw_alloc0(sizeof(NwDataset));
	PGconn *c = nw_pg_connect(options->dsn);
	char *relation = nw_pg_relation(c, options->table);
	char *image = nw_pg_ident(c, options->image_column);
	char *id = nw_pg_ident(c, options->id_column);
	char *label = options->label_column ? nw_pg_ident(c, options->label_column) : nw_strdup("NULL");
	char *known = options->known ? nw_pg_relation(c, options->known) : NULL;
	NwBuf sql = {0};
	Row *row = NULL;
	int64_t n = 0;
	int64_t cap = 0;
	PGresult *r;

	if (relation == NULL)
		nw_fatal("table \"%s\" does not exist", options->table);
	r = nw_pg_query(
		c, PGRES_TUPLES_OK, 2, (const char *[]) {relation, options->id_column},
		"SELECT pg_catalog.format_type(a.atttypid, a.atttypmod) FROM pg_catalog.pg_attribute a"
		" WHERE a.attrelid" NW_EQ "$1::pg_catalog.regclass AND a.attname" NW_EQ
		"$2 AND NOT a.attisdropped");
	if (PQntuples(r) != 1)
		nw_fatal("table \"%s\" has no column \"%s\"", options->table, options->id_column);
	d->id_type = nw_strdup(PQgetvalue(r, 0, 0));
	PQclear(r);
	nw_buf_printf(
		&sql,
		"SELECT %s, %s::pg_catalog.bytea, %s::pg_catalog.text, %s::pg_catalog.text FROM %s"
		" WHERE %s IS NOT NULL AND %s IS NOT NULL",
		id, image, label, id, relation, id, image);
	if (options->label_column)
		nw_buf_printf(&sql, " AND %s IS NOT NULL", label);
	if (known)
		nw_buf_printf(&sql,
		              " AND NOT EXISTS (SELECT FROM %s AS known WHERE known.id" NW_EQ "%s.%s)",
		              known, relation, id);
	nw_buf_printf(&sql, " ORDER BY 1");
	if (!PQsendQueryParams(c, sql.data, 0, NULL, NULL, NULL, NULL, 1) || !PQsetSingleRowMode(c))
		nw_pg_fatal(c, options->table);
	while ((r = PQgetResult(c)) != NULL)
	{
		ExecStatusType status = PQresultStatus(r);

		if (status == PGRES_SINGLE_TUPLE)
		{
			NW_GROW(row, n, cap);
			row[n++] = (Row) {copy_value(r, 0), nw_strdup(PQgetvalue(r, 0, 3)), copy_value(r, 1),
			                  PQgetisnull(r, 0, 2) ? NULL : nw_strdup(PQgetvalue(r, 0, 2))};
		}
		else if (status != PGRES_TUPLES_OK)
			nw_pg_fatal(c, options->table);
		PQclear(r);
	}
	PQfinish(c);
	d->name = nw_strdup(options->table);
	nw_buf_free(&sql);
	free(known);
	free(relation);
	free(image);
	free(id);
	free(label);
	set_rows(d, row, n);
	return d;
}
