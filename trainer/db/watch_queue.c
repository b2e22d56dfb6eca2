/*
 * db/watch_queue.c: rows that wait for their embeddings, and what became of them.
 *
 * For a table T there are, in its schema and its owner's:
 *
 *   T_nw_queue   (seq, id, at): a row for each image that is new, changed or gone.  Triggers on T
 *                only add to it, so that they never wait for a worker; a worker that has locked
 *                some of these rows embeds what they name, or removes the embedding where there is
 *                no image any more, and deletes them with the same transaction.
 *   T_nw_state   (id, model, at, error): what became of each image last.  Only workers write it.
 *                An embedding that it does not know of is not ours to remove.
 *   T_nw_status  a view of both.
 *   T_nw_enqueue the function of the triggers.  It is SECURITY DEFINER, since whoever may insert
 *                images must go on to be able to, without rights on the queue; all it does is
 *                to add an id to the queue of the same owner, by fixed names.
 *
 * Locks of a worker's transaction, in their order: T_nw_state in a mode that only who installs a
 * new model keeps out, and so waits for the batches of the old one, and later ones see it; rows of
 * the queue, those that others have locked being passed over; an advisory one for each id, tried,
 * so that two changes of one image are not in work at the same time, the older to win; rows where
 * embeddings are, those that others have locked being left for later.  Whoever could make a worker
 * wait needs rights on these tables; and a worker waits for some seconds at most, then yields and
 * tries again.  So none makes a deadlock, and all hear a signal.
 *
 * Each row is written under a savepoint: what a constraint or a trigger has against one is noted
 * with it, and the others go on.
 *
 * While a worker is at it, all these return false, or NULL, where the work can be tried again: the
 * connection is lost, the server stops, or a transaction had to yield.  Anything else is fatal.
 */
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "base/model_note.h"
#include "base/text.h"
#include "db/embedding_table.h"
#include "db/pg.h"
#include "db/watch_queue.h"

#define CHANNEL "nwhead_watch"
#define MAX_NAME 63 /* bytes of an identifier */

/* ---------------------------------------------------------------- errors */

/* Tell whether an error is of one of these classes, or codes. */
static bool
is_among(const PGresult *r, const char *const *codes, size_t n)
{
	const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);

	for (size_t i = 0; state && i < n; i++)
		if (strncmp(state, codes[i], strlen(codes[i])) == 0)
			return true;
	return false;
}

/* Tell whether a statement that failed may succeed when it is tried again. */
static bool
may_retry(PGconn *c, const PGresult *r)
{
	static const char *const codes[] = {"08", "40", "53", "57P", "55P03"};

	return PQstatus(c) == CONNECTION_BAD || is_among(r, codes, sizeof(codes) / sizeof(codes[0]));
}

/* Tell whether a statement failed for what is in its row: data, constraints, triggers. */
static bool
is_refusal(const PGresult *r)
{
	static const char *const codes[] = {"22", "23", "27", "2F", "38", "39", "44", "P0"};

	return is_among(r, codes, sizeof(codes) / sizeof(codes[0]));
}

/* Run a statement; frees its text.  NULL where it can be tried again. */
static PGresult *
try_query(const NwWatchQueue *q, ExecStatusType wanted, int n, const char *const *args, char *sql,
          bool binary)
{
	PGresult *r = PQexecParams(q->conn, sql, n, NULL, args, NULL, NULL, binary);

	free(sql);
	if (PQresultStatus(r) == wanted)
		return r;
	if (!may_retry(q->conn, r))
		nw_pg_fatal(q->conn, q->source);
	PQclear(r);
	return NULL;
}

/* Run a statement whose result does not matter; frees its text. */
static bool
try_command(const NwWatchQueue *q, ExecStatusType wanted, int n, const char *const *args, char *sql)
{
	PGresult *r = try_query(q, wanted, n, args, sql, false);

	PQclear(r);
	return r != NULL;
}

/* Run a statement that changes a row, under a savepoint; frees its text.  *refused gets the words
 * (to be freed) of whatever does not let this row be so, else NULL. */
static bool
try_change(const NwWatchQueue *q, int n, const char *const *args, char *sql, char **refused)
{
	PGresult *r;
	bool ok;

	*refused = NULL;
	if (!try_command(q, PGRES_COMMAND_OK, 0, NULL, nw_strdup("SAVEPOINT nw_row")))
	{
		free(sql);
		return false;
	}
	r = PQexecParams(q->conn, sql, n, NULL, args, NULL, NULL, 0);
	free(sql);
	ok = PQresultStatus(r) == PGRES_COMMAND_OK;
	if (!ok && is_refusal(r))
	{
		*refused = nw_short_text(PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY));
		ok = try_command(q, PGRES_COMMAND_OK, 0, NULL, nw_strdup("ROLLBACK TO SAVEPOINT nw_row"));
	}
	else if (!ok && !may_retry(q->conn, r))
		nw_pg_fatal(q->conn, q->source);
	PQclear(r);
	return ok && try_command(q, PGRES_COMMAND_OK, 0, NULL, nw_strdup("RELEASE SAVEPOINT nw_row"));
}

