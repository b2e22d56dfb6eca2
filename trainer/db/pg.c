/*
 * db/pg.c: what the program asks of libpq.
 */
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "base/text.h"
#include "db/pg.h"

/* Copy the server's words, without their last line break. */
static char *
message(PGconn *c)
{
	char *text = nw_strdup(PQerrorMessage(c));

	nw_trim_end(text, "\n");
	return text;
}

/* End with the server's words about something. */
void
nw_pg_fatal(PGconn *c, const char *what)
{
	char *text = message(c);

	if (strncmp(text, "ERROR:  ", 8) == 0)
		text += 8;
	if (PQstatus(c) == CONNECTION_BAD)
		nw_fatal("%s: lost the connection to the server: %s", what, text);
	nw_fatal("%s: %s", what, text);
}

/* Connect as a connection string and the environment say. */
PGconn *
nw_pg_connect(const char *dsn)
{
	const char *keys[] = {"dbname", "fallback_application_name", NULL};
	const char *values[] = {dsn, "nwhead", NULL};
	PGconn *c = PQconnectdbParams(keys, values, 1);

	if (PQstatus(c) != CONNECTION_OK)
		nw_fatal("could not connect: %s", message(c));
	if (PQsetClientEncoding(c, "UTF8") != 0)
		nw_pg_fatal(c, "client encoding");
	return c;
}

/* Run a statement with text arguments; anything but the wanted status is fatal. */
PGresult *
nw_pg_query(PGconn *c, ExecStatusType wanted, int n, const char *const *args, const char *fmt, ...)
{
	va_list ap;
	char *sql;
	PGresult *r;

	va_start(ap, fmt);
	sql = nw_vprintf(fmt, ap);
	va_end(ap);
	r = n > 0 ? PQexecParams(c, sql, n, NULL, args, NULL, NULL, 0) : PQexec(c, sql);
	if (PQresultStatus(r) != wanted)
		nw_pg_fatal(c, "database");
	free(sql);
	return r;
}

/* Resolve a relation's name as the server would: quoted with its schema; NULL where there is none.
 */
char *
nw_pg_relation(PGconn *c, const char *name)
{
	PGresult *r = nw_pg_query(
		c, PGRES_TUPLES_OK, 1, &name,
		"SELECT pg_catalog.format('%%I.%%I', n.nspname, c.relname) FROM pg_catalog.pg_class c"
		" JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
		" WHERE c.oid" NW_EQ "pg_catalog.to_regclass($1)");
	char *quoted = PQntuples(r) == 1 ? nw_strdup(PQgetvalue(r, 0, 0)) : NULL;

	PQclear(r);
	return quoted;
}

char *
nw_pg_ident(PGconn *c, const char *name)
{
	char *quoted = PQescapeIdentifier(c, name, strlen(name));
	char *copy;

	if (quoted == NULL)
		nw_pg_fatal(c, name);
	copy = nw_strdup(quoted);
	PQfreemem(quoted);
	return copy;
}

/* Find an extension's schema, quoted; fatal where it is not installed. */
char *
nw_pg_extension(PGconn *c, const char *extension)
{
	PGresult *r = nw_pg_query(
		c, PGRES_TUPLES_OK, 1, &extension,
		"SELECT pg_catalog.quote_ident(n.nspname) FROM pg_catalog.pg_extension e"
		" JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace WHERE e.extname" NW_EQ "$1");
	char *schema;

	if (PQntuples(r) != 1)
		nw_fatal("extension \"%s\" is not installed in this database: CREATE EXTENSION %s%s",
		         extension, extension, strcmp(extension, "nwhead") == 0 ? " CASCADE" : "");
	schema = nw_strdup(PQgetvalue(r, 0, 0));
	PQclear(r);
	return schema;
}

/* Read the comment of a column; NULL where there is none. */
char *
nw_pg_column_comment(PGconn *c, const char *relation, const char *column)
{
	PGresult *r = nw_pg_query(
		c, PGRES_TUPLES_OK, 2, (const char *[]) {relation, column},
		"SELECT pg_catalog.col_description(a.attrelid, a.attnum) FROM pg_catalog.pg_attribute a"
		" WHERE a.attrelid" NW_EQ "$1::pg_catalog.regclass AND a.attname" NW_EQ "$2");
	char *comment =
		PQntuples(r) == 1 && !PQgetisnull(r, 0, 0) ? nw_strdup(PQgetvalue(r, 0, 0)) : NULL;

	PQclear(r);
	return comment;
}

/* Change the comment of a column; where that is not ours to do, say so and leave it. */
void
nw_pg_set_column_comment(PGconn *c, const char *relation, const char *column, const char *comment)
{
	char *ident = nw_pg_ident(c, column);
	char *literal = PQescapeLiteral(c, comment, strlen(comment));
	PGresult *r =
		nw_pg_query(c, PGRES_TUPLES_OK, 1, (const char *[]) {relation},
	                "SELECT FROM pg_catalog.pg_class c WHERE c.oid" NW_EQ "$1::pg_catalog.regclass"
	                " AND pg_catalog.pg_has_role(c.relowner, 'USAGE')");

	if (literal == NULL)
		nw_pg_fatal(c, column);
	if (PQntuples(r) == 1)
		PQclear(nw_pg_query(c, PGRES_COMMAND_OK, 0, NULL, "COMMENT ON COLUMN %s.%s IS %s", relation,
		                    ident, literal));
	else
		nw_info("only the owner of %s can note which model its embeddings are of", relation);
	PQclear(r);
	PQfreemem(literal);
	free(ident);
}
