/*
 * data/table.c: images in a bytea column of a table.
 *
 * Encoded images are kept in memory, in order of their id; rows without an image
 * are left out.
 */
#include <stdlib.h>
#include <string.h>

#include "data/dataset.h"
#include "db/pg.h"

/* Read one row into the source. */
static void
read_row(NwSource *s, const PGresult *r, int row, int64_t *cap, char ***names)
{
	if (s->n >= *cap)
	{
		*cap = *cap ? *cap * 2 : 256;
		s->blob = nw_realloc(s->blob, (size_t) *cap * sizeof(NwBuf));
		s->id = nw_realloc(s->id, (size_t) *cap * sizeof(NwBuf));
		*names = nw_realloc(*names, (size_t) *cap * sizeof(char *));
	}
	s->id[s->n] = s->blob[s->n] = (NwBuf) {0};
	nw_buf_add(&s->id[s->n], PQgetvalue(r, row, 0), (size_t) PQgetlength(r, row, 0));
	nw_buf_add(&s->blob[s->n], PQgetvalue(r, row, 1), (size_t) PQgetlength(r, row, 1));
	(*names)[s->n] = PQgetisnull(r, row, 2) ? NULL : nw_strdup(PQgetvalue(r, row, 2));
	s->n++;
}

/* Open a table of images. */
NwSource *
nw_source_table(const NwSourceOptions *options)
{
	NwSource *s = nw_alloc0(sizeof(NwSource));
	PGconn *c = nw_pg_connect(options->dsn);
	char *relation = nw_pg_relation(c, options->table);
	char *image = nw_pg_ident(c, options->image_column);
	char *id = nw_pg_ident(c, options->id_column);
	char *label = options->label_column ? nw_pg_ident(c, options->label_column) : nw_strdup("NULL");
	char *sql;
	char **names = NULL;
	int64_t cap = 0;
	PGresult *r;

	if (relation == NULL)
		nw_fatal("table \"%s\" does not exist", options->table);
	r = nw_pg_query(
		c, PGRES_TUPLES_OK, 2, (const char *[]) {relation, options->id_column},
		"SELECT pg_catalog.format_type(a.atttypid, a.atttypmod) FROM pg_catalog.pg_attribute a"
		" WHERE a.attrelid = $1::pg_catalog.regclass AND a.attname = $2 AND NOT a.attisdropped");
	if (PQntuples(r) != 1)
		nw_fatal("table \"%s\" has no column \"%s\"", options->table, options->id_column);
	s->id_type = nw_strdup(PQgetvalue(r, 0, 0));
	PQclear(r);
	sql =
		nw_printf("SELECT %s, %s::pg_catalog.bytea, %s::pg_catalog.text FROM %s"
	              " WHERE %s IS NOT NULL AND %s IS NOT NULL%s%s%s ORDER BY 1",
	              id, image, label, relation, id, image, options->label_column ? " AND " : "",
	              options->label_column ? label : "", options->label_column ? " IS NOT NULL" : "");
	if (!PQsendQueryParams(c, sql, 0, NULL, NULL, NULL, NULL, 1) || !PQsetSingleRowMode(c))
		nw_pg_fatal(c, options->table);
	while ((r = PQgetResult(c)) != NULL)
	{
		ExecStatusType status = PQresultStatus(r);

		if (status == PGRES_SINGLE_TUPLE)
			read_row(s, r, 0, &cap, &names);
		else if (status != PGRES_TUPLES_OK)
			nw_pg_fatal(c, options->table);
		PQclear(r);
	}
	PQfinish(c);
	s->name = nw_strdup(options->table);
	free(sql);
	free(relation);
	free(image);
	free(id);
	free(label);
	nw_source_set_labels(s, names ? names : nw_alloc(1));
	return s;
}
