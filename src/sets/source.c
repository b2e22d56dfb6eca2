/*
 * sets/source.c
 *		Find the relation and the columns that a registered set names.
 *
 * Names are resolved at every use, so a renamed column or a dropped table is
 * found here, before anything is read.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "sets/members.h"
#include "sets/own_tables.h"
#include "sets/source.h"

/*
 * Find and lock the relation of a set.  The lock is held to the end of the
 * transaction, so the name and the columns keep meaning what is found here.
 */
static Oid
find_relation(const NwSet *set)
{
	RangeVar *name = makeRangeVar(set->schema, set->relation, -1);
	Oid relid = RangeVarGetRelid(name, AccessShareLock, true);

	if (!OidIsValid(relid))
		ereport(
			ERROR,
			(errcode(ERRCODE_UNDEFINED_TABLE),
		     errmsg("relation \"%s.%s\" of set \"%s\" does not exist", set->schema, set->relation,
		            set->name),
		     errhint(
				 "If it was renamed, name it with nw_alter_set(%s, relation => ...); else remove the set"
				 " with nw_unregister.",
				 quote_literal_cstr(set->name))));
	return relid;
}

/* Find a column of a set, and its type. */
static Oid
find_column(const NwSet *set, Oid relid, const char *column, const char *role, int32 *typmod)
{
	bool registered = set->set_id > 0;
	HeapTuple tuple = SearchSysCacheAttName(relid, column);
	Form_pg_attribute attribute;
	Oid type;

	if (!HeapTupleIsValid(tuple))
		ereport(
			ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
		     errmsg("column \"%s\" of relation \"%s.%s\" does not exist", column, set->schema,
		            set->relation),
		     errdetail("It is the %s column of set \"%s\".", role, set->name),
		     registered ? errhint("If it was renamed, name it with nw_alter_set(%s, %s => ...).",
		                          quote_literal_cstr(set->name), role)
		     : strcmp(role, "id") == 0
		         ? errhint(
					   "Name the columns with embedding, label and id; id => NULL uses the row's ctid.")
		         : errhint(
					   "Name the columns with embedding, label and id; label => NULL registers unlabelled rows.")));
	attribute = (Form_pg_attribute) GETSTRUCT(tuple);
	type = attribute->atttypid;
	if (typmod)
		*typmod = attribute->atttypmod;
	ReleaseSysCache(tuple);
	return type;
}

/* Insist on a relation that can be read and found again by its name. */
static void
check_relation(const NwSet *set, Oid relid)
{
	char kind = get_rel_relkind(relid);

	if (kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE && kind != RELKIND_VIEW &&
	    kind != RELKIND_MATVIEW && kind != RELKIND_FOREIGN_TABLE)
		ereport(
			ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
		     errmsg("\"%s.%s\" cannot be a set", set->schema, set->relation),
		     errhint(
				 "A set is a table, partitioned table, view, materialized view or foreign table.")));
	if (get_rel_persistence(relid) == RELPERSISTENCE_TEMP)
		ereport(ERROR,
		        (errcode(ERRCODE_INVALID_TABLE_DEFINITION),
		         errmsg("temporary relation \"%s\" cannot be a set", set->relation),
		         errhint("Other sessions could not see its rows; register an ordinary table.")));
	if (set->id == NULL && ((kind != RELKIND_RELATION && kind != RELKIND_MATVIEW) ||
	                        find_inheritance_children(relid, NoLock) != NIL))
		ereport(ERROR,
		        (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		         errmsg("set \"%s\" needs an id column", set->name),
		         errdetail(
					 "Only rows of plain tables and materialized views are identified by ctid.")));
}

/* Insist that a weight column holds numbers. */
static void
check_weight_type(const NwSet *set, Oid type)
{
	char category;
	bool preferred;

	get_type_category_preferred(getBaseType(type), &category, &preferred);
	if (category != TYPCATEGORY_NUMERIC)
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
		                errmsg("weight column \"%s\" of set \"%s\" has type %s", set->weight,
		                       set->name, format_type_be(type)),
		                errhint("Row weights are numbers, such as float8 or integer.")));
}

