/*
 * sql/todo.c
 *		List what is to be done anew: nw_todo.
 *
 * It lists sets that the caller may change.  Nothing of theirs is read but catalogs,
 * statistics and, of tables that the caller owns, nw indexes: views and functions of
 * others do not run.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "index/am.h"
#include "index/as_owner.h"
#include "index/contents.h"
#include "rows.h"
#include "sets/extension.h"
#include "sets/own_tables.h"
#include "sets/reference.h"
#include "sets/state.h"

/* Columns of a prototype, from 1. */
#define Anum_prototype_weight 7

PG_FUNCTION_INFO_V1(nw_todo);

/* Where the rows of a list go. */
typedef struct Todo
{
	Oid schema; /* the extension's */
	ReturnSetInfo *rows;
} Todo;

/* Return one thing to do; sql is NULL where nothing but a person can tell. */
static void
put(const Todo *todo, const NwSet *set, const char *what, const char *why, const char *sql)
{
	Datum values[4];
	bool nulls[4] = {false};

	values[0] = CStringGetTextDatum(set->name);
	values[1] = CStringGetTextDatum(what);
	values[2] = nw_text_or_null(why, &nulls[2]);
	values[3] = nw_text_or_null(sql, &nulls[3]);
	nw_rows_put(todo->rows, values, nulls);
}

/* Write the beginning of a call of one of our functions, up to the first argument. */
static char *
call(const Todo *todo, const char *function, const char *set)
{
	return psprintf("%s(%s", quote_qualified_identifier(get_namespace_name(todo->schema), function),
	                quote_literal_cstr(set));
}

/* The argument that names a column which is gone. */
static const char *
missing_column(const NwSet *set, Oid relid)
{
	const char *columns[] = {set->embedding, set->label, set->id, set->weight};
	const char *const arguments[] = {"embedding", "label", "id", "weight"};

	for (int i = 0; i < (int) lengthof(columns); i++)
	{
		if (columns[i] && get_attnum(relid, columns[i]) == InvalidAttrNumber)
			return arguments[i];
	}
	return "embedding";
}

/* Write the statement that makes a set usable again; "..." is for a person to fill in. */
static char *
repair(const Todo *todo, const NwSet *set, const char *state)
{
	char *alter = call(todo, "nw_alter_set", set->name);

	if (strcmp(state, "dimension changed") == 0)
		return psprintf("SELECT %s, embedding => %s)", alter, quote_literal_cstr(set->embedding));
	if (strcmp(state, "not populated") == 0)
		return psprintf("REFRESH MATERIALIZED VIEW %s",
		                quote_qualified_identifier(set->schema, set->relation));
	if (strcmp(state, "column missing") == 0)
		return psprintf("SELECT %s, %s => '...')", alter,
		                missing_column(set, nw_set_relation(set)));
	if (strcmp(state, "column type changed") == 0)
		return psprintf("SELECT %s, embedding => '...')", alter);
	return psprintf("SELECT %s, relation => '...')", alter);
}