/* ---------------------------------------------------------------- names */

/* Make the quoted name of an object beside the source. */
static char *
beside(PGconn *c, const char *source, const char *suffix)
{
	PGresult *r = nw_pg_query(c, PGRES_TUPLES_OK, 2, (const char *[]) {source, suffix},
	                          "SELECT pg_catalog.format('%%I.%%I', n.nspname, c.relname || $2),"
	                          " pg_catalog.octet_length(c.relname || $2) FROM pg_catalog.pg_class c"
	                          " JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
	                          " WHERE c.oid = $1::pg_catalog.regclass");
	char *name = nw_strdup(PQgetvalue(r, 0, 0));

	if (atoi(PQgetvalue(r, 0, 1)) > MAX_NAME)
		nw_fatal(
			"the name of table %s is too long: that of its queue would have more than %d bytes",
			source, MAX_NAME);
	PQclear(r);
	return name;
}

/* Read one value; to be freed.  What it is for is in the message where there is none. */
static char *
one_value(PGconn *c, const char *relation, const char *argument, const char *sql, const char *what)
{
	PGresult *r = nw_pg_query(c, PGRES_TUPLES_OK, argument ? 2 : 1,
	                          (const char *[]) {relation, argument}, "%s", sql);
	char *value;

	if (PQntuples(r) < 1 || PQgetisnull(r, 0, 0))
		nw_fatal("table %s %s", relation, what);
	value = nw_strdup(PQgetvalue(r, 0, 0));
	PQclear(r);
	return value;
}

/* Begin a transaction, resolve all names by the search path that there is, and leave it for a
 * fixed one until the transaction ends.  Where there is a model, columns are looked for, and the
 * source's rows must not be the embeddings', which are deleted. */
static NwWatchQueue
resolve(const NwWatchPlace *place, PGconn *c, const char *model)
{
	NwWatchQueue q = {.conn = c, .place = place, .model = model};
	char *schema;

	PQclear(nw_pg_query(c, PGRES_COMMAND_OK, 0, NULL, "BEGIN"));
	schema = nw_pg_extension(c, "vector");
	q.source = nw_pg_relation(c, place->source);
	if (q.source == NULL)
		nw_fatal("table \"%s\" does not exist", place->source);
	q.target = place->table ? nw_pg_relation(c, place->table) : nw_strdup(q.source);
	if (q.target == NULL) /* where it would be made */
		q.target = one_value(c, place->table, NULL,
		                     "SELECT pg_catalog.concat_ws('.', CASE WHEN"
		                     " pg_catalog.cardinality(p) = 1 THEN"
		                     " pg_catalog.quote_ident(pg_catalog.current_schema()) END, (SELECT"
		                     " pg_catalog.string_agg(pg_catalog.quote_ident(u), '.') FROM"
		                     " pg_catalog.unnest(p) AS u)) FROM pg_catalog.parse_ident($1) AS p",
		                     "has no schema to be in");
	if (model != NULL && place->table && strcmp(q.source, q.target) == 0)
		nw_fatal("table %s has the images, and rows of --table are deleted with their images: name"
		         " another --table, or give --embedding instead",
		         q.source);
	q.id = nw_pg_ident(c, place->id);
	q.image = nw_pg_ident(c, place->image);
	q.label = place->label ? nw_pg_ident(c, place->label) : NULL;
	q.embedding = nw_pg_ident(c, place->embedding);
	q.vector = nw_printf("%s.vector", schema);
	free(schema);
	PQclear(nw_pg_query(c, PGRES_COMMAND_OK, 0, NULL, "SET LOCAL search_path = pg_catalog"));
	PQclear(nw_pg_query(c, PGRES_COMMAND_OK, 0, NULL, "SET LOCAL client_min_messages = warning"));
	q.queue = beside(c, q.source, "_nw_queue");
	q.state = beside(c, q.source, "_nw_state");
	if (model != NULL)
		q.id_type = one_value(c, q.source, place->id,
		                      "SELECT pg_catalog.format_type(a.atttypid, a.atttypmod)"
		                      " FROM pg_catalog.pg_attribute a WHERE a.attrelid = $1::regclass"
		                      " AND a.attname = $2 AND a.attnum > 0 AND NOT a.attisdropped",
		                      "lacks the column of ids: name it with --id");
	q.oid = one_value(c, q.source, NULL, "SELECT $1::regclass::oid", "is gone");
	return q;
}

