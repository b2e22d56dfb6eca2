/*
 * db/support_set.c: a registered set that is asked for labels and reasons.
 */
#include <stdlib.h>

#include "base/message.h"
#include "base/model_note.h"
#include "base/text.h"
#include "db/pg.h"
#include "db/support_set.h"

#define LABEL "nw_label"
#define REASONS "nw_reasons"

/* Prepare a statement; frees its text. */
static void
prepare(PGconn *c, const char *statement, char *sql)
{
	PGresult *r = PQprepare(c, statement, sql, 0, NULL);

	if (PQresultStatus(r) != PGRES_COMMAND_OK)
		nw_pg_fatal(c, "database");
	PQclear(r);
	free(sql);
}

/* Say which model the comment of a column notes, one other than ours where there is such. */
static char *
noted_model(PGconn *c, const char *relation, const char *column, const char *ours)
{
	char *comment = nw_pg_column_comment(c, relation, column);
	char *model = comment ? nw_note_find(comment, ours) : NULL;

	if (comment && !model)
		model = nw_note_find(comment, NULL);
	free(comment);
	return model;
}

/* Open a set for queries that a model makes. */
NwSupportSet
nw_support_set_open(PGconn *c, const char *name, const char *model)
{
	NwSupportSet s = {.conn = c, .name = name};
	char *schema = nw_pg_extension(c, "nwhead");
	char *vector = nw_pg_extension(c, "vector");
	PGresult *r;

	/* prototypes are copies of their parent's rows; a column that may be missing is read as JSON */
	r = nw_pg_query(c, PGRES_TUPLES_OK, 1, (const char *[]) {name},
	                "SELECT s.dim, COALESCE(s.relation, p.relation), COALESCE(s.embedding,"
	                " p.embedding), COALESCE(pg_catalog.to_jsonb(s) ->> 'model',"
	                " pg_catalog.to_jsonb(p) ->> 'model') FROM %s.nw_sets s"
	                " LEFT JOIN %s.nw_sets p ON p.name = s.parent WHERE s.name = $1",
	                schema, schema);
	if (PQntuples(r) != 1)
		nw_fatal("there is no set \"%s\"", name);
	s.dim = atoi(PQgetvalue(r, 0, 0));
	if (!PQgetisnull(r, 0, 3))
		s.model = nw_strdup(PQgetvalue(r, 0, 3));
	else if (!PQgetisnull(r, 0, 1))
	{
		char *relation = nw_pg_relation(c, PQgetvalue(r, 0, 1));

		s.model = relation ? noted_model(c, relation, PQgetvalue(r, 0, 2), model) : NULL;
		free(relation);
	}
	PQclear(r);
	prepare(c, LABEL,
	        nw_printf("SELECT label, confidence FROM %s.nw_classify($1::%s.vector, $2)", schema,
	                  vector));
	prepare(c, REASONS,
	        nw_printf("SELECT support_id, label, distance, weight"
	                  " FROM %s.nw_weights($1::%s.vector, $2, $3::pg_catalog.int4,"
	                  " exclude => '{}'::pg_catalog.text[])",
	                  schema, vector));
	free(schema);
	free(vector);
	return s;
}

/* Run a prepared statement whose first arguments are a query and the set. */
static PGresult *
ask(const NwSupportSet *s, const char *statement, const float *query, const char *more)
{
	NwBuf text = {0};
	PGresult *r;

	for (int i = 0; i < s->dim; i++)
		nw_buf_printf(&text, "%c%.9g", i ? ',' : '[', query[i]);
	nw_buf_add(&text, "]", 1);
	r = PQexecPrepared(s->conn, statement, more ? 3 : 2,
	                   (const char *[]) {text.data, s->name, more}, NULL, NULL, 0);
	if (PQresultStatus(r) != PGRES_TUPLES_OK)
		nw_pg_fatal(s->conn, s->name);
	nw_buf_free(&text);
	return r;
}

/* Ask for a label and its confidence: one row of two columns. */
PGresult *
nw_support_set_label(const NwSupportSet *s, const float *query)
{
	return ask(s, LABEL, query, NULL);
}

/* Ask for the heaviest supports: rows of id, label, distance and weight. */
PGresult *
nw_support_set_reasons(const NwSupportSet *s, const float *query, int top)
{
	char *n = nw_printf("%d", top);
	PGresult *r = ask(s, REASONS, query, n);

	free(n);
	return r;
}