/* Say whether the prototypes of a set weigh as many rows as they stand for. */
static bool
weigh_members(const Todo *todo, const NwSet *set)
{
	Relation rel = nw_own_open(todo->schema, NW_PROTOTYPE, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;
	bool members = false;

	nw_own_key(&key, Anum_prototype_set, set->set_id);
	scan = systable_beginscan(rel, nw_own_index(rel, NW_PROTOTYPE, Anum_prototype_set), true,
	                          GetActiveSnapshot(), 1, &key);
	while (!members && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		bool isnull;

		members = DatumGetFloat8(heap_getattr(tuple, Anum_prototype_weight, RelationGetDescr(rel),
		                                      &isnull)) != 1;
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return members;
}

/* Write the statement that distils a set anew; NULL where its parent is gone. */
static char *
distill(const Todo *todo, const NwSet *set)
{
	if (set->parent == NULL || nw_set_find(todo->schema, set->parent) == NULL)
		return NULL;
	return psprintf("SELECT %s, %s, %s, k => %d, seed => " INT64_FORMAT "%s)",
	                call(todo, "nw_distill", set->parent), quote_literal_cstr(set->name),
	                quote_literal_cstr(set->mode), set->k, set->seed,
	                weigh_members(todo, set) ? ", weights => 'members'" : "");
}

/* Say why the prototypes of a set are not those of its parent any more, or NULL. */
static char *
prototypes_outdated(const Todo *todo, const NwSet *set)
{
	NwSet *parent = set->parent ? nw_set_find(todo->schema, set->parent) : NULL;

	if (parent == NULL)
		return NULL;
	if (!nw_same_name(parent->schema, set->schema) ||
	    !nw_same_name(parent->relation, set->relation) ||
	    !nw_same_name(parent->embedding, set->embedding) ||
	    !nw_same_name(parent->label, set->label))
		return psprintf("set %s has other rows now", quote_literal_cstr(parent->name));
	if (!nw_same_name(parent->balance, set->balance))
		return psprintf("set %s has another balance now", quote_literal_cstr(parent->name));
	if (parent->kernel != set->kernel)
		return psprintf("set %s has another kernel now", quote_literal_cstr(parent->name));
	if (parent->tags != set->tags)
		return psprintf(parent->tags ? "set %s has tags now" : "set %s has no tags any more",
		                quote_literal_cstr(parent->name));
	if (parent->model && set->model && strcmp(parent->model, set->model) != 0)
		return psprintf("set %s has vectors of another model now",
		                quote_literal_cstr(parent->name));
	if (nw_set_is_distilled(parent))
		return parent->distilled.known && set->distilled.known &&
		               parent->distilled.at > set->distilled.at
		           ? psprintf("set %s was distilled since", quote_literal_cstr(parent->name))
		           : NULL;
	return nw_stamp_outdated(&set->distilled, nw_set_relation(set), "it was distilled");
}

/* List what is to be done about a set's temperature. */
static void
list_calibration(const Todo *todo, const NwSet *set)
{
	char *sql = nw_set_is_distilled(set)
	                ? distill(todo, set)
	                : psprintf("SELECT * FROM %s)", call(todo, "nw_calibrate", set->name));
	char *why;

	if (set->label == NULL)
		return;
	if (!set->calibrated.known)
	{
		put(todo, set, "never calibrated",
		    psprintf("tau = %g was not found on these rows", set->tau), sql);
		return;
	}
	why = nw_set_is_distilled(set)
	          ? NULL
	          : nw_stamp_outdated(&set->calibrated, nw_set_relation(set), "it was calibrated");
	if (why)
		put(todo, set, "calibration outdated", why, sql);
}

/* List scores that are not of the set as it is. */
static void
list_scores(const Todo *todo, const NwSet *set)
{
	ListCell *cell;

	foreach(cell, nw_reference_states(todo->schema, set))
	{
		const NwReferenceState *state = lfirst(cell);
		bool gone = state->queries && nw_set_find(todo->schema, state->queries) == NULL;

		if (!state->current)
			put(todo, set, "scores outdated",
			    psprintf("scores of kind \"%s\" are of an earlier state of the set",
			             nw_reference_name(state->kind)),
			    gone ? NULL
			         : psprintf("SELECT * FROM %s", nw_reference_call(todo->schema, set, state)));
	}
}

/* List an nw index of a set's that wants REINDEX. */
static void
list_index(const Todo *todo, const NwSet *set, Oid indexid)
{
	char *name = quote_qualified_identifier(get_namespace_name(get_rel_namespace(indexid)),
	                                        get_rel_name(indexid));
	char *sql = psprintf("REINDEX INDEX CONCURRENTLY %s", name);
	NwOwned owned;
	const char *advice = NULL;
	bool valid;

	nw_index_open_owned(&owned, indexid, AccessShareLock);
	valid = owned.index->rd_index->indisvalid && owned.index->rd_index->indisready;
	if (valid)
		advice = nw_index_contents(owned.index).advice;
	nw_index_close_owned(&owned);
	if (!valid)
		put(todo, set, "index invalid", psprintf("index %s was not built to the end", name), sql);
	else if (advice)
		put(todo, set, "index wants REINDEX", psprintf("index %s: %s", name, advice), sql);
}

/* List the nw indexes of one table of a set's that want REINDEX. */
static void
list_indexes(const Todo *todo, const NwSet *set, Oid relid)
{
	Relation rel;
	ListCell *cell;

	/* labels and vectors are data: see nw_index_open_owned() */
	if (!nw_owns_relation(relid, GetUserId()))
		return;
	rel = try_table_open(relid, AccessShareLock);
	if (rel == NULL)
		return;
	foreach(cell, RelationGetIndexList(rel))
	{
		Relation index = index_open(lfirst_oid(cell), AccessShareLock);
		bool ours = index->rd_rel->relkind == RELKIND_INDEX && nw_index_is_ours(index) &&
		            index->rd_index->indkey.values[0] == get_attnum(relid, set->embedding);

		index_close(index, AccessShareLock);
		if (ours)
			list_index(todo, set, lfirst_oid(cell));
		CHECK_FOR_INTERRUPTS();
	}
	table_close(rel, AccessShareLock);
}

/* List what is to be done about a mixture: its members have rows of their own. */
static void
list_mixture(const Todo *todo, const NwSet *set)
{
	char *why;
	const char *state = nw_mixture_state(todo->schema, set, &why);

	if (strcmp(state, NW_READY) != 0)
		put(todo, set, state, why,
		    psprintf("SELECT %s, '{...}', replace => true)",
		             call(todo, "nw_register_mixture", set->name)));
	else
		list_scores(todo, set);
}

/* List what is to be done about one set. */
static void
list_set(const NwSet *set, void *arg)
{
	const Todo *todo = arg;
	const char *state;
	char *why;
	ListCell *cell;

	if (!nw_set_is_mine(todo->schema, set))
		return;
	if (nw_set_is_mixture(set))
	{
		list_mixture(todo, set);
		return;
	}
	state = nw_set_state(set, &why);
	if (strcmp(state, NW_READY) != 0)
	{
		put(todo, set, state, why, repair(todo, set, state));
		return;
	}
	if (nw_set_is_distilled(set))
	{
		why = prototypes_outdated(todo, set);
		if (why)
			put(todo, set, "prototypes outdated", why, distill(todo, set));
		else
		{
			list_calibration(todo, set);
			list_scores(todo, set);
		}
		return;
	}
	list_calibration(todo, set);
	list_scores(todo, set);
	foreach(cell, find_all_inheritors(nw_set_relation(set), NoLock, NULL))
	{
		char kind = get_rel_relkind(lfirst_oid(cell));

		if (kind == RELKIND_RELATION || kind == RELKIND_MATVIEW)
			list_indexes(todo, set, lfirst_oid(cell));
	}
}

/* nw_todo() returns table (set text, what text, why text, sql text) */
Datum
nw_todo(PG_FUNCTION_ARGS)
{
	Todo todo = {.schema = nw_extension_schema(fcinfo), .rows = nw_rows_begin(fcinfo)};

	nw_set_each(todo.schema, list_set, &todo);
	return (Datum) 0;
}