void
nw_watch_free(NwWatchQueue *q)
{
	free(q->source);
	free(q->id);
	free(q->image);
	free(q->label);
	free(q->target);
	free(q->embedding);
	free(q->queue);
	free(q->state);
	free(q->vector);
	free(q->id_type);
	free(q->oid);
}

/* Say in words what a watch does; the comment of its queue. */
static char *
describe(const NwWatchQueue *q)
{
	return nw_printf("nwhead watch: %s of %s (%s, %s%s%s) to %s of %s",
	                 q->place->paths ? "files" : "images", q->source, q->id, q->image,
	                 q->label ? ", " : "", q->label ? q->label : "", q->embedding, q->target);
}

/* ---------------------------------------------------------------- installation */

/* Check that a column has different values in all rows. */
static void
check_unique(const NwWatchQueue *q, const char *relation, const char *column)
{
	free(one_value(q->conn, relation, column,
	               "SELECT true FROM pg_catalog.pg_index i JOIN pg_catalog.pg_attribute a"
	               " ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]"
	               " WHERE i.indrelid = $1::regclass AND a.attname = $2 AND i.indisunique"
	               " AND i.indisvalid AND i.indnkeyatts = 1 AND i.indpred IS NULL LIMIT 1",
	               "has no unique index on its column of ids alone: a primary key would do"));
}

/* Act as the owner of the source, whose all is to be. */
static void
become_owner(const NwWatchQueue *q)
{
	PQclear(nw_pg_query(
		q->conn, PGRES_TUPLES_OK, 1, (const char *[]) {q->source},
		"SELECT pg_catalog.set_config('role', r.rolname, true) FROM pg_catalog.pg_class c"
		" JOIN pg_catalog.pg_roles r ON r.oid = c.relowner WHERE c.oid = $1::regclass"));
}

/* Lock what there is of an earlier installation, before any other lock: batches of an old model
 * end, and later ones see the new. */
static void
lock_state(const NwWatchQueue *q, const char *mode)
{
	char *found = nw_pg_relation(q->conn, q->state);

	if (found)
		PQclear(nw_pg_query(q->conn, PGRES_COMMAND_OK, 0, NULL, "LOCK TABLE %s IN %s MODE",
		                    q->state, mode));
	free(found);
}

/* Refuse a table that somebody else has put where ours is to be: its triggers would be theirs. */
static void
check_owner(const NwWatchQueue *q, const char *relation)
{
	PGresult *r = nw_pg_query(
		q->conn, PGRES_TUPLES_OK, 2, (const char *[]) {relation, q->source},
		"SELECT FROM pg_catalog.pg_class c, pg_catalog.pg_class s WHERE c.oid = to_regclass($1)"
		" AND s.oid = $2::regclass AND c.relowner <> s.relowner");

	if (PQntuples(r) > 0)
		nw_fatal("table %s does not belong to the owner of %s", relation, q->source);
	PQclear(r);
}

/* Make the column for embeddings ready: in the source, or in a table that may have to be made. */
static void
prepare_target(const NwWatchQueue *q, int dim)
{
	PGresult *r;

	check_owner(q, q->target);
	if (q->place->table)
	{
		NwEmbeddingTable t =
			nw_embedding_table_open(q->conn, q->target, q->id_type, dim, true, false);

		nw_embedding_table_finish(&t);
		free(t.relation);
		check_unique(q, q->target, "id");
		return;
	}
	r = nw_pg_query(q->conn, PGRES_TUPLES_OK, 2, (const char *[]) {q->source, q->place->embedding},
	                "SELECT FROM pg_attribute WHERE attrelid = $1::regclass AND attname = $2");
	if (PQntuples(r) == 0) /* without asking, its lock would be waited for in vain */
		PQclear(nw_pg_query(q->conn, PGRES_COMMAND_OK, 0, NULL,
		                    "ALTER TABLE %s ADD COLUMN %s %s(%d)", q->source, q->embedding,
		                    q->vector, dim));
	PQclear(r);
	nw_embedding_column_check(q->conn, q->source, q->place->embedding, dim);
}

/* Note the model; true where all that the column holds was made by it. */
static bool
note_model(const NwWatchQueue *q, bool mix)
{
	char *comment = nw_pg_column_comment(q->conn, q->target, q->place->embedding);
	char *any = comment ? nw_note_find(comment, NULL) : NULL;
	char *other = comment ? nw_note_find(comment, q->model) : NULL;
	char *changed = nw_note_set(comment, q->model, false);
	bool known = any && !other;

	if (other && !mix)
		nw_fatal("table %s has embeddings of another model (%s): --mix-models has all rows embedded"
		         " anew, one after the other",
		         q->target, other);
	if (!known)
		nw_pg_set_column_comment(q->conn, q->target, q->place->embedding, changed);
	free(changed);
	free(other);
	free(any);
	free(comment);
	return known;
}

