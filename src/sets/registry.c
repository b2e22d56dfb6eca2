/*
 * sets/registry.c
 *		Read and write the table of registered sets.
 *
 * The registry is an ordinary table that everyone may read and nobody writes
 * directly.  It has the names of relations and columns, never their OIDs; what
 * the names mean is looked up at each use.  Reads go straight to the table by
 * name under the caller's snapshot.
 *
 * Whoever writes first takes a lock on the name.  Three modes of it matter:
 * RowExclusiveLock to write copies of a set's rows, ShareUpdateExclusiveLock to
 * change a set that stays, or its reference scores, AccessExclusiveLock to add, remove
 * or rename one, or to give it other rows.  So a set does not vanish under a diagnosis,
 * and no copies outlive it.  Of several names, a set's own and a new one come first, in
 * the order of their hashes, then those of the sets distilled from it and of the
 * mixtures of it, likewise; who registers a mixture takes those of the members before
 * its own.
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "math/verdict.h"
#include "sets/owner.h"
#include "sets/reference.h"
#include "sets/registry.h"

/* How many names a hint lists. */
#define HINT_NAMES 20

/* The longest name: there is an index on names, which takes no much longer ones. */
#define NAME_BYTES 1024

/* Reject a temperature no score can be made with. */
void
nw_check_tau(double tau)
{
	if (!nw_tau_is_valid(tau))
		ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
		                errmsg("tau must be positive and finite, not %g", tau),
		                errhint("Values from %g to %g are accepted; 1 is the default.", NW_TAU_MIN,
		                        NW_TAU_MAX)));
}

/* Reject what probabilities cannot be tempered by. */
void
nw_check_temper(double temper)
{
	if (!nw_temper_is_valid(temper))
		ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
		                errmsg("temper must be between %g and %g, not %g", NW_TEMPER_MIN,
		                       NW_TEMPER_MAX, temper),
		                errhint("At 1, the default, a label is as probable as its share of the"
		                        " weights; below, confidences are higher.")));
}

/* Look up a kernel by name, or say which there are. */
NwKernel
nw_check_kernel(const char *name)
{
	NwKernel kernel;

	if (!nw_kernel_parse(name, &kernel))
		ereport(ERROR,
		        (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("unknown kernel \"%s\"", name),
		         errhint("The kernels are %s.", NW_KERNEL_NAMES)));
	return kernel;
}

/* Insist on the right to add sets: CREATE on the extension's schema. */
void
nw_check_may_register(Oid schema)
{
	AclResult result = object_aclcheck(NamespaceRelationId, schema, GetUserId(), ACL_CREATE);

	if (result != ACLCHECK_OK)
		ereport(
			ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("permission denied to register a set"),
		     errdetail(
				 "A registered view runs with the rights of whoever predicts from it, so"
				 " registering needs the CREATE privilege on the schema of extension \"nwhead\"."),
		     errhint("GRANT CREATE ON SCHEMA %s TO %s;",
		             quote_identifier(get_namespace_name(schema)),
		             quote_identifier(GetUserNameFromId(GetUserId(), false)))));
}

/*
 * Let a function that writes see what earlier commands and earlier calls of
 * this command have written.  Ends with PopActiveSnapshot().
 */
void
nw_push_fresh_snapshot(void)
{
	CommandCounterIncrement();
	PushActiveSnapshot(GetTransactionSnapshot());
}

/* Complain about a row that the functions did not write. */
static void
report_damage(const char *name)
{
	ereport(ERROR,
	        (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
	         errmsg("the registry's entry of set \"%s\" is damaged", name ? name : ""),
	         errhint("Remove it from table \"%s\" as a superuser, and register the set again.",
	                 nw_own_name(NW_REGISTRY))));
}

