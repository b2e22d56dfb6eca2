/*
 * registry.c
 *		Read and write the table of registered sets.
 *
 * The registry is an ordinary table that everyone may read and nobody writes
 * directly.  It holds names, never OIDs, so that a dump restores; what the
 * names mean is looked up at each use.  Reads go straight to the table by its
 * primary key under the caller's snapshot.  Writes run as the table's owner,
 * after the caller's right to them has been checked, the way foreign-key
 * triggers work.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"

#include "registry.h"

#define REGISTRY_TABLE	"nw_registry"
#define REGISTRY_INDEX	"nw_registry_pkey"
#define REGISTRY_VERSION "nw_version"

/* Columns of the registry, in the order of the extension's script. */
enum
{
	Anum_name = 1,
	Anum_owner,
	Anum_mode,
	Anum_parent,
	Anum_schema,
	Anum_relation,
	Anum_embedding,
	Anum_label,
	Anum_id,
	Anum_weight,
	Anum_kernel,
	Anum_tau,
	Anum_k,
	Anum_seed,
	Anum_dim,
	Anum_version,
	Anum_centroids
};

/* How many names a hint lists. */
#define HINT_NAMES	20

Oid
nw_extension_schema(FunctionCallInfo fcinfo)
{
	return get_func_namespace(fcinfo->flinfo->fn_oid);
}

/* Find a relation of the extension's own. */
static Oid
own_relation(Oid schema, const char *name)
{
	Oid			relid = get_relname_relid(name, schema);

	if (!OidIsValid(relid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation \"%s\" of extension \"nwhead\" does not exist",
						name),
				 errhint("Drop the extension and create it again.")));
	return relid;
}

Oid
nw_registry_oid(Oid schema)
{
	return own_relation(schema, REGISTRY_TABLE);
}

void
nw_check_tau(double tau)
{
	if (!nw_tau_is_valid(tau))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("tau must be positive and finite, not %g", tau),
				 errhint("Values from %g to %g are accepted; 1 is the default.",
						 NW_TAU_MIN, NW_TAU_MAX)));
}

NwKernel
nw_check_kernel(const char *name)
{
	NwKernel	kernel;

	if (!nw_kernel_parse(name, &kernel))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown kernel \"%s\"", name),
				 errhint("The kernels are %s.", NW_KERNEL_NAMES)));
	return kernel;
}

/*
 * The registry's owner may be anyone who could create the extension, and may
 * have changed the table: nothing about it is taken for granted.
 */
static void
report_damage(const char *name)
{
	if (name)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the registry's entry of set \"%s\" is damaged", name),
				 errhint("Register the set again with replace => true.")));
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("table \"%s\" of extension \"nwhead\" has been altered",
					REGISTRY_TABLE),
			 errhint("Drop the extension and create it again.")));
}

/* Insist that the registry's columns are as the extension's script made them. */
static void
check_layout(TupleDesc desc)
{
	static const Oid types[] = {
		TEXTOID, NAMEOID, TEXTOID, TEXTOID, NAMEOID, NAMEOID, NAMEOID, NAMEOID,
		NAMEOID, NAMEOID, TEXTOID, FLOAT8OID, INT4OID, INT8OID, INT4OID,
		INT8OID, BOOLOID
	};

	StaticAssertStmt(lengthof(types) == Anum_centroids,
					 "one type for each column");
	if (desc->natts < Anum_centroids)
		report_damage(NULL);
	for (int i = 0; i < Anum_centroids; i++)
	{
		if (TupleDescAttr(desc, i)->atttypid != types[i])
			report_damage(NULL);
	}
}

/* Copy a text or name attribute, or return NULL. */
static char *
get_string(const Datum *values, const bool *nulls, int attnum, TupleDesc desc)
{
	Datum		value = values[attnum - 1];

	if (nulls[attnum - 1])
		return NULL;
	if (TupleDescAttr(desc, attnum - 1)->atttypid == NAMEOID)
		return pstrdup(NameStr(*DatumGetName(value)));
	return TextDatumGetCString(value);
}

