/*
 * saved.c
 *		Dump and restore registered sets and their prototypes.
 *
 * pg_dump copies tables, with the rights of whoever runs it, and refuses those
 * with policies that would keep rows from that role.  The registry has OIDs of
 * roles, which mean nothing elsewhere, and prototypes are for members of the
 * role that owns them.  So neither is dumped itself.  Two tables that are
 * always empty stand for them: nw_saved_set and nw_saved_prototype.
 *
 * For pg_dump, their rows come from nw_dump_sets and nw_dump_prototypes, which
 * return what the caller may read.  Rows that are copied into them are taken
 * over by triggers, which do for the caller what nw_register and nw_distill
 * could do for it, and no more: a set goes to the role that owned it where the
 * caller has that role's privileges, else to the caller.
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "args.h"
#include "own_tables.h"
#include "pgvector.h"
#include "prototypes.h"
#include "registry.h"

PG_FUNCTION_INFO_V1(nw_dump_sets);
PG_FUNCTION_INFO_V1(nw_dump_prototypes);
PG_FUNCTION_INFO_V1(nw_restore_set);
PG_FUNCTION_INFO_V1(nw_restore_prototype);

/* Columns of nw_saved_set, in the order of the extension's script. */
enum
{
	Saved_name,
	Saved_owner,
	Saved_mode,
	Saved_parent,
	Saved_schema,
	Saved_relation,
	Saved_embedding,
	Saved_label,
	Saved_id,
	Saved_weight,
	Saved_kernel,
	Saved_tau,
	Saved_k,
	Saved_seed,
	Saved_dim,
	Saved_centroids,
	SAVED_SET_COLUMNS
};

/* Columns of nw_saved_prototype. */
enum
{
	Saved_set,
	Saved_class,
	Saved_ordinal,
	Saved_vector,
	Saved_members,
	Saved_source_id,
	Saved_mass,
	SAVED_PROTOTYPE_COLUMNS
};

/* Where the rows of a dump go. */
typedef struct Dump
{
	Oid			schema;			/* the extension's */
	ReturnSetInfo *result;
	Relation	prototypes;
} Dump;

/*
 * The schema of the extension, whose dump functions live elsewhere: pg_dump
 * calls them by names that were written down when the extension was created,
 * and schemas may be renamed.
 */
static Oid
find_extension(void)
{
	Oid			schema = InvalidOid;

	(void) nw_extension_find("nwhead", &schema);
	return schema;
}

/* True for sets that the caller's dump can hold. */
static bool
may_dump(const Dump *dump, const NwSet *set)
{
	return !nw_set_is_distilled(set) || nw_set_is_mine(dump->schema, set);
}

/* Put a text or a name, or NULL, among the values of a row. */
static void
put_string(Datum *values, bool *nulls, int column, const char *string,
		   bool is_name)
{
	nulls[column] = string == NULL;
	if (string)
		values[column] = is_name ?
			DirectFunctionCall1(namein, CStringGetDatum(string)) :
			CStringGetTextDatum(string);
}

/* Return a set as nw_saved_set has it. */
static void
dump_set(const NwSet *set, void *arg)
{
	Dump	   *dump = arg;
	Datum		values[SAVED_SET_COLUMNS] = {0};
	bool		nulls[SAVED_SET_COLUMNS] = {0};

	if (!may_dump(dump, set))
		return;
	put_string(values, nulls, Saved_name, set->name, false);
	put_string(values, nulls, Saved_owner,
			   nw_set_owner_name(dump->schema, set), true);
	put_string(values, nulls, Saved_mode, set->mode, false);
	put_string(values, nulls, Saved_parent, set->parent, false);
	put_string(values, nulls, Saved_schema, set->schema, true);
	put_string(values, nulls, Saved_relation, set->relation, true);
	put_string(values, nulls, Saved_embedding, set->embedding, true);
	put_string(values, nulls, Saved_label, set->label, true);
	put_string(values, nulls, Saved_id, set->id, true);
	put_string(values, nulls, Saved_weight, set->weight, true);
	put_string(values, nulls, Saved_kernel, nw_kernel_name(set->kernel), false);
	values[Saved_tau] = Float8GetDatum(set->tau);
	values[Saved_k] = Int32GetDatum(set->k);
	values[Saved_seed] = Int64GetDatum(set->seed);
	nulls[Saved_k] = nulls[Saved_seed] = set->k <= 0;
	values[Saved_dim] = Int32GetDatum(set->dim);
	nulls[Saved_dim] = set->dim <= 0;
	values[Saved_centroids] = BoolGetDatum(set->centroids);
	tuplestore_putvalues(dump->result->setResult, dump->result->setDesc,
						 values, nulls);
}