static NwStamp
decode_stamp(const Datum *values, const bool *nulls, int first)
{
	NwStamp stamp = {.known = !nulls[first]};

	if (stamp.known)
	{
		stamp.at = DatumGetTimestampTz(values[first]);
		stamp.rows = nulls[first + 1] ? -1 : DatumGetInt64(values[first + 1]);
		stamp.changes = nulls[first + 2] ? -1 : DatumGetInt64(values[first + 2]);
	}
	return stamp;
}

/* Read the members of a mixture; false where they cannot be right. */
static bool
decode_members(NwSet *set, const Datum *values, const bool *nulls)
{
	int nshares;

	set->members = nw_own_get_texts(values, nulls, Anum_members - 1, &set->nmembers);
	set->shares = nw_own_get_numbers(values, nulls, Anum_shares - 1, &nshares);
	set->tau = 1;
	return set->nmembers >= 1 && set->nmembers <= NW_MAX_MEMBERS && nshares == set->nmembers &&
	       nw_set_shares_are_valid(set->shares, nshares);
}

/* Say whether a set that is no mixture has what it takes. */
static bool
is_complete(NwSet *set, const char *kernel)
{
	return set->schema && set->relation && set->embedding && kernel &&
	       nw_kernel_parse(kernel, &set->kernel) && nw_tau_is_valid(set->tau);
}

static NwSet *
decode_set(HeapTuple tuple, TupleDesc desc)
{
	NwSet *set = palloc0(sizeof(NwSet));
	Datum values[NW_REGISTRY_COLUMNS];
	bool nulls[NW_REGISTRY_COLUMNS];
	char *kernel;

	heap_deform_tuple(tuple, desc, values, nulls);
	kernel = nw_own_get_text(values, nulls, Anum_kernel - 1);
	set->name = nw_own_get_text(values, nulls, Anum_name - 1);
	if (!nulls[Anum_set_id - 1])
		set->set_id = DatumGetInt64(values[Anum_set_id - 1]);
	if (!nulls[Anum_owner - 1])
		set->owner = DatumGetObjectId(values[Anum_owner - 1]);
	set->mode = nw_own_get_text(values, nulls, Anum_mode - 1);
	set->parent = nw_own_get_text(values, nulls, Anum_parent - 1);
	set->schema = nw_own_get_name(values, nulls, Anum_schema - 1);
	set->relation = nw_own_get_name(values, nulls, Anum_relation - 1);
	set->embedding = nw_own_get_name(values, nulls, Anum_embedding - 1);
	set->label = nw_own_get_name(values, nulls, Anum_label - 1);
	set->id = nw_own_get_name(values, nulls, Anum_id - 1);
	set->weight = nw_own_get_name(values, nulls, Anum_weight - 1);
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
	set->centroids = !nulls[Anum_centroids - 1] && DatumGetBool(values[Anum_centroids - 1]);
	set->model = nw_own_get_text(values, nulls, Anum_model - 1);
	set->balance = nw_own_get_text(values, nulls, Anum_balance - 1);
	set->calibrated = decode_stamp(values, nulls, Anum_calibrated - 1);
	set->distilled = decode_stamp(values, nulls, Anum_distilled - 1);
	set->tags = !nulls[Anum_tags - 1] && DatumGetBool(values[Anum_tags - 1]);
	if (!nulls[Anum_temper - 1])
		set->temper = DatumGetFloat8(values[Anum_temper - 1]);

	if (!set->name || !set->mode || nulls[Anum_set_id - 1] || nulls[Anum_version - 1] ||
	    !nw_temper_is_valid(set->temper) ||
	    !(nw_set_is_mixture(set) ? decode_members(set, values, nulls) : is_complete(set, kernel)))
		report_damage(set->name);
	return set;
}

