/*
 * db/embedding_table.c: a table (id, label, embedding), made ready for rows and registered.
 */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/message.h"
#include "base/model_note.h"
#include "base/text.h"
#include "db/embedding_table.h"
#include "db/pg.h"

/* Check that a column is there and of a type; "vector" of no dimension will do for any. */
static void
check_column(PGconn *c, const char *relation, const char *name, const char *column,
             const char *wanted)
{
	PGresult *r = nw_pg_query(
		c, PGRES_TUPLES_OK, 2, (const char *[]) {relation, column},
		"SELECT pg_catalog.format_type(a.atttypid, a.atttypmod), t.typname"
		" FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid"
		" WHERE a.attrelid" NW_EQ "$1::pg_catalog.regclass AND a.attname" NW_EQ "$2"
		" AND a.attnum > 0 AND NOT a.attisdropped");
	const char *type;

	if (PQntuples(r) != 1)
		nw_fatal("table \"%s\" has no column \"%s\"", name, column);
	type = PQgetvalue(r, 0, 0);
	if (strcmp(PQgetvalue(r, 0, 1), "vector") == 0 && strncmp(wanted, "vector(", 7) == 0)
	{
		if (strchr(type, '(') == NULL)
			type = wanted;
		else if (strrchr(type, '.'))
			type = strrchr(type, '.') + 1;
	}
	if (strcmp(type, wanted) != 0)
		nw_fatal("table \"%s\": column \"%s\" is of type %s, and %s is needed", name, column, type,
		         wanted);
	PQclear(r);
}

/* Check that a column can take embeddings of a dimension. */
void
nw_embedding_column_check(PGconn *c, const char *relation, const char *column, int dim)
{
	char *vector = nw_printf("vector(%d)", dim);

	check_column(c, relation, relation, column, vector);
	free(vector);
}

/* Check that a table there is can take the rows. */
static void
check_table(PGconn *c, const char *relation, const char *name, int dim, const char *id_type)
{
	char *vector = nw_printf("vector(%d)", dim);

	check_column(c, relation, name, "id", id_type);
	check_column(c, relation, name, "label", "text");
	check_column(c, relation, name, "embedding", vector);
	free(vector);
}

/* Create a table, and return its quoted name. */
static char *
create_table(PGconn *c, const char *name, const char *id_type, int dim, const char *vector_schema)
{
	PGresult *r = nw_pg_query(
		c, PGRES_TUPLES_OK, 1, &name,
		"SELECT pg_catalog.string_agg(pg_catalog.quote_ident(p), '.' ORDER BY n)"
		" FROM pg_catalog.unnest(pg_catalog.parse_ident($1)) WITH ORDINALITY AS u(p, n)");
	char *relation = nw_strdup(PQgetvalue(r, 0, 0));

	PQclear(r);
	PQclear(nw_pg_query(
		c, PGRES_COMMAND_OK, 0, NULL,
		"CREATE TABLE %s (id %s NOT NULL, label pg_catalog.text, embedding %s.vector(%d))",
		relation, id_type, vector_schema, dim));
	return relation;
}

/* Make a table ready for rows: created, found empty, added to or emptied. */
NwEmbeddingTable
nw_embedding_table_open(PGconn *c, const char *name, const char *id_type, int dim, bool append,
                        bool replace)
{
	NwEmbeddingTable t = {.conn = c, .relation = nw_pg_relation(c, name)};
	char *vector_schema = nw_pg_extension(c, "vector");

	if (dim > NW_MAX_VECTOR_DIM)
		nw_fatal("embeddings of %d dimensions do not fit a vector column (at most %d)", dim,
		         NW_MAX_VECTOR_DIM);
	if (t.relation == NULL)
	{
		t.relation = create_table(c, name, id_type, dim, vector_schema);
		t.created = true;
	}
	else
	{
		check_table(c, t.relation, name, dim, id_type);
		if (replace)
			PQclear(nw_pg_query(c, PGRES_COMMAND_OK, 0, NULL, "DELETE FROM %s", t.relation));
		else
		{
			PGresult *r =
				nw_pg_query(c, PGRES_TUPLES_OK, 0, NULL, "SELECT FROM %s LIMIT 1", t.relation);

			t.has_rows = PQntuples(r) > 0;
			if (t.has_rows && !append)
				nw_fatal("table \"%s\" has rows already: give --append or --replace", name);
			PQclear(r);
		}
	}
	free(vector_schema);
	return t;
}