/* Make the function, and the triggers that call it. */
static void
make_triggers(const NwWatchQueue *q)
{
	char *function = beside(q->conn, q->source, "_nw_enqueue");
	char *payload = PQescapeLiteral(q->conn, q->source, strlen(q->source));
	char *body = nw_printf("BEGIN\n"
	                       "  INSERT INTO %s (id)\n"
	                       "    SELECT OLD.%s WHERE OLD.%s IS NOT NULL\n"
	                       "      AND OLD.%s IS DISTINCT FROM NEW.%s\n"
	                       "    UNION ALL SELECT NEW.%s WHERE NEW.%s IS NOT NULL;\n"
	                       "  PERFORM pg_catalog.pg_notify('" CHANNEL "', %s);\n"
	                       "  RETURN NULL;\n"
	                       "END",
	                       q->queue, q->id, q->id, q->id, q->id, q->id, q->id, payload);
	char *literal = PQescapeLiteral(q->conn, body, strlen(body));
	char *labels = q->label ? nw_printf(" OR OLD.%s IS DISTINCT FROM NEW.%s", q->label, q->label)
	                        : nw_strdup("");

	if (payload == NULL || literal == NULL)
		nw_pg_fatal(q->conn, q->source);
	PQclear(nw_pg_query(q->conn, PGRES_COMMAND_OK, 0, NULL,
	                    "CREATE OR REPLACE FUNCTION %s() RETURNS trigger LANGUAGE plpgsql"
	                    " SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS %s",
	                    function, literal));
	PQclear(nw_pg_query(q->conn, PGRES_COMMAND_OK, 0, NULL,
	                    "REVOKE ALL ON FUNCTION %s() FROM PUBLIC", function));
	PQclear(nw_pg_query(q->conn, PGRES_COMMAND_OK, 0, NULL,
	                    "CREATE OR REPLACE TRIGGER nw_watch_insert AFTER INSERT ON %s FOR EACH ROW"
	                    " WHEN (NEW.%s IS NOT NULL AND NEW.%s IS NOT NULL) EXECUTE FUNCTION %s()",
	                    q->source, q->image, q->id, function));
	PQclear(nw_pg_query(
		q->conn, PGRES_COMMAND_OK, 0, NULL,
		"CREATE OR REPLACE TRIGGER nw_watch_update AFTER UPDATE OF %s, %s%s%s ON %s"
		" FOR EACH ROW WHEN ((OLD.%s IS NOT NULL OR NEW.%s IS NOT NULL) AND (OLD.%s IS DISTINCT FROM NEW.%s"
		" OR OLD.%s IS DISTINCT FROM NEW.%s%s)) EXECUTE FUNCTION %s()",
		q->id, q->image, q->label ? ", " : "", q->label ? q->label : "", q->source, q->image,
		q->image, q->image, q->image, q->id, q->id, labels, function));
	PQclear(nw_pg_query(q->conn, PGRES_COMMAND_OK, 0, NULL,
	                    "CREATE OR REPLACE TRIGGER nw_watch_delete AFTER DELETE ON %s FOR EACH ROW"
	                    " WHEN (OLD.%s IS NOT NULL) EXECUTE FUNCTION %s()",
	                    q->source, q->id, function));
	free(labels);
	PQfreemem(literal);
	free(body);
	PQfreemem(payload);
	free(function);
}

static void
make_tables(const NwWatchQueue *q)
{
	char *status = beside(q->conn, q->source, "_nw_status");
	char *what = describe(q);
	char *literal = PQescapeLiteral(q->conn, what, strlen(what));

	if (literal == NULL)
		nw_pg_fatal(q->conn, q->source);
	check_owner(q, q->queue);
	check_owner(q, q->state);
	check_owner(q, status);
	PQclear(nw_pg_query(q->conn, PGRES_COMMAND_OK, 0, NULL,
	                    "CREATE TABLE IF NOT EXISTS %s (seq bigint GENERATED ALWAYS AS IDENTITY"
	                    " PRIMARY KEY, id %s NOT NULL, at timestamptz NOT NULL DEFAULT now())",
	                    q->queue, q->id_type));
	PQclear(nw_pg_query(q->conn, PGRES_COMMAND_OK, 0, NULL,
	                    "CREATE TABLE IF NOT EXISTS %s (id %s PRIMARY KEY, model text NOT NULL,"
	                    " at timestamptz NOT NULL DEFAULT clock_timestamp(), error text)",
	                    q->state, q->id_type));
	PQclear(nw_pg_query(q->conn, PGRES_COMMAND_OK, 0, NULL, "COMMENT ON TABLE %s IS %s", q->queue,
	                    literal));
	PQclear(
		nw_pg_query(q->conn, PGRES_COMMAND_OK, 0, NULL,
	                "CREATE OR REPLACE VIEW %s WITH (security_invoker) AS SELECT"
	                " (SELECT count(DISTINCT id) FROM %s) AS waiting,"
	                " (SELECT min(at) FROM %s) AS waiting_since,"
	                " count(*) FILTER (WHERE error IS NULL) AS done,"
	                " count(*) FILTER (WHERE error IS NOT NULL) AS bad,"
	                " (SELECT b.id::text || ': ' || b.error FROM %s AS b WHERE b.error IS NOT NULL"
	                " ORDER BY b.at DESC LIMIT 1) AS last_error, max(at) AS last_at,"
	                " count(*) FILTER (WHERE error IS NULL AND at > now() - interval '1 minute')"
	                " AS done_last_minute FROM %s",
	                status, q->queue, q->queue, q->state, q->state));
	PQfreemem(literal);
	free(what);
	free(status);
}