/* Compare two names, either of which may be missing. */
bool
nw_same_name(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* True where a set consists of prototypes. */
bool
nw_set_is_distilled(const NwSet *set)
{
	return strcmp(set->mode, "full") != 0 && !nw_set_is_mixture(set);
}

/* True where a set is made of other sets. */
bool
nw_set_is_mixture(const NwSet *set)
{
	return strcmp(set->mode, NW_MIXTURE) == 0;
}

/* True where a set is a mixture of one of that name. */
bool
nw_set_has_member(const NwSet *set, const char *name)
{
	for (int i = 0; i < set->nmembers; i++)
	{
		if (strcmp(set->members[i], name) == 0)
			return true;
	}
	return false;
}

/* Say whether members can have such shares. */
bool
nw_set_shares_are_valid(const double *shares, int n)
{
	for (int i = 0; i < n; i++)
	{
		if (!(shares[i] > 0 && isfinite(shares[i])))
			return false;
	}
	return true;
}

/* Begin to look up a set in the open registry by its name. */
static SysScanDesc
begin_find(Relation rel, const char *name, Snapshot snapshot)
{
	ScanKeyData key;

	nw_own_text_key(&key, Anum_name, name);
	return systable_beginscan(rel, nw_own_index(rel, NW_REGISTRY, Anum_name), true, snapshot, 1,
	                          &key);
}

/* Read a set, or return NULL where there is none of that name. */
NwSet *
nw_set_find(Oid schema, const char *name)
{
	Relation rel = nw_own_open(schema, NW_REGISTRY, AccessShareLock);
	SysScanDesc scan = begin_find(rel, name, GetActiveSnapshot());
	HeapTuple tuple = systable_getnext(scan);
	NwSet *set = NULL;

	if (HeapTupleIsValid(tuple))
		set = decode_set(tuple, RelationGetDescr(rel));
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return set;
}

void
nw_set_each(Oid schema, NwSetCallback callback, void *arg)
{
	Relation rel = nw_own_open(schema, NW_REGISTRY, AccessShareLock);
	Relation index = index_open(nw_own_index(rel, NW_REGISTRY, Anum_name), AccessShareLock);
	SysScanDesc scan = systable_beginscan_ordered(rel, index, GetActiveSnapshot(), 0, NULL);
	HeapTuple tuple;

	while (HeapTupleIsValid(tuple = systable_getnext_ordered(scan, ForwardScanDirection)))
	{
		callback(decode_set(tuple, RelationGetDescr(rel)), arg);
		CHECK_FOR_INTERRUPTS();
	}
	systable_endscan_ordered(scan);
	index_close(index, AccessShareLock);
	table_close(rel, AccessShareLock);
}

/* List the first few names in the registry, for a hint. */
static char *
known_names(Oid schema)
{
	StringInfoData names;
	Relation rel;
	Relation index;
	SysScanDesc scan;
	HeapTuple tuple;
	int n = 0;

	initStringInfo(&names);
	rel = nw_own_open(schema, NW_REGISTRY, AccessShareLock);
	index = index_open(nw_own_index(rel, NW_REGISTRY, Anum_name), AccessShareLock);
	scan = systable_beginscan_ordered(rel, index, GetActiveSnapshot(), 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext_ordered(scan, ForwardScanDirection)))
	{
		bool isnull;
		Datum name = heap_getattr(tuple, Anum_name, RelationGetDescr(rel), &isnull);

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

/* Read a set, or say which sets there are. */
NwSet *
nw_set_get(Oid schema, const char *name)
{
	NwSet *set = nw_set_find(schema, name);

	if (set == NULL)
	{
		char *names = known_names(schema);

		ereport(ERROR,
		        (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("set \"%s\" is not registered", name),
		         names ? errhint("The registered sets are %s.", names)
		               : errhint("Register one with nw_register.")));
	}
	return set;
}

/* Insist on a name for a set. */
void
nw_set_check_name(const char *name)
{
	if (name[0] == '\0')
		ereport(ERROR, (errcode(ERRCODE_INVALID_NAME), errmsg("name must not be empty")));
	if (strlen(name) > NAME_BYTES)
		ereport(ERROR, (errcode(ERRCODE_NAME_TOO_LONG), errmsg("name is too long"),
		                errdetail("It has %zu bytes; a set's name has at most %d.", strlen(name),
		                          NAME_BYTES)));
}

/* Complain about a name that another set has; hint says what to do, or is NULL. */
void
nw_set_report_taken(const char *name, const char *hint)
{
	ereport(ERROR,
	        (errcode(ERRCODE_DUPLICATE_OBJECT), errmsg("set \"%s\" is already registered", name),
	         hint ? errhint("%s", hint) : 0));
}

/* True where the caller is a member of the role that owns a set. */
bool
nw_set_is_mine(Oid schema, const NwSet *set)
{
	return nw_owner_is_caller(nw_own_relid(schema, NW_REGISTRY), set->owner);
}

/* Name a set's owner for a message. */
char *
nw_set_owner_name(Oid schema, const NwSet *set)
{
	return nw_owner_name(nw_own_relid(schema, NW_REGISTRY), set->owner);
}

/* Insist that the caller may change a set. */
void
nw_set_check_owner(Oid schema, const NwSet *set)
{
	char *owner;

	if (nw_set_is_mine(schema, set))
		return;
	owner = nw_set_owner_name(schema, set);
	ereport(ERROR,
	        (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
	         errmsg("must be owner of set \"%s\"", set->name),
	         owner ? errdetail("Set \"%s\" belongs to role \"%s\".", set->name, owner)
	               : errdetail("The role that owned set \"%s\" is gone; a superuser can remove it.",
	                           set->name)));
}

/* What stands for a name among locks. */
static uint32
lock_key(const char *name)
{
	return hash_bytes((const unsigned char *) name, (int) strlen(name));
}

/* Lock a set's name until the transaction ends. */
static void
lock_name(Oid schema, const char *name, LOCKMODE lockmode)
{
	Oid registry = nw_own_relid(schema, NW_REGISTRY);

	PreventCommandIfReadOnly("UPDATE");
	LockDatabaseObject(registry, lock_key(name), 0, lockmode);
}

/* Lock two names, which may be one, in an order that all share. */
static void
lock_names(Oid schema, const char *a, const char *b, LOCKMODE lockmode)
{
	bool a_first = lock_key(a) <= lock_key(b);

	lock_name(schema, a_first ? a : b, lockmode);
	if (strcmp(a, b) != 0)
		lock_name(schema, a_first ? b : a, lockmode);
}

/*
 * Find the row of a set as it is now, whatever the snapshot; NULL where it is
 * gone.  Its name has been locked.
 */
static HeapTuple
find_current(Relation rel, const char *name)
{
	Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
	SysScanDesc scan = begin_find(rel, name, snapshot);
	HeapTuple tuple = systable_getnext(scan);

	if (HeapTupleIsValid(tuple))
		tuple = heap_copytuple(tuple);
	systable_endscan(scan);
	UnregisterSnapshot(snapshot);
	return tuple;
}

/* The same, or a complaint where the set is no longer as it was read. */
static HeapTuple
find_unchanged(Relation rel, const NwSet *set, bool any_version)
{
	HeapTuple tuple = find_current(rel, set->name);
	NwSet *now = HeapTupleIsValid(tuple) ? decode_set(tuple, RelationGetDescr(rel)) : NULL;

	if (now == NULL || now->set_id != set->set_id || (!any_version && now->version != set->version))
		ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
		                errmsg("set \"%s\" was changed by a concurrent transaction", set->name),
		                errhint("Try again.")));
	return tuple;
}