/* Describe the rows of a relation that was registered. */
static void
resolve_relation(NwSource *source)
{
	NwSet *set = source->set;
	Oid relid = find_relation(set);
	Oid type;
	int32 typmod;

	check_relation(set, relid);
	source->relid = relid;
	source->schema = set->schema;
	source->relation = set->relation;
	source->embedding = set->embedding;
	source->label = set->label;
	source->id = set->id;
	source->weight = set->weight;

	type = find_column(set, relid, set->embedding, "embedding", &typmod);
	source->vector_type = nw_vector_type(getBaseTypeAndTypmod(type, &typmod));
	if (source->vector_type == NW_NOT_A_VECTOR)
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
		                errmsg("embedding column \"%s\" of set \"%s\" has type %s", set->embedding,
		                       set->name, format_type_be(type)),
		                errhint("Embeddings are columns of type vector or halfvec.")));
	source->dim = nw_vector_typmod_dim(typmod);

	if (set->label)
		source->label_type = find_column(set, relid, set->label, "label", NULL);
	source->id_type = set->id ? find_column(set, relid, set->id, "id", NULL) : TIDOID;
	if (set->weight)
		check_weight_type(set, find_column(set, relid, set->weight, "weight", NULL));
}

/* Describe the prototypes of a distilled set. */
static void
resolve_prototypes(NwSource *source, Oid extension)
{
	NwSet *set = source->set;
	Relation rel;

	if (!nw_set_is_mine(extension, set))
	{
		char *owner = nw_set_owner_name(extension, set);

		ereport(
			ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
		     errmsg("permission denied for set \"%s\"", set->name),
		     owner ? errdetail(
						 "Prototypes are copies of rows, readable by members of role \"%s\" only.",
						 owner)
		           : errdetail(
						 "Prototypes are copies of rows, and the role that owned them is gone.")));
	}

	/* the lock is held to the end of the transaction, as on any other set */
	rel = nw_own_open(extension, NW_PROTOTYPE, AccessShareLock);
	source->distilled = true;
	source->relid = RelationGetRelid(rel);
	source->schema = get_namespace_name(extension);
	source->relation = nw_own_name(NW_PROTOTYPE);
	table_close(rel, NoLock);
	source->embedding = "embedding";
	source->label = "label";
	source->id = "source_id";
	source->weight = "weight";
	source->vector_type = NW_VECTOR;
	source->dim = set->dim;
	source->label_type = TEXTOID;
	source->id_type = TEXTOID;
}

/*
 * Lock a set's relation and check its columns.  The error names the set and
 * what is missing.  extension is the extension's schema.
 */
NwSource *
nw_source_resolve(Oid extension, NwSet *set)
{
	NwSource *source = palloc0(sizeof(NwSource));

	source->set = set;
	if (nw_set_is_mixture(set))
		nw_members_report(set);
	if (nw_set_is_distilled(set))
		resolve_prototypes(source, extension);
	else
		resolve_relation(source);
	return source;
}

/*
 * Say whether the classes of a set have a say of their own.  Prototypes do without:
 * their weights come from rows that were balanced.
 */
bool
nw_source_is_balanced(const NwSource *source)
{
	return source->set->balance && !source->distilled;
}

/* Say whether the rows of a set may weigh differently. */
bool
nw_source_is_weighted(const NwSource *source)
{
	return source->weight || nw_source_is_balanced(source);
}

/* Insist that a set has labels, so that it can support predictions. */
void
nw_source_check_labelled(const NwSource *source)
{
	if (!OidIsValid(source->label_type))
		ereport(ERROR,
		        (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
		         errmsg("set \"%s\" has no labels", source->set->name),
		         errdetail("It was registered with label => NULL and can only serve as queries.")));
}