/* Make queue, state and triggers of a source, or make them anew; all in one transaction. */
void
nw_watch_install(const NwWatchPlace *place, PGconn *c, const char *model, int dim, bool mix)
{
	NwWatchQueue q = resolve(place, c, model);

	become_owner(&q);
	lock_state(&q, "EXCLUSIVE");
	check_unique(&q, q.source, place->id);
	prepare_target(&q, dim);
	make_tables(&q);
	if (note_model(&q, mix)) /* what is there of these images need not be made again */
		PQclear(nw_pg_query(
			c, PGRES_COMMAND_OK, 1, (const char *[]) {model},
			"INSERT INTO %s (id, model) SELECT s.%s, $1 FROM %s AS s JOIN %s AS t ON t.%s = s.%s"
			" WHERE t.%s IS NOT NULL AND s.%s IS NOT NULL AND NOT EXISTS (SELECT FROM %s AS w"
			" WHERE w.id = s.%s) ON CONFLICT DO NOTHING",
			q.state, q.id, q.source, q.target, place->table ? "id" : q.id, q.id, q.embedding,
			q.image, q.queue, q.id));
	make_triggers(&q);
	PQclear(nw_pg_query(c, PGRES_COMMAND_OK, 0, NULL, "COMMIT"));
	nw_watch_free(&q);
}

/* Remove what was made; embeddings stay. */
void
nw_watch_uninstall(const NwWatchPlace *place, PGconn *c)
{
	static const char *const triggers[] = {"nw_watch_insert", "nw_watch_update", "nw_watch_delete"};
	NwWatchQueue q = resolve(place, c, NULL);
	char *function = beside(c, q.source, "_nw_enqueue");
	char *status = beside(c, q.source, "_nw_status");

	become_owner(&q);
	lock_state(&q, "ACCESS EXCLUSIVE");
	for (size_t i = 0; i < sizeof(triggers) / sizeof(triggers[0]); i++)
		PQclear(nw_pg_query(c, PGRES_COMMAND_OK, 0, NULL, "DROP TRIGGER IF EXISTS %s ON %s",
		                    triggers[i], q.source));
	PQclear(nw_pg_query(c, PGRES_COMMAND_OK, 0, NULL, "DROP FUNCTION IF EXISTS %s()", function));
	PQclear(nw_pg_query(c, PGRES_COMMAND_OK, 0, NULL, "DROP VIEW IF EXISTS %s", status));
	PQclear(
		nw_pg_query(c, PGRES_COMMAND_OK, 0, NULL, "DROP TABLE IF EXISTS %s, %s", q.queue, q.state));
	PQclear(nw_pg_query(c, PGRES_COMMAND_OK, 0, NULL, "COMMIT"));
	free(function);
	free(status);
	nw_watch_free(&q);
}

/* ---------------------------------------------------------------- a worker */

/* Check what a worker may do before it waits for work. */
static void
check_rights(const NwWatchQueue *q)
{
	const struct
	{
		const char *relation;
		const char *privileges;
	} needs[] = {
		{q->queue, "SELECT, INSERT, UPDATE, DELETE"},
		{q->state, "SELECT, INSERT, UPDATE, DELETE"},
		{q->source, q->place->table ? "SELECT" : "SELECT, UPDATE"},
		{q->target, q->place->table ? "SELECT, INSERT, UPDATE, DELETE" : "SELECT, UPDATE"}};

	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
	{
		PGresult *r = nw_pg_query(
			q->conn, PGRES_TUPLES_OK, 2, (const char *[]) {needs[i].relation, needs[i].privileges},
			"SELECT current_user, quote_ident(current_user), p FROM"
			" regexp_split_to_table($2, ', ') AS p WHERE NOT CASE p WHEN 'DELETE' THEN"
			" has_table_privilege($1::regclass, p) ELSE"
			" has_any_column_privilege($1::regclass, p) END");

		if (PQntuples(r) > 0)
			nw_fatal("role \"%s\" lacks the right to %s in %s: GRANT %s ON %s TO %s",
			         PQgetvalue(r, 0, 0), PQgetvalue(r, 0, 2), needs[i].relation,
			         needs[i].privileges, needs[i].relation, PQgetvalue(r, 0, 1));
		PQclear(r);
	}
}