/* Lock a set's name, and insist that the set is there, as it was read or not. */
static void
hold(Oid schema, const NwSet *set, LOCKMODE lockmode, bool any_version)
{
	Relation rel;

	lock_name(schema, set->name, lockmode);
	rel = nw_own_open(schema, NW_REGISTRY, AccessShareLock);
	heap_freetuple(find_unchanged(rel, set, any_version));
	table_close(rel, AccessShareLock);
}

/*
 * Keep a set from being removed or replaced until the transaction ends, or
 * complain that it is not there any more; whoever writes copies of its rows
 * does so first.
 */
void
nw_set_hold(Oid schema, const NwSet *set)
{
	hold(schema, set, RowExclusiveLock, true);
}

/*
 * Keep a set as it was read until the transaction ends, or complain that it has
 * changed; whoever writes its reference scores does so first, one at a time.
 */
void
nw_set_hold_unchanged(Oid schema, const NwSet *set)
{
	hold(schema, set, ShareUpdateExclusiveLock, false);
}

/* Compare two sets by the locks of their names, for qsort. */
static int
compare_set_locks(const void *a, const void *b)
{
	uint32 key_a = lock_key((*(NwSet *const *) a)->name);
	uint32 key_b = lock_key((*(NwSet *const *) b)->name);

	return (key_a > key_b) - (key_a < key_b);
}