/* Insist that a caller expects the rows that a function returns. */
static void
check_expected(const ReturnSetInfo *result, int ncolumns)
{
	if (result->setDesc->natts != ncolumns)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("function has %d result columns, not %d",
						ncolumns, result->setDesc->natts)));
}

/* nw_dump_sets() returns setof record */
Datum
nw_dump_sets(PG_FUNCTION_ARGS)
{
	Dump		dump = {
		.schema = find_extension(),
		.result = (ReturnSetInfo *) fcinfo->resultinfo
	};

	nw_begin_rows(fcinfo);
	check_expected(dump.result, SAVED_SET_COLUMNS);
	nw_set_each(dump.schema, dump_set, &dump);
	return (Datum) 0;
}

/* Return the prototypes of a set as nw_saved_prototype has them. */
static void
dump_prototypes(const NwSet *set, void *arg)
{
	Dump	   *dump = arg;
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple	tuple;

	if (!nw_set_is_distilled(set) || !may_dump(dump, set))
		return;
	nw_own_key(&key, Anum_prototype_set, set->set_id);
	scan = systable_beginscan(dump->prototypes,
							  nw_own_index(dump->prototypes, NW_PROTOTYPE,
										   Anum_prototype_set),
							  true, GetActiveSnapshot(), 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Datum		values[SAVED_PROTOTYPE_COLUMNS];
		bool		nulls[SAVED_PROTOTYPE_COLUMNS];

		heap_deform_tuple(tuple, RelationGetDescr(dump->prototypes), values,
						  nulls);
		put_string(values, nulls, Saved_set, set->name, false);
		tuplestore_putvalues(dump->result->setResult, dump->result->setDesc,
							 values, nulls);
		CHECK_FOR_INTERRUPTS();
	}
	systable_endscan(scan);
}

/* nw_dump_prototypes() returns setof record */
Datum
nw_dump_prototypes(PG_FUNCTION_ARGS)
{
	Dump		dump = {
		.schema = find_extension(),
		.result = (ReturnSetInfo *) fcinfo->resultinfo
	};

	nw_begin_rows(fcinfo);
	check_expected(dump.result, SAVED_PROTOTYPE_COLUMNS);
	dump.prototypes = nw_own_open(dump.schema, NW_PROTOTYPE, AccessShareLock);
	nw_set_each(dump.schema, dump_prototypes, &dump);
	table_close(dump.prototypes, AccessShareLock);
	return (Datum) 0;
}

/*
 * Take apart the row that a trigger is called for.  Anybody could attach our
 * function to a table of his own, so insist on the table that it is for.
 */
static Oid
read_row(FunctionCallInfo fcinfo, NwOwnTable table, Datum *values, bool *nulls)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	Oid			schema = nw_extension_schema(fcinfo);

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_FOR_ROW(trigger->tg_event) ||
		!TRIGGER_FIRED_BEFORE(trigger->tg_event) ||
		!TRIGGER_FIRED_BY_INSERT(trigger->tg_event) ||
		RelationGetRelid(trigger->tg_relation) != nw_own_relid(schema, table))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function is for inserting into table \"%s\" of extension \"nwhead\"",
						nw_own_name(table))));
	heap_deform_tuple(trigger->tg_trigtuple,
					  RelationGetDescr(trigger->tg_relation), values, nulls);
	return schema;
}

/* A value that was saved, as a string. */
static char *
get_string(const Datum *values, const bool *nulls, int column, bool is_name)
{
	if (nulls[column])
		return NULL;
	return is_name ? pstrdup(NameStr(*DatumGetName(values[column]))) :
		TextDatumGetCString(values[column]);
}

/* Find who is to own a set: who did, if the caller may act for that role. */
static Oid
restored_owner(const char *set, const char *owner)
{
	Oid			role = owner ? get_role_oid(owner, true) : InvalidOid;

	if (OidIsValid(role) && has_privs_of_role(GetUserId(), role))
		return role;
	ereport(NOTICE,
			(errmsg("set \"%s\" now belongs to role \"%s\"", set,
					GetUserNameFromId(GetUserId(), false)),
			 owner == NULL ? errdetail("The role that owned it was gone.") :
			 OidIsValid(role) ?
			 errdetail("It belonged to role \"%s\", which is not for you to act for.",
					   owner) :
			 errdetail("It belonged to role \"%s\", which does not exist.",
					   owner)));
	return GetUserId();
}

/* Complain about a row that no dump would hold. */
static void
check_saved(bool right, const char *set)
{
	if (!right)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("set \"%s\" cannot be restored from these values",
						set ? set : "")));
}