/* Give a new table its key once the rows are in: one sort is cheaper than a search for each. */
void
nw_embedding_table_finish(const NwEmbeddingTable *t)
{
	if (t->created)
		PQclear(nw_pg_query(t->conn, PGRES_COMMAND_OK, 0, NULL,
		                    "ALTER TABLE %s ADD PRIMARY KEY (id)", t->relation));
}

/* Say whether a set is registered whose rows are those of the table. */
bool
nw_embedding_table_is_set(const NwEmbeddingTable *t, const char *set)
{
	char *schema = nw_pg_extension(t->conn, "nwhead");
	PGresult *r =
		nw_pg_query(t->conn, PGRES_TUPLES_OK, 2, (const char *[]) {set, t->relation},
	                "SELECT FROM %s.nw_sets WHERE name = $1"
	                " AND pg_catalog.to_regclass(relation)" NW_EQ "$2::pg_catalog.regclass",
	                schema);
	bool found = PQntuples(r) == 1;

	PQclear(r);
	free(schema);
	return found;
}

/* Change kernel and temperature of a set, where they are given, and nothing else. */
void
nw_embedding_table_change_set(const NwEmbeddingTable *t, const char *set, const char *kernel,
                              const char *tau)
{
	char *schema = nw_pg_extension(t->conn, "nwhead");

	if (kernel)
		PQclear(nw_pg_query(
			t->conn, PGRES_TUPLES_OK, 2, (const char *[]) {set, kernel},
			"SELECT %s.nw_register(name, relation::pg_catalog.regclass, embedding => embedding,"
			" label => label, id => id, kernel => $2, tau => tau, weight => weight,"
			" replace => true) FROM %s.nw_sets WHERE name = $1",
			schema, schema));
	if (tau)
		PQclear(nw_pg_query(t->conn, PGRES_TUPLES_OK, 2, (const char *[]) {set, tau},
		                    "SELECT %s.nw_set_tau($1, $2::pg_catalog.float8)", schema));
	free(schema);
}

/* Say whether the text of a vector has these numbers. */
static bool
same_vector(const char *text, const float *row, int dim)
{
	for (int i = 0; i < dim; i++)
	{
		char *end;

		if (*text++ != (i ? ',' : '[') || strtof(text, &end) != row[i])
			return false;
		text = end;
	}
	return strcmp(text, "]") == 0;
}

/* Say whether rows of (id, label, embedding), in order of their ids, are those of a head. */
static bool
same_rows(const PGresult *r, const NwHead *head)
{
	bool same = PQntuples(r) == head->n;

	for (int i = 0; same && i < head->n; i++)
		same = atoll(PQgetvalue(r, i, 0)) == i + 1 && !PQgetisnull(r, i, 1) &&
		       strcmp(PQgetvalue(r, i, 1), head->label[i]) == 0 &&
		       same_vector(PQgetvalue(r, i, 2), head->rows + (size_t) i * (size_t) head->dim,
		                   head->dim);
	return same;
}

/* Say whether the embeddings of a table are noted to be of another model. */
static bool
notes_another(PGconn *c, const char *relation, const char *model)
{
	char *comment = nw_pg_column_comment(c, relation, "embedding");
	char *other = comment ? nw_note_find(comment, model) : NULL;
	bool found = other != NULL;

	free(other);
	free(comment);
	return found;
}