/* Keep several sets likewise, in an order that all share; they are put in it. */
void
nw_set_hold_all(Oid schema, NwSet **sets, int n)
{
	qsort(sets, n, sizeof(NwSet *), compare_set_locks);
	for (int i = 0; i < n; i++)
		nw_set_hold(schema, sets[i]);
}

static void
describe_stamp(const NwStamp *stamp, Datum *values, bool *nulls, int first)
{
	values[first] = TimestampTzGetDatum(stamp->at);
	nulls[first] = !stamp->known;
	values[first + 1] = Int64GetDatum(stamp->rows);
	nulls[first + 1] = !stamp->known || stamp->rows < 0;
	values[first + 2] = Int64GetDatum(stamp->changes);
	nulls[first + 2] = !stamp->known || stamp->changes < 0;
}

/* Make a row of the registry. */
static void
describe_set(const NwSet *set, Datum *values, bool *nulls)
{
	memset(nulls, 0, sizeof(bool) * NW_REGISTRY_COLUMNS);
	nw_own_put_text(values, nulls, Anum_name - 1, set->name);
	nw_own_put_text(values, nulls, Anum_mode - 1, set->mode);
	nw_own_put_text(values, nulls, Anum_parent - 1, set->parent);
	nw_own_put_name(values, nulls, Anum_schema - 1, set->schema);
	nw_own_put_name(values, nulls, Anum_relation - 1, set->relation);
	nw_own_put_name(values, nulls, Anum_embedding - 1, set->embedding);
	nw_own_put_name(values, nulls, Anum_label - 1, set->label);
	nw_own_put_name(values, nulls, Anum_id - 1, set->id);
	nw_own_put_name(values, nulls, Anum_weight - 1, set->weight);
	nw_own_put_text(values, nulls, Anum_kernel - 1,
	                nw_set_is_mixture(set) ? NULL : nw_kernel_name(set->kernel));
	values[Anum_set_id - 1] = Int64GetDatum(set->set_id);
	values[Anum_owner - 1] = ObjectIdGetDatum(set->owner);
	values[Anum_tau - 1] = Float8GetDatum(set->tau);
	nulls[Anum_tau - 1] = nw_set_is_mixture(set);
	values[Anum_k - 1] = Int32GetDatum(set->k);
	nulls[Anum_k - 1] = set->k <= 0;
	values[Anum_seed - 1] = Int64GetDatum(set->seed);
	nulls[Anum_seed - 1] = set->k <= 0;
	values[Anum_dim - 1] = Int32GetDatum(set->dim);
	nulls[Anum_dim - 1] = set->dim <= 0;
	values[Anum_version - 1] = Int64GetDatum(set->version);
	values[Anum_centroids - 1] = BoolGetDatum(set->centroids);
	nw_own_put_text(values, nulls, Anum_model - 1, set->model);
	nw_own_put_text(values, nulls, Anum_balance - 1, set->balance);
	describe_stamp(&set->calibrated, values, nulls, Anum_calibrated - 1);
	describe_stamp(&set->distilled, values, nulls, Anum_distilled - 1);
	values[Anum_temper - 1] = Float8GetDatum(set->temper);
	values[Anum_tags - 1] = BoolGetDatum(set->tags);
	nw_own_put_texts(values, nulls, Anum_members - 1, set->members, set->nmembers);
	nw_own_put_numbers(values, nulls, Anum_shares - 1, set->shares, set->nmembers);
}