/* nw_restore_set() returns trigger */
Datum
nw_restore_set(PG_FUNCTION_ARGS)
{
	Datum		values[SAVED_SET_COLUMNS];
	bool		nulls[SAVED_SET_COLUMNS];
	Oid			schema = read_row(fcinfo, NW_SAVED_SET, values, nulls);
	NwSet		set = {0};
	char	   *kernel = get_string(values, nulls, Saved_kernel, false);

	nw_check_may_register(schema);
	set.name = get_string(values, nulls, Saved_name, false);
	set.mode = get_string(values, nulls, Saved_mode, false);
	set.parent = get_string(values, nulls, Saved_parent, false);
	set.schema = get_string(values, nulls, Saved_schema, true);
	set.relation = get_string(values, nulls, Saved_relation, true);
	set.embedding = get_string(values, nulls, Saved_embedding, true);
	set.label = get_string(values, nulls, Saved_label, true);
	set.id = get_string(values, nulls, Saved_id, true);
	set.weight = get_string(values, nulls, Saved_weight, true);
	check_saved(set.name && set.name[0] && set.mode && set.schema &&
				set.relation && set.embedding && kernel &&
				!nulls[Saved_tau] && !nulls[Saved_centroids], set.name);
	set.kernel = nw_check_kernel(kernel);
	set.tau = DatumGetFloat8(values[Saved_tau]);
	nw_check_tau(set.tau);
	set.k = nulls[Saved_k] ? 0 : DatumGetInt32(values[Saved_k]);
	set.seed = nulls[Saved_seed] ? 0 : DatumGetInt64(values[Saved_seed]);
	set.dim = nulls[Saved_dim] ? 0 : DatumGetInt32(values[Saved_dim]);
	set.centroids = DatumGetBool(values[Saved_centroids]);
	check_saved(set.k >= 0 && set.dim >= 0 && set.dim <= NW_MAX_DIM &&
				nw_set_is_distilled(&set) == (set.k > 0), set.name);
	set.owner = restored_owner(set.name,
							   get_string(values, nulls, Saved_owner, true));
	if (!nw_set_insert(schema, &set))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("set \"%s\" is already registered", set.name),
				 errhint("Remove it with nw_unregister, and restore again.")));
	return PointerGetDatum(NULL);
}

/*
 * Find the set that a restored prototype is of.  Prototypes of a version never
 * change, so the set gets a new version with the first of a statement.
 */
static const NwSet *
find_set(FunctionCallInfo fcinfo, Oid schema, const char *name)
{
	NwSet	   *set = fcinfo->flinfo->fn_extra;
	MemoryContext caller;

	if (set && strcmp(set->name, name) == 0)
	{
		/* what made the row may have removed the set */
		nw_set_hold(schema, set);
		return set;
	}
	nw_push_fresh_snapshot();
	caller = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	set = nw_set_get(schema, name);
	MemoryContextSwitchTo(caller);
	nw_set_check_owner(schema, set);
	check_saved(nw_set_is_distilled(set), name);
	nw_set_update_tau(schema, set, set->tau);
	PopActiveSnapshot();
	fcinfo->flinfo->fn_extra = set;
	return set;
}

/* nw_restore_prototype() returns trigger */
Datum
nw_restore_prototype(PG_FUNCTION_ARGS)
{
	Datum		values[SAVED_PROTOTYPE_COLUMNS];
	bool		nulls[SAVED_PROTOTYPE_COLUMNS];
	Oid			schema = read_row(fcinfo, NW_SAVED_PROTOTYPE, values, nulls);
	const NwSet *set;
	NwPrototype prototype = {0};
	NwVectorData vector;

	for (int i = 0; i < SAVED_PROTOTYPE_COLUMNS; i++)
		check_saved(i == Saved_source_id || !nulls[i],
					get_string(values, nulls, Saved_set, false));
	set = find_set(fcinfo, schema, get_string(values, nulls, Saved_set, false));
	vector = nw_vector_read(values[Saved_vector], NW_VECTOR);
	prototype.label.data = get_string(values, nulls, Saved_class, false);
	prototype.label.len = (int) strlen(prototype.label.data);
	prototype.ordinal = DatumGetInt32(values[Saved_ordinal]);
	prototype.x = vector.x;
	prototype.dim = vector.dim;
	prototype.members = DatumGetInt64(values[Saved_members]);
	prototype.source_id = get_string(values, nulls, Saved_source_id, false);
	prototype.weight = DatumGetFloat8(values[Saved_mass]);
	check_saved(vector.dim == set->dim && prototype.ordinal > 0 &&
				prototype.members > 0 && prototype.weight >= 0 &&
				!isinf(prototype.weight), set->name);
	nw_prototypes_insert(schema, set, &prototype);
	return PointerGetDatum(NULL);
}
