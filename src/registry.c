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
	Anum_version
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

/* Copy a text or name attribute, or return NULL. */
static char *
get_string(HeapTuple tuple, int attnum, TupleDesc desc)
{
	bool		isnull;
	Datum		value = heap_getattr(tuple, attnum, desc, &isnull);

	if (isnull)
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
	char	   *kernel = get_string(tuple, Anum_kernel, desc);
	Datum		value;
	bool		isnull;

	set->name = get_string(tuple, Anum_name, desc);
	set->owner = get_string(tuple, Anum_owner, desc);
	set->mode = get_string(tuple, Anum_mode, desc);
	set->schema = get_string(tuple, Anum_schema, desc);
	set->relation = get_string(tuple, Anum_relation, desc);
	set->embedding = get_string(tuple, Anum_embedding, desc);
	set->label = get_string(tuple, Anum_label, desc);
	set->id = get_string(tuple, Anum_id, desc);
	set->weight = get_string(tuple, Anum_weight, desc);
	set->kernel = nw_check_kernel(kernel);

	value = heap_getattr(tuple, Anum_tau, desc, &isnull);
	set->tau = DatumGetFloat8(value);
	value = heap_getattr(tuple, Anum_dim, desc, &isnull);
	set->dim = isnull ? 0 : DatumGetInt32(value);
	value = heap_getattr(tuple, Anum_version, desc, &isnull);
	set->version = DatumGetInt64(value);
	return set;
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
	index = index_open(own_relation(schema, REGISTRY_INDEX), AccessShareLock);
	scan = systable_beginscan_ordered(rel, index, GetActiveSnapshot(), 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext_ordered(scan,
															 ForwardScanDirection)))
	{
		if (n++ == HINT_NAMES)
		{
			appendStringInfoString(&names, ", ...");
			break;
		}
		appendStringInfo(&names, "%s\"%s\"", n > 1 ? ", " : "",
						 get_string(tuple, Anum_name, RelationGetDescr(rel)));
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

void
nw_set_check_owner(Oid schema, const NwSet *set)
{
	Oid			owner = get_role_oid(set->owner, true);

	/* A role that did not come along with a dump leaves its sets to ours. */
	if (!OidIsValid(owner))
	{
		Relation	rel = table_open(own_relation(schema, REGISTRY_TABLE),
									 AccessShareLock);

		owner = rel->rd_rel->relowner;
		table_close(rel, AccessShareLock);
	}
	if (!has_privs_of_role(GetUserId(), owner))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be owner of set \"%s\"", set->name),
				 errdetail("Set \"%s\" belongs to role \"%s\".",
						   set->name, set->owner)));
}

/*
 * Run one statement on the registry as its owner, and return how many rows it
 * touched.  %1$s and %2$u in the text stand for the table and the sequence.
 */
static uint64
write_registry(Oid schema, const char *format, int nargs, Oid *types,
			   Datum *values, const char *nulls)
{
	Oid			relid = own_relation(schema, REGISTRY_TABLE);
	Relation	rel = table_open(relid, RowExclusiveLock);
	StringInfoData sql;
	Oid			userid;
	int			context;
	uint64		touched;

	initStringInfo(&sql);
	appendStringInfo(&sql, format,
					 quote_qualified_identifier(get_namespace_name(schema),
												REGISTRY_TABLE),
					 own_relation(schema, REGISTRY_VERSION));

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "could not connect to SPI");
	GetUserIdAndSecContext(&userid, &context);
	SetUserIdAndSecContext(rel->rd_rel->relowner,
						   context | SECURITY_LOCAL_USERID_CHANGE |
						   SECURITY_NOFORCE_RLS);
	if (SPI_execute_with_args(sql.data, nargs, types, values, nulls,
							  false, 0) < 0)
		elog(ERROR, "could not write to the registry");
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

#define SET_COLUMNS	12

/* Make the arguments $1 to $12 that describe a set. */
static void
describe_set(const NwSet *set, Oid *types, Datum *values, char *nulls)
{
	const char *strings[] = {
		set->name, set->owner, set->mode, set->schema, set->relation,
		set->embedding, set->label, set->id, set->weight,
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
	nulls[n] = set->dim > 0 ? ' ' : 'n';
	values[n++] = Int32GetDatum(set->dim);
	Assert(n == SET_COLUMNS);
}

bool
nw_set_insert(Oid schema, const NwSet *set)
{
	Oid			types[SET_COLUMNS];
	Datum		values[SET_COLUMNS];
	char		nulls[SET_COLUMNS];

	describe_set(set, types, values, nulls);
	return write_registry(schema,
						  "INSERT INTO %1$s (name, owner, mode, schema,"
						  " relation, embedding, label, id, weight, kernel,"
						  " tau, dim, version)"
						  " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,"
						  " $11, $12,"
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

	describe_set(set, types, values, nulls);
	types[SET_COLUMNS] = INT8OID;
	values[SET_COLUMNS] = Int64GetDatum(old->version);
	nulls[SET_COLUMNS] = ' ';
	check_written(write_registry(schema,
								 "UPDATE %1$s SET owner = $2, mode = $3,"
								 " parent = NULL, schema = $4, relation = $5,"
								 " embedding = $6, label = $7, id = $8,"
								 " weight = $9, kernel = $10, tau = $11,"
								 " k = NULL, seed = NULL, dim = $12, version ="
								 " pg_catalog.nextval(%2$u::pg_catalog.oid)"
								 " WHERE name OPERATOR(pg_catalog.=) $1"
								 " AND version OPERATOR(pg_catalog.=) $13",
								 SET_COLUMNS + 1, types, values, nulls), old);
}

void
nw_set_update_tau(Oid schema, const NwSet *set, double tau)
{
	Oid			types[] = {TEXTOID, INT8OID, FLOAT8OID};
	Datum		values[] = {
		CStringGetTextDatum(set->name), Int64GetDatum(set->version),
		Float8GetDatum(tau)
	};

	check_written(write_registry(schema,
								 "UPDATE %1$s SET tau = $3, version ="
								 " pg_catalog.nextval(%2$u::pg_catalog.oid)"
								 " WHERE name OPERATOR(pg_catalog.=) $1"
								 " AND version OPERATOR(pg_catalog.=) $2",
								 lengthof(types), types, values, NULL), set);
}

void
nw_set_delete(Oid schema, const NwSet *set)
{
	Oid			types[] = {TEXTOID, INT8OID};
	Datum		values[] = {
		CStringGetTextDatum(set->name), Int64GetDatum(set->version)
	};

	check_written(write_registry(schema,
								 "DELETE FROM %1$s"
								 " WHERE name OPERATOR(pg_catalog.=) $1"
								 " AND version OPERATOR(pg_catalog.=) $2",
								 lengthof(types), types, values, NULL), set);
}