/* Open what was installed, for a worker. */
NwWatchQueue
nw_watch_open(const NwWatchPlace *place, PGconn *c, const char *model)
{
	NwWatchQueue q = resolve(place, c, model);
	char *found;
	char *wanted;

	found = nw_pg_relation(c, q.queue);
	if (found == NULL)
		nw_fatal("table %s is not watched: run nwhead watch --install with the same options once",
		         q.source);
	free(found);
	wanted = describe(&q);
	found = one_value(c, q.queue, NULL, "SELECT obj_description($1::regclass, 'pg_class')",
	                  "does not say what it is for");
	if (strcmp(found, wanted) != 0)
		nw_fatal("the watch of table %s was installed with other options: \"%s\", not \"%s\"",
		         q.source, found, wanted);
	free(found);
	free(wanted);
	check_rights(&q);
	PQclear(nw_pg_query(c, PGRES_COMMAND_OK, 0, NULL, "COMMIT"));
	return q;
}

/*
 * Prepare a connection, which may be a new one.  A superuser goes on as the owner of the source,
 * whose triggers would else have all rights; and where row-level security would hide rows, it is an
 * error, since they would be taken for rows that are gone.
 */
bool
nw_watch_listen(const NwWatchQueue *q)
{
	if (PQsetClientEncoding(q->conn, "UTF8") != 0)
		return false;
	return try_command(
			   q, PGRES_TUPLES_OK, 1, (const char *[]) {q->oid},
			   nw_strdup("SELECT pg_catalog.set_config('role', o.rolname, false) FROM"
	                     " pg_catalog.pg_class AS c JOIN pg_catalog.pg_roles AS o ON o.oid" NW_EQ
	                     "c.relowner JOIN pg_catalog.pg_roles AS m ON m.rolname" NW_EQ
	                     "current_user WHERE c.oid" NW_EQ "$1::pg_catalog.oid"
	                     " AND m.rolsuper")) &&
	       try_command(q, PGRES_COMMAND_OK, 0, NULL, nw_strdup("SET row_security = off")) &&
	       try_command(q, PGRES_COMMAND_OK, 0, NULL, nw_strdup("LISTEN " CHANNEL));
}

/* Begin a transaction that waits for no lock for long, with one on the state; constraints are
 * checked row by row. */
static bool
begin(const NwWatchQueue *q, const char *mode)
{
	return try_command(q, PGRES_COMMAND_OK, 0, NULL,
	                   nw_strdup("BEGIN ISOLATION LEVEL READ COMMITTED")) &&
	       try_command(q, PGRES_COMMAND_OK, 0, NULL, nw_strdup("SET LOCAL lock_timeout = '5s'")) &&
	       try_command(q, PGRES_COMMAND_OK, 0, NULL, nw_strdup("SET CONSTRAINTS ALL IMMEDIATE")) &&
	       try_command(q, PGRES_COMMAND_OK, 0, NULL,
	                   nw_printf("LOCK TABLE %s IN %s MODE", q->state, mode));
}

/* Refuse to go on where the embeddings are to be of another model, by now. */
static bool
check_model(const NwWatchQueue *q)
{
	PGresult *r = try_query(
		q, PGRES_TUPLES_OK, 2, (const char *[]) {q->target, q->place->embedding},
		nw_strdup("SELECT pg_catalog.col_description(attrelid, attnum) FROM"
	              " pg_catalog.pg_attribute WHERE attrelid" NW_EQ "$1::pg_catalog.regclass"
	              " AND attname" NW_EQ "$2"),
		false);
	char *other;

	if (r == NULL)
		return false;
	other = PQntuples(r) == 1 ? nw_note_find(PQgetvalue(r, 0, 0), NULL) : NULL;
	if (other == NULL || !nw_model_same(other, q->model))
		nw_fatal(
			"the embeddings of %s are to be of model %s, and this is %s: nwhead watch --install"
			" --mix-models changes that",
			q->target, other ? other : "unknown", q->model);
	free(other);
	PQclear(r);
	return true;
}