/* Add a row for a set whose name is locked and free. */
static void
insert_row(Oid schema, Relation rel, NwSet *set)
{
	Datum values[NW_REGISTRY_COLUMNS];
	bool nulls[NW_REGISTRY_COLUMNS];

	nw_owner_bind(schema, set->owner);
	set->set_id = set->version = nw_own_next_version(schema);
	describe_set(set, values, nulls);
	nw_own_insert(rel, values, nulls);
	CommandCounterIncrement();
}

/*
 * Add a set and fill in its id and version; false where the name is taken.  As in
 * the functions below, the caller's right to it has been checked.
 */
bool
nw_set_insert(Oid schema, NwSet *set)
{
	Relation rel;
	HeapTuple taken;

	lock_name(schema, set->name, AccessExclusiveLock);
	rel = nw_own_open(schema, NW_REGISTRY, RowExclusiveLock);
	taken = find_current(rel, set->name);
	if (!HeapTupleIsValid(taken))
		insert_row(schema, rel, set);
	table_close(rel, NoLock);
	return !HeapTupleIsValid(taken);
}

/* Delete the copies of a set's rows in one table. */
static void
delete_copies(Oid schema, NwOwnTable table, AttrNumber column, int64 set_id)
{
	Relation rel = nw_own_open(schema, table, RowExclusiveLock);
	ScanKeyData key;

	nw_own_key(&key, column, set_id);
	nw_own_delete(rel, table, &key, 1);
	table_close(rel, NoLock);

	/* one row may name the set twice */
	CommandCounterIncrement();
}

/* Delete all that was made of a set's rows: prototypes, diagnoses and scores. */
static void
delete_all_copies(Oid schema, int64 set_id)
{
	delete_copies(schema, NW_PROTOTYPE, Anum_prototype_set, set_id);
	delete_copies(schema, NW_INFLUENCE, Anum_diagnosis_support, set_id);
	delete_copies(schema, NW_INFLUENCE, Anum_diagnosis_queries, set_id);
	delete_copies(schema, NW_SUSPECT, Anum_diagnosis_support, set_id);
	delete_copies(schema, NW_SUSPECT, Anum_diagnosis_queries, set_id);
	delete_copies(schema, NW_REFERENCE, Anum_reference_set, set_id);
}

/* Put a set as it is now in the place of its row, and let its scores follow. */
static void
write_row(Oid schema, Relation rel, HeapTuple row, NwSet *set)
{
	Datum values[NW_REGISTRY_COLUMNS];
	bool nulls[NW_REGISTRY_COLUMNS];
	NwSet *old = decode_set(row, RelationGetDescr(rel));
	HeapTuple changed;

	set->version = nw_own_next_version(schema);
	describe_set(set, values, nulls);
	changed = heap_form_tuple(RelationGetDescr(rel), values, nulls);
	CatalogTupleUpdate(rel, &row->t_self, changed);
	/* those of a mixture are of its members, too, and are found anew */
	if (!nw_set_is_mixture(set))
		nw_reference_follow(schema, old, set);
	CommandCounterIncrement();
	heap_freetuple(changed);
}

static int
compare_lock_keys(const ListCell *a, const ListCell *b)
{
	uint32 key_a = lock_key(lfirst(a));
	uint32 key_b = lock_key(lfirst(b));

	return (key_a > key_b) - (key_a < key_b);
}

/* Say whether a set was distilled from one of that name, or is a mixture of it. */
static bool
is_child(const NwSet *set, const char *parent)
{
	return (set->parent && strcmp(set->parent, parent) == 0) || nw_set_has_member(set, parent);
}

