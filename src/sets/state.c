/*
 * sets/state.c
 *		Tell whether a set is as it was: whether the catalogs still have what it
 *		names, and how much its rows have changed since something was made of
 *		them.
 *
 * Nothing here reads a row, takes a lock or fails for want of a right: all of it is
 * in catalogs and statistics that everyone may read.  (The one exception is the count
 * of rows noted when a set is calibrated or distilled, by whoever reads them anyway.)
 *
 * How much rows have changed is told by two numbers.  pg_class.reltuples, against the
 * rows counted then: autovacuum keeps it within some ten percent.  And the rows ever
 * inserted, updated and deleted by the statistics, against the same number then.  The
 * statistics begin anew after a crash or a reset; a number that is too small makes
 * changes seem fewer, never more.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "sets/extension.h"
#include "sets/state.h"

/* Rows that changed, or came or went, as a share of all: more is worth a note. */
#define OUTDATED_SHARE 0.2

PG_FUNCTION_INFO_V1(nw_set_status);

/* The OID of a set's relation, or InvalidOid. */
Oid
nw_set_relation(const NwSet *set)
{
	Oid schema = get_namespace_oid(set->schema, true);

	return OidIsValid(schema) ? get_relname_relid(set->relation, schema) : InvalidOid;
}

/* Say what is wrong with a relation as such; NULL where nothing is. */
static const char *
relation_state(const NwSet *set, Oid relid, char **why)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	char *name = quote_qualified_identifier(set->schema, set->relation);
	const char *state = NULL;
	Form_pg_class form;

	if (!HeapTupleIsValid(tuple))
	{
		*why = psprintf("relation %s does not exist", name);
		return "relation missing";
	}
	form = (Form_pg_class) GETSTRUCT(tuple);
	if (form->relpersistence == RELPERSISTENCE_TEMP ||
	    (form->relkind != RELKIND_RELATION && form->relkind != RELKIND_PARTITIONED_TABLE &&
	     form->relkind != RELKIND_VIEW && form->relkind != RELKIND_MATVIEW &&
	     form->relkind != RELKIND_FOREIGN_TABLE))
	{
		*why = psprintf("%s is no relation that can be a set", name);
		state = "relation replaced";
	}
	else if (!form->relispopulated)
	{
		*why = psprintf("materialized view %s has not been populated", name);
		state = "not populated";
	}
	ReleaseSysCache(tuple);
	return state;
}

/* Say whether a column is gone. */
static bool
column_is_missing(const NwSet *set, Oid relid, const char *column, char **why)
{
	if (column == NULL || get_attnum(relid, column) != InvalidAttrNumber)
		return false;
	*why = psprintf("column %s of relation %s does not exist", quote_identifier(column),
	                quote_qualified_identifier(set->schema, set->relation));
	return true;
}

/* Say what is wrong with the column of the vectors; NULL where nothing is. */
static const char *
embedding_state(const NwSet *set, Oid relid, char **why)
{
	HeapTuple tuple = SearchSysCacheAttName(relid, set->embedding);
	Oid type;
	int32 typmod;
	int dim;

	if (!HeapTupleIsValid(tuple))
		return NULL;
	type = ((Form_pg_attribute) GETSTRUCT(tuple))->atttypid;
	typmod = ((Form_pg_attribute) GETSTRUCT(tuple))->atttypmod;
	ReleaseSysCache(tuple);
	if (nw_vector_type(getBaseTypeAndTypmod(type, &typmod)) == NW_NOT_A_VECTOR)
	{
		*why = psprintf("column %s has type %s", quote_identifier(set->embedding),
		                format_type_extended(type, -1, FORMAT_TYPE_ALLOW_INVALID));
		return "column type changed";
	}
	dim = nw_vector_typmod_dim(typmod);
	if (dim > 0 && set->dim > 0 && dim != set->dim)
	{
		*why = psprintf("column %s has %d dimensions, and had %d when the set was registered",
		                quote_identifier(set->embedding), dim, set->dim);
		return "dimension changed";
	}
	return NULL;
}