/* Queue all rows whose image this model has not seen, and those whose image is gone. */
bool
nw_watch_fill(const NwWatchQueue *q)
{
	return begin(q, "SHARE UPDATE EXCLUSIVE") && check_model(q) &&
	       try_command(q, PGRES_COMMAND_OK, 0, NULL,
	                   nw_printf("INSERT INTO %s (id) SELECT t.id FROM %s AS t WHERE NOT EXISTS"
	                             " (SELECT FROM %s AS s WHERE s.%s" NW_EQ
	                             "t.id AND s.%s IS NOT NULL)"
	                             " AND NOT EXISTS (SELECT FROM %s AS w WHERE w.id" NW_EQ "t.id)",
	                             q->queue, q->state, q->source, q->id, q->image, q->queue)) &&
	       try_command(
			   q, PGRES_COMMAND_OK, 1, (const char *[]) {q->model},
			   nw_printf("INSERT INTO %s (id) SELECT s.%s FROM %s AS s WHERE s.%s IS NOT NULL"
	                     " AND s.%s IS NOT NULL"
	                     " AND NOT EXISTS (SELECT FROM %s AS t WHERE t.id" NW_EQ "s.%s AND"
	                     " pg_catalog.right(t.model, 64)" NW_EQ "pg_catalog.right($1, 64))"
	                     " AND NOT EXISTS (SELECT FROM %s AS w WHERE w.id" NW_EQ "s.%s)",
	                     q->queue, q->id, q->source, q->image, q->id, q->state, q->id, q->queue,
	                     q->id)) &&
	       try_command(q, PGRES_COMMAND_OK, 0, NULL, nw_strdup("COMMIT"));
}

/* Collect the numbers of queue rows whose ids no other worker has in work; to be freed. */
static char *
numbers(const PGresult *r)
{
	NwBuf b = {0};

	nw_buf_add(&b, "{", 1);
	for (int i = 0; i < PQntuples(r); i++)
		if (PQgetvalue(r, i, 1)[0] == 't')
			nw_buf_printf(&b, "%s%s", b.len > 1 ? "," : "", PQgetvalue(r, i, 0));
	nw_buf_add(&b, "}", 1);
	return b.data;
}

/*
 * Begin a transaction, and claim up to n rows of the queue; for each id among them their numbers,
 * the id, the image and the label, all in binary form and NULL where they are gone.  The images are
 * read after their ids are locked, so they are as new as what the queue says of them.
 */
PGresult *
nw_watch_claim(const NwWatchQueue *q, int n)
{
	char *limit = nw_printf("%d", n);
	PGresult *r = NULL;
	char *list;

	if (begin(q, "ROW EXCLUSIVE") && check_model(q))
		r = try_query(q, PGRES_TUPLES_OK, 2, (const char *[]) {limit, q->oid},
		              nw_printf("WITH c AS MATERIALIZED (SELECT seq, id FROM %s ORDER BY seq"
		                        " LIMIT $1::pg_catalog.int8 FOR UPDATE SKIP LOCKED)"
		                        " SELECT seq, pg_catalog.pg_try_advisory_xact_lock("
		                        "pg_catalog.hashtextextended(id::pg_catalog.text,"
		                        " $2::pg_catalog.int8)) FROM c",
		                        q->queue),
		              false);
	free(limit);
	if (r == NULL)
		return NULL;
	list = numbers(r);
	PQclear(r);
	r = try_query(q, PGRES_TUPLES_OK, 1, (const char *[]) {list},
	              nw_printf("SELECT w.numbers, w.id::pg_catalog.text, s.%s::pg_catalog.%s,"
	                        " %s%s::pg_catalog.text FROM (SELECT id, pg_catalog.min(seq) AS seq,"
	                        " pg_catalog.string_agg(seq::pg_catalog.text, ',') AS numbers FROM %s"
	                        " WHERE seq" NW_EQ "ANY ($1::pg_catalog.int8[]) GROUP BY id) AS w"
	                        " LEFT JOIN %s AS s ON s.%s" NW_EQ "w.id ORDER BY w.seq",
	                        q->image, q->place->paths ? "text" : "bytea", q->label ? "s." : "",
	                        q->label ? q->label : "NULL", q->queue, q->source, q->id),
	              true);
	free(list);
	return r;
}

/* Lock the row of an embedding; *there tells whether it exists, *held whether it could be had. */
static bool
hold(const NwWatchQueue *q, const char *id, bool *there, bool *held)
{
	const char *column = q->place->table ? "id" : q->id;
	PGresult *r = try_query(
		q, PGRES_TUPLES_OK, 1, &id,
		nw_printf("SELECT (SELECT true FROM %s WHERE %s" NW_EQ "$1::%s FOR %s SKIP LOCKED),"
	              " (SELECT true FROM %s WHERE %s" NW_EQ "$1::%s)",
	              q->target, column, q->id_type, q->place->table ? "UPDATE" : "NO KEY UPDATE",
	              q->target, column, q->id_type),
		false);

	*held = r != NULL && !PQgetisnull(r, 0, 0);
	*there = *held || (r != NULL && !PQgetisnull(r, 0, 1));
	PQclear(r);
	return r != NULL;
}