/* Decode a row of the registry. */
static NwSet *
decode_set(HeapTuple tuple, TupleDesc desc)
{
	NwSet	   *set = palloc0(sizeof(NwSet));
	Datum	   *values = palloc(desc->natts * sizeof(Datum));
	bool	   *nulls = palloc(desc->natts * sizeof(bool));
	char	   *kernel;

	heap_deform_tuple(tuple, desc, values, nulls);
	kernel = get_string(values, nulls, Anum_kernel, desc);
	set->name = get_string(values, nulls, Anum_name, desc);
	set->owner = get_string(values, nulls, Anum_owner, desc);
	set->mode = get_string(values, nulls, Anum_mode, desc);
	set->parent = get_string(values, nulls, Anum_parent, desc);
	set->schema = get_string(values, nulls, Anum_schema, desc);
	set->relation = get_string(values, nulls, Anum_relation, desc);
	set->embedding = get_string(values, nulls, Anum_embedding, desc);
	set->label = get_string(values, nulls, Anum_label, desc);
	set->id = get_string(values, nulls, Anum_id, desc);
	set->weight = get_string(values, nulls, Anum_weight, desc);
	if (!nulls[Anum_tau - 1])
		set->tau = DatumGetFloat8(values[Anum_tau - 1]);
	if (!nulls[Anum_k - 1])
		set->k = DatumGetInt32(values[Anum_k - 1]);
	if (!nulls[Anum_seed - 1])
		set->seed = DatumGetInt64(values[Anum_seed - 1]);
	if (!nulls[Anum_dim - 1])
		set->dim = DatumGetInt32(values[Anum_dim - 1]);
	if (!nulls[Anum_version - 1])
		set->version = DatumGetInt64(values[Anum_version - 1]);
	set->centroids = !nulls[Anum_centroids - 1] &&
		DatumGetBool(values[Anum_centroids - 1]);

	if (!set->owner || !set->mode || !set->schema || !set->relation ||
		!set->embedding || !kernel || nulls[Anum_version - 1] ||
		!nw_kernel_parse(kernel, &set->kernel) || !nw_tau_is_valid(set->tau))
		report_damage(set->name);
	return set;
}

bool
nw_set_is_distilled(const NwSet *set)
{
	return strcmp(set->mode, "full") != 0;
}

NwSet *
nw_set_find(Oid schema, const char *name)
{
	Relation	rel;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	NwSet	   *set = NULL;

	rel = table_open(own_relation(schema, REGISTRY_TABLE), AccessShareLock);
	check_layout(RelationGetDescr(rel));
	ScanKeyEntryInitialize(&key, 0, Anum_name, BTEqualStrategyNumber,
						   TEXTOID, C_COLLATION_OID, F_TEXTEQ,
						   CStringGetTextDatum(name));
	scan = systable_beginscan(rel, own_relation(schema, REGISTRY_INDEX), true,
							  GetActiveSnapshot(), 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		set = decode_set(tuple, RelationGetDescr(rel));
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return set;
}

/* List the first few names in the registry, for a hint. */
static char *
known_names(Oid schema)
{
	StringInfoData names;
	Relation	rel;
	Relation	index;
	SysScanDesc scan;
	HeapTuple	tuple;
	int			n = 0;

	initStringInfo(&names);
	rel = table_open(own_relation(schema, REGISTRY_TABLE), AccessShareLock);
	check_layout(RelationGetDescr(rel));
	index = index_open(own_relation(schema, REGISTRY_INDEX), AccessShareLock);
	scan = systable_beginscan_ordered(rel, index, GetActiveSnapshot(), 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext_ordered(scan,
															 ForwardScanDirection)))
	{
		bool		isnull;
		Datum		name = heap_getattr(tuple, Anum_name, RelationGetDescr(rel),
										&isnull);

		if (n++ == HINT_NAMES)
		{
			appendStringInfoString(&names, " and others");
			break;
		}
		appendStringInfo(&names, "%s\"%s\"", n > 1 ? ", " : "",
						 isnull ? "" : TextDatumGetCString(name));
	}
	systable_endscan_ordered(scan);
	index_close(index, AccessShareLock);
	table_close(rel, AccessShareLock);
	return names.len > 0 ? names.data : NULL;
}

NwSet *
nw_set_get(Oid schema, const char *name)
{
	NwSet	   *set = nw_set_find(schema, name);

	if (set == NULL)
	{
		char	   *names = known_names(schema);

		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("set \"%s\" is not registered", name),
				 names ? errhint("The registered sets are %s.", names) :
				 errhint("Register one with nw_register.")));
	}
	return set;
}