/*
 * Say in a word or two whether a set can be used, as far as the catalogs tell, and why
 * not.  Prototypes do not need the relation that they were made of.  Of mixtures, see
 * nw_mixture_state().
 */
const char *
nw_set_state(const NwSet *set, char **why)
{
	const char *columns[] = {set->embedding, set->label, set->id, set->weight};
	const char *state;
	Oid relid;

	*why = NULL;
	if (nw_set_is_distilled(set))
		return NW_READY;
	relid = nw_set_relation(set);
	state = relation_state(set, relid, why);
	for (int i = 0; state == NULL && i < (int) lengthof(columns); i++)
		state = column_is_missing(set, relid, columns[i], why) ? "column missing" : NULL;
	if (state == NULL)
		state = embedding_state(set, relid, why);
	return state ? state : NW_READY;
}

/* The same for a mixture: whether its members are there and can be used. */
const char *
nw_mixture_state(Oid extension, const NwSet *set, char **why)
{
	*why = NULL;
	for (int i = 0; i < set->nmembers; i++)
	{
		NwSet *member = nw_set_find(extension, set->members[i]);
		const char *state;

		if (member == NULL)
		{
			*why = psprintf("set %s is not registered", quote_literal_cstr(set->members[i]));
			return "member missing";
		}
		state = nw_set_is_mixture(member) ? "" : nw_set_state(member, why);
		if (strcmp(state, NW_READY) != 0)
		{
			*why = psprintf("set %s cannot be used", quote_literal_cstr(member->name));
			return "member not ready";
		}
	}
	return NW_READY;
}

/*
 * nw_set_status(mode text, schema name, relation name, embedding name, label name,
 *				 id name, weight name, dim int, members text[]) returns text
 */
Datum
nw_set_status(PG_FUNCTION_ARGS)
{
	NwSet set = {0};
	char **names[] = {&set.schema, &set.relation, &set.embedding, &set.label, &set.id, &set.weight};
	Datum members = PG_GETARG_DATUM(8);
	bool no_members = PG_ARGISNULL(8);
	char *why;

	for (int i = 0; i < (int) lengthof(names); i++)
		*names[i] = PG_ARGISNULL(i + 1) ? NULL : NameStr(*PG_GETARG_NAME(i + 1));
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	set.mode = text_to_cstring(PG_GETARG_TEXT_PP(0));
	if (nw_set_is_mixture(&set))
	{
		set.members = nw_own_get_texts(&members, &no_members, 0, &set.nmembers);
		if (set.nmembers == 0)
			PG_RETURN_NULL();
		PG_RETURN_DATUM(
			CStringGetTextDatum(nw_mixture_state(nw_extension_schema(fcinfo), &set, &why)));
	}
	if (!set.schema || !set.relation || !set.embedding)
		PG_RETURN_NULL();
	set.dim = PG_ARGISNULL(7) ? 0 : PG_GETARG_INT32(7);
	PG_RETURN_DATUM(CStringGetTextDatum(nw_set_state(&set, &why)));
}

/* List the tables that hold a relation's rows; NIL for views and what is elsewhere. */
static List *
list_tables(Oid relid)
{
	List *tables = NIL;
	ListCell *cell;

	switch (get_rel_relkind(relid))
	{
		case RELKIND_MATVIEW:
			return list_make1_oid(relid);
		case RELKIND_RELATION:
		case RELKIND_PARTITIONED_TABLE:
			foreach(cell, find_all_inheritors(relid, NoLock, NULL))
			{
				char kind = get_rel_relkind(lfirst_oid(cell));

				if (kind == RELKIND_FOREIGN_TABLE)
					return NIL;
				if (kind == RELKIND_RELATION)
					tables = lappend_oid(tables, lfirst_oid(cell));
			}
			return tables;
		default:
			return NIL;
	}
}