/* Write an embedding; *written tells whether its row could be had, *refused why it must not be. */
bool
nw_watch_write(const NwWatchQueue *q, const char *id, const char *label, const float *z, int dim,
               bool *written, char **refused)
{
	NwBuf text = {0};
	bool there;
	bool ok;

	*refused = NULL;
	if (!hold(q, id, &there, written))
		return false;
	*written |= q->place->table && !there; /* it can be added */
	if (!*written)
		return true;
	for (int i = 0; i < dim; i++)
		nw_buf_printf(&text, "%c%.9g", i ? ',' : '[', z[i]);
	nw_buf_add(&text, "]", 1);
	if (q->place->table)
		ok =
			try_change(q, 3, (const char *[]) {id, label, text.data},
		               nw_printf("INSERT INTO %s (id, label, embedding) VALUES ($1::%s, $2, $3::%s)"
		                         " ON CONFLICT (id) DO UPDATE SET label = EXCLUDED.label,"
		                         " embedding = EXCLUDED.embedding",
		                         q->target, q->id_type, q->vector),
		               refused);
	else
		ok = try_change(q, 2, (const char *[]) {id, text.data},
		                nw_printf("UPDATE %s SET %s = $2::%s WHERE %s" NW_EQ "$1::%s", q->source,
		                          q->embedding, q->vector, q->id, q->id_type),
		                refused);
	nw_buf_free(&text);
	return ok;
}

/* Remove an embedding whose image is gone, or bad; where it is in a table of its own, only if the
 * state knows it.  *removed tells whether its row could be had, *refused why it must not be. */
bool
nw_watch_remove(const NwWatchQueue *q, const char *id, bool *removed, char **refused)
{
	bool there;

	*refused = NULL;
	if (!hold(q, id, &there, removed))
		return false;
	if (!*removed)
	{
		*removed = !there;
		return true;
	}
	if (q->place->table)
		return try_change(q, 1, &id,
		                  nw_printf("DELETE FROM %s WHERE id" NW_EQ
		                            "$1::%s AND EXISTS (SELECT FROM %s"
		                            " AS t WHERE t.id" NW_EQ "$1::%s AND t.error IS NULL)",
		                            q->target, q->id_type, q->state, q->id_type),
		                  refused);
	return try_change(q, 1, &id,
	                  nw_printf("UPDATE %s SET %s = NULL WHERE %s" NW_EQ
	                            "$1::%s AND %s IS NOT NULL",
	                            q->source, q->embedding, q->id, q->id_type, q->embedding),
	                  refused);
}

/* Note that there is no image any more. */
bool
nw_watch_forget(const NwWatchQueue *q, const char *id)
{
	return try_command(q, PGRES_COMMAND_OK, 1, &id,
	                   nw_printf("DELETE FROM %s WHERE id" NW_EQ "$1::%s", q->state, q->id_type));
}

/* Note what became of an image: embedded where there is no error. */
bool
nw_watch_mark(const NwWatchQueue *q, const char *id, const char *error)
{
	return try_command(q, PGRES_COMMAND_OK, 3, (const char *[]) {id, q->model, error},
	                   nw_printf("INSERT INTO %s (id, model, error) VALUES ($1::%s, $2, $3)"
	                             " ON CONFLICT (id) DO UPDATE SET model = EXCLUDED.model,"
	                             " at = EXCLUDED.at, error = EXCLUDED.error",
	                             q->state, q->id_type));
}

/* Take rows, a list of their numbers, off the queue, and commit all that was done. */
bool
nw_watch_commit(const NwWatchQueue *q, const char *done)
{
	return try_command(q, PGRES_COMMAND_OK, 1, &done,
	                   nw_printf("DELETE FROM %s WHERE seq" NW_EQ "ANY ($1::pg_catalog.int8[])",
	                             q->queue)) &&
	       try_command(q, PGRES_COMMAND_OK, 0, NULL, nw_strdup("COMMIT"));
}

/* Tell whether anything is left in the queue, be it with another worker. */
bool
nw_watch_waiting(const NwWatchQueue *q, bool *waiting)
{
	PGresult *r = try_query(q, PGRES_TUPLES_OK, 0, NULL,
	                        nw_printf("SELECT FROM %s LIMIT 1", q->queue), false);

	*waiting = PQntuples(r) > 0;
	PQclear(r);
	return r != NULL;
}