bool
nw_set_is_mine(Oid schema, const NwSet *set)
{
	Oid			owner = get_role_oid(set->owner, true);

	/* a role that did not come along with a dump leaves its sets to ours */
	if (!OidIsValid(owner))
	{
		Relation	rel = table_open(own_relation(schema, REGISTRY_TABLE),
									 AccessShareLock);

		owner = rel->rd_rel->relowner;
		table_close(rel, AccessShareLock);
	}
	return has_privs_of_role(GetUserId(), owner);
}

void
nw_set_check_owner(Oid schema, const NwSet *set)
{
	if (!nw_set_is_mine(schema, set))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be owner of set \"%s\"", set->name),
				 errdetail("Set \"%s\" belongs to role \"%s\".",
						   set->name, set->owner)));
}

/* Statements that write, prepared once for each backend. */
typedef struct Prepared
{
	const char *format;			/* the text it was made from */
	Oid			relid;			/* the table it writes */
	char	   *schema;			/* what its schema was called */
	SPIPlanPtr	plan;
} Prepared;

#define PREPARED_MAX	32

/* Prepare a statement, or find it prepared. */
static SPIPlanPtr
prepare_write(Oid schema, const char *table, Oid relid, const char *format,
			  int nargs, Oid *types)
{
	static Prepared prepared[PREPARED_MAX];
	static int	nprepared = 0;
	char	   *schema_name = get_namespace_name(schema);
	StringInfoData sql;
	SPIPlanPtr	plan;

	for (int i = 0; i < nprepared; i++)
	{
		if (prepared[i].format == format && prepared[i].relid == relid &&
			strcmp(prepared[i].schema, schema_name) == 0)
			return prepared[i].plan;
	}

	initStringInfo(&sql);
	appendStringInfo(&sql, format,
					 quote_qualified_identifier(schema_name, table),
					 own_relation(schema, REGISTRY_VERSION));
	plan = SPI_prepare(sql.data, nargs, types);
	if (plan == NULL)
		elog(ERROR, "could not prepare to write to table \"%s\"", table);

	/* a table that is long gone makes room for its successor */
	if (nprepared == PREPARED_MAX)
	{
		SPI_freeplan(prepared[0].plan);
		pfree(prepared[0].schema);
		memmove(prepared, prepared + 1, sizeof(Prepared) * (PREPARED_MAX - 1));
		nprepared--;
	}
	SPI_keepplan(plan);
	prepared[nprepared++] = (Prepared) {
		format, relid, MemoryContextStrdup(TopMemoryContext, schema_name), plan
	};
	return plan;
}

uint64
nw_write_as_owner(Oid schema, const char *table, const char *format, int nargs,
				  Oid *types, Datum *values, const char *nulls)
{
	Oid			relid = own_relation(schema, table);
	Relation	rel = table_open(relid, RowExclusiveLock);
	Oid			userid;
	int			context;
	uint64		touched;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "could not connect to SPI");
	GetUserIdAndSecContext(&userid, &context);
	SetUserIdAndSecContext(rel->rd_rel->relowner,
						   context | SECURITY_LOCAL_USERID_CHANGE |
						   SECURITY_RESTRICTED_OPERATION |
						   SECURITY_NOFORCE_RLS);
	if (SPI_execute_plan(prepare_write(schema, table, relid, format, nargs,
									   types),
						 values, nulls, false, 0) < 0)
		elog(ERROR, "could not write to table \"%s\"", table);
	touched = SPI_processed;
	SetUserIdAndSecContext(userid, context);
	SPI_finish();
	table_close(rel, NoLock);
	return touched;
}

/* Complain where a statement found the set no longer as it was read. */
static void
check_written(uint64 touched, const NwSet *set)
{
	if (touched == 0)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("set \"%s\" was changed by a concurrent transaction",
						set->name),
				 errhint("Try again.")));
}

#define SET_COLUMNS	16