/* About how many rows a relation has by the planner's statistics; -1 where unknown. */
static double
relation_rows(Oid relid)
{
	double rows = 0;
	ListCell *cell;
	List *tables = list_tables(relid);

	foreach(cell, tables)
	{
		HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(lfirst_oid(cell)));
		double part = -1;

		if (HeapTupleIsValid(tuple))
		{
			part = ((Form_pg_class) GETSTRUCT(tuple))->reltuples;
			ReleaseSysCache(tuple);
		}
		if (part < 0)
			return -1;
		rows += part;
	}
	return tables == NIL ? -1 : rows;
}

/* A number of the statistics, with what this session has not passed on yet. */
static int64
counted(PGFunction all, PGFunction own, Oid relid)
{
	return DatumGetInt64(DirectFunctionCall1(all, ObjectIdGetDatum(relid))) +
	       DatumGetInt64(DirectFunctionCall1(own, ObjectIdGetDatum(relid)));
}

/* How many rows of a relation were ever inserted, updated or deleted; -1 where unknown. */
static int64
relation_changes(Oid relid)
{
	int64 changes = 0;
	ListCell *cell;
	List *tables = list_tables(relid);

	foreach(cell, tables)
	{
		Oid table = lfirst_oid(cell);

		changes += counted(pg_stat_get_tuples_inserted, pg_stat_get_xact_tuples_inserted, table) +
		           counted(pg_stat_get_tuples_updated, pg_stat_get_xact_tuples_updated, table) +
		           counted(pg_stat_get_tuples_deleted, pg_stat_get_xact_tuples_deleted, table);
	}
	return tables == NIL ? -1 : changes;
}

/* Count the rows of a relation that the caller sees, under the active snapshot. */
static int64
count_rows(const NwSource *source)
{
	char *sql = psprintf("SELECT pg_catalog.count(*) FROM %s",
	                     quote_qualified_identifier(source->schema, source->relation));
	int64 rows = -1;
	bool isnull;

	SPI_connect();
	if (SPI_execute(sql, true, 0) == SPI_OK_SELECT && SPI_processed == 1)
		rows =
			DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	SPI_finish();
	return rows;
}

/* Note the time, and what the rows of a set are like; it has so many prototypes, or is full. */
NwStamp
nw_stamp_now(const NwSource *source, int64 prototypes)
{
	NwStamp stamp = {.known = true, .at = GetCurrentTransactionStartTimestamp(), .changes = -1};

	if (source->distilled)
		stamp.rows = prototypes;
	else
	{
		stamp.rows = count_rows(source);
		stamp.changes = relation_changes(source->relid);
	}
	return stamp;
}

/*
 * Say how much the rows of a relation have changed since a stamp, or NULL where that is
 * little or not known.  Of a table with row-level security, whoever made the stamp may
 * have seen a part.
 */
char *
nw_stamp_outdated(const NwStamp *stamp, Oid relid, const char *since)
{
	double rows = relation_rows(relid);
	int64 changes = relation_changes(relid);
	HeapTuple tuple;
	bool secured = true;

	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	if (HeapTupleIsValid(tuple))
	{
		secured = ((Form_pg_class) GETSTRUCT(tuple))->relrowsecurity;
		ReleaseSysCache(tuple);
	}
	if (!stamp->known || stamp->rows < 0 || secured)
		return NULL;
	if (rows >= 0 && fabs(rows - stamp->rows) > stamp->rows * OUTDATED_SHARE)
		return psprintf("there are about %.0f rows, and were " INT64_FORMAT " when %s", rows,
		                stamp->rows, since);
	if (stamp->changes >= 0 && changes - stamp->changes > stamp->rows * OUTDATED_SHARE)
		return psprintf("about " INT64_FORMAT " changes since %s, of " INT64_FORMAT " rows",
		                changes - stamp->changes, since, stamp->rows);
	return NULL;
}