/* List the sets that were made of one, in the order of their locks. */
static List *
list_children(Relation rel, const char *parent)
{
	Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
	SysScanDesc scan = systable_beginscan(rel, InvalidOid, false, snapshot, 0, NULL);
	List *children = NIL;
	HeapTuple tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		NwSet *child = decode_set(tuple, RelationGetDescr(rel));

		if (is_child(child, parent))
			children = lappend(children, child->name);
		CHECK_FOR_INTERRUPTS();
	}
	systable_endscan(scan);
	UnregisterSnapshot(snapshot);
	list_sort(children, compare_lock_keys);
	return children;
}

/* Let a set follow the new name of one it was made of; false where it is gone. */
static bool
rename_parent_of(Oid schema, Relation rel, const char *name, const char *from, char *to)
{
	HeapTuple tuple;
	NwSet *child;

	lock_name(schema, name, ShareUpdateExclusiveLock);
	tuple = find_current(rel, name);
	if (!HeapTupleIsValid(tuple))
		return false;
	child = decode_set(tuple, RelationGetDescr(rel));
	if (is_child(child, from))
	{
		if (child->parent)
			child->parent = to;
		for (int i = 0; i < child->nmembers; i++)
		{
			if (strcmp(child->members[i], from) == 0)
				child->members[i] = to;
		}
		write_row(schema, rel, tuple, child);
	}
	heap_freetuple(tuple);
	return true;
}

/*
 * Let the sets made of one follow its new name.  No others can appear: who distils, or
 * registers a mixture, holds the name of the parent, or of the member.  But one that is
 * gone when its lock is got may have another name now.
 */
static void
rename_parent(Oid schema, Relation rel, const char *from, char *to)
{
	bool gone = true;

	while (gone)
	{
		ListCell *cell;

		gone = false;
		foreach(cell, list_children(rel, from))
			gone |= !rename_parent_of(schema, rel, lfirst(cell), from, to);
	}
}

/*
 * Change a set, as it was read before, to another one, or fail where it has changed
 * since.  It may get a new name.  anew says that it has other rows from now on:
 * prototypes, diagnoses and scores of the old ones go, and it gets an id of its own.  So it
 * does where it gets another owner.
 */
void
nw_set_change(Oid schema, const NwSet *old, NwSet *set, bool anew)
{
	bool renamed = strcmp(old->name, set->name) != 0;
	Relation rel;
	HeapTuple row;

	lock_names(schema, old->name, set->name,
	           renamed || anew ? AccessExclusiveLock : ShareUpdateExclusiveLock);
	rel = nw_own_open(schema, NW_REGISTRY, RowExclusiveLock);

	/* before the row is looked up, which may be taken from another role by this */
	if (anew)
		nw_owner_bind(schema, set->owner);
	row = find_unchanged(rel, old, false);
	if (renamed && HeapTupleIsValid(find_current(rel, set->name)))
		nw_set_report_taken(set->name, "Give that set another name first.");
	set->set_id = old->set_id;
	if (anew)
	{
		delete_all_copies(schema, old->set_id);
		set->set_id = nw_own_next_version(schema);
	}
	write_row(schema, rel, row, set);
	heap_freetuple(row);
	if (renamed)
		rename_parent(schema, rel, old->name, set->name);
	if (old->owner != set->owner)
		nw_owner_release(schema, old->owner);
	table_close(rel, NoLock);
}

/* Remove a set with its prototypes, diagnoses and scores, or fail where it has changed. */
void
nw_set_delete(Oid schema, const NwSet *set)
{
	Relation rel;
	HeapTuple row;

	lock_name(schema, set->name, AccessExclusiveLock);
	rel = nw_own_open(schema, NW_REGISTRY, RowExclusiveLock);
	row = find_unchanged(rel, set, false);
	delete_all_copies(schema, set->set_id);
	CatalogTupleDelete(rel, &row->t_self);
	CommandCounterIncrement();
	heap_freetuple(row);
	nw_owner_release(schema, set->owner);
	table_close(rel, NoLock);
}