/* Make the arguments $1 to $16 that describe a set. */
static void
describe_set(const NwSet *set, Oid *types, Datum *values, char *nulls)
{
	const char *strings[] = {
		set->name, set->owner, set->mode, set->parent, set->schema,
		set->relation, set->embedding, set->label, set->id, set->weight,
		nw_kernel_name(set->kernel)
	};
	int			n = 0;

	for (; n < (int) lengthof(strings); n++)
	{
		types[n] = TEXTOID;
		nulls[n] = strings[n] ? ' ' : 'n';
		values[n] = strings[n] ? CStringGetTextDatum(strings[n]) : (Datum) 0;
	}
	types[n] = FLOAT8OID;
	nulls[n] = ' ';
	values[n++] = Float8GetDatum(set->tau);
	types[n] = INT4OID;
	nulls[n] = set->k > 0 ? ' ' : 'n';
	values[n++] = Int32GetDatum(set->k);
	types[n] = INT8OID;
	nulls[n] = set->k > 0 ? ' ' : 'n';
	values[n++] = Int64GetDatum(set->seed);
	types[n] = INT4OID;
	nulls[n] = set->dim > 0 ? ' ' : 'n';
	values[n++] = Int32GetDatum(set->dim);
	types[n] = BOOLOID;
	nulls[n] = ' ';
	values[n++] = BoolGetDatum(set->centroids);
	Assert(n == SET_COLUMNS);
}

bool
nw_set_insert(Oid schema, const NwSet *set)
{
	Oid			types[SET_COLUMNS];
	Datum		values[SET_COLUMNS];
	char		nulls[SET_COLUMNS];

	describe_set(set, types, values, nulls);
	return nw_write_as_owner(schema, REGISTRY_TABLE,
							 "INSERT INTO %1$s (name, owner, mode, parent,"
							 " schema, relation, embedding, label, id, weight,"
							 " kernel, tau, k, seed, dim, centroids, version)"
							 " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9,"
							 " $10, $11, $12, $13, $14, $15, $16,"
							 " pg_catalog.nextval(%2$u::pg_catalog.oid))"
							 " ON CONFLICT (name) DO NOTHING",
							 SET_COLUMNS, types, values, nulls) > 0;
}

void
nw_set_replace(Oid schema, const NwSet *old, const NwSet *set)
{
	Oid			types[SET_COLUMNS + 1];
	Datum		values[SET_COLUMNS + 1];
	char		nulls[SET_COLUMNS + 1];
	uint64		touched;

	describe_set(set, types, values, nulls);
	types[SET_COLUMNS] = INT8OID;
	values[SET_COLUMNS] = Int64GetDatum(old->version);
	nulls[SET_COLUMNS] = ' ';
	touched = nw_write_as_owner(schema, REGISTRY_TABLE,
								"UPDATE %1$s SET owner = $2, mode = $3,"
								" parent = $4, schema = $5, relation = $6,"
								" embedding = $7, label = $8, id = $9,"
								" weight = $10, kernel = $11, tau = $12,"
								" k = $13, seed = $14, dim = $15,"
								" centroids = $16, version ="
								" pg_catalog.nextval(%2$u::pg_catalog.oid)"
								" WHERE name OPERATOR(pg_catalog.=) $1"
								" AND version OPERATOR(pg_catalog.=) $17",
								SET_COLUMNS + 1, types, values, nulls);
	check_written(touched, old);
}

void
nw_set_update_tau(Oid schema, const NwSet *set, double tau)
{
	Oid			types[] = {TEXTOID, INT8OID, FLOAT8OID};
	Datum		values[] = {
		CStringGetTextDatum(set->name), Int64GetDatum(set->version),
		Float8GetDatum(tau)
	};
	uint64		touched;

	touched = nw_write_as_owner(schema, REGISTRY_TABLE,
								"UPDATE %1$s SET tau = $3, version ="
								" pg_catalog.nextval(%2$u::pg_catalog.oid)"
								" WHERE name OPERATOR(pg_catalog.=) $1"
								" AND version OPERATOR(pg_catalog.=) $2",
								lengthof(types), types, values, NULL);
	check_written(touched, set);
}

void
nw_set_delete(Oid schema, const NwSet *set)
{
	Oid			types[] = {TEXTOID, INT8OID};
	Datum		values[] = {
		CStringGetTextDatum(set->name), Int64GetDatum(set->version)
	};
	uint64		touched;

	touched = nw_write_as_owner(schema, REGISTRY_TABLE,
								"DELETE FROM %1$s"
								" WHERE name OPERATOR(pg_catalog.=) $1"
								" AND version OPERATOR(pg_catalog.=) $2",
								lengthof(types), types, values, NULL);
	check_written(touched, set);
}