/* Learn what there is in the table that a head is to go to; ids that are paths are no head's. */
NwHeadPlace
nw_embedding_table_head(PGconn *c, const char *name, const NwHead *head)
{
	char *relation = nw_pg_relation(c, name);
	NwHeadPlace place = NW_HEAD_FREE;
	PGresult *r;

	if (relation == NULL)
		return place;
	r = nw_pg_query(c, PGRES_TUPLES_OK, 1, (const char *[]) {relation},
	                "SELECT FROM pg_catalog.pg_attribute WHERE attrelid" NW_EQ
	                "$1::pg_catalog.regclass AND attname" NW_EQ "'id' AND atttypid" NW_EQ
	                "'pg_catalog.int8'::pg_catalog.regtype");
	if (PQntuples(r) == 0)
	{
		PQclear(r);
		free(relation);
		return NW_HEAD_ROWS;
	}
	PQclear(r);
	check_table(c, relation, name, head->dim, "bigint");
	r = nw_pg_query(c, PGRES_TUPLES_OK, 0, NULL,
	                "SELECT id, label, embedding::pg_catalog.text FROM %s ORDER BY id LIMIT %lld",
	                relation, (long long) head->n + 1);
	if (PQntuples(r) > 0 && same_rows(r, head) && !notes_another(c, relation, head->model))
		place = NW_HEAD_SAME;
	else if (PQntuples(r) > 0)
	{
		PQclear(r);
		r = nw_pg_query(c, PGRES_TUPLES_OK, 0, NULL,
		                "SELECT FROM %s HAVING pg_catalog.count(DISTINCT label)" NW_EQ
		                "pg_catalog.count(*) AND pg_catalog.min(id)" NW_EQ
		                "1::pg_catalog.int8 AND pg_catalog.max(id)" NW_EQ "pg_catalog.count(*)",
		                relation);
		place = PQntuples(r) == 1 ? NW_HEAD_LIKE : NW_HEAD_ROWS;
	}
	PQclear(r);
	free(relation);
	return place;
}

/* Note which model makes the rows to come; refuse to mix models unless that is wanted. */
void
nw_embedding_table_note(const NwEmbeddingTable *t, const char *model, bool mix)
{
	char *comment = nw_pg_column_comment(t->conn, t->relation, "embedding");
	char *any = comment ? nw_note_find(comment, NULL) : NULL;
	char *other = comment ? nw_note_find(comment, model) : NULL;

	if (t->has_rows && other && !mix)
		nw_fatal("table %s has embeddings of another model (%s): give --replace, --into-new-set"
		         " or --mix-models",
		         t->relation, other);
	if (t->has_rows && !any)
		nw_info("table %s does not say which model made the rows it has", t->relation);
	else
	{
		char *changed = nw_note_set(comment, model, t->has_rows);

		if (comment == NULL || strcmp(comment, changed) != 0)
			nw_pg_set_column_comment(t->conn, t->relation, "embedding", changed);
		free(changed);
	}
	free(other);
	free(any);
	free(comment);
}

/* Register a table as a set of the extension nwhead, with its model where that can be told. */
void
nw_embedding_table_register(const NwEmbeddingTable *t, const char *set, bool labelled,
                            const char *kernel, const char *tau, const char *model, bool replace)
{
	char *schema = nw_pg_extension(t->conn, "nwhead");
	const char *args[] = {set,    t->relation, labelled ? "label" : NULL,
	                      kernel, tau,         replace ? "true" : "false",
	                      model};
	PGresult *r = nw_pg_query(t->conn, PGRES_TUPLES_OK, 1, (const char *[]) {schema},
	                          "SELECT FROM pg_catalog.pg_proc p WHERE p.pronamespace" NW_EQ
	                          "$1::pg_catalog.regnamespace"
	                          " AND p.proname = 'nw_register' AND 'model' = ANY (p.proargnames)");
	bool with_model = PQntuples(r) > 0;

	PQclear(r);
	PQclear(nw_pg_query(
		t->conn, PGRES_TUPLES_OK, with_model ? 7 : 6, args,
		"SELECT %s.nw_register($1, $2::pg_catalog.regclass, embedding => 'embedding', label => $3,"
		" id => 'id', kernel => $4, tau => $5::pg_catalog.float8, replace => $6::pg_catalog.bool%s)",
		schema, with_model ? ", model => $7" : ""));
	free(schema);
}
