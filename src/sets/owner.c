/*
 * sets/owner.c
 *		Tell who owns a set: roles that are renamed, dropped, or get the OID
 *		of one that was dropped.
 *
 * The registry has owners by OID, so a role may be renamed.  But PostgreSQL
 * does not know that rows of a table name a role: it would let the role be
 * dropped, and might one day give its OID to another, who would then own the
 * sets.  So each owner is granted something on an object that nobody uses, the
 * registry's row type.  PostgreSQL keeps that grant in step with the role: the
 * role cannot be dropped while the grant exists, and DROP OWNED takes it away.
 * A role without it owns nothing, whatever its OID.  When a role gets a grant,
 * rows that still have its OID are a predecessor's, and are taken from it.
 *
 * pg_dump leaves the privileges of row types alone.  So a dump does not hold
 * them, and restoring a set makes them anew; and pg_upgrade, which keeps OIDs,
 * loses all of them at once.  Where there are none at all, every role that
 * exists counts, until the next set is written.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/parsenodes.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "compat.h"
#include "sets/extension.h"
#include "sets/own_tables.h"
#include "sets/owner.h"

PG_FUNCTION_INFO_V1(nw_is_owner);

/* The privileges of the registry's row type, or NULL where nothing is said. */
static Acl *
read_grants(Oid registry)
{
	HeapTuple tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(get_rel_type_id(registry)));
	Datum datum;
	bool isnull;
	Acl *acl;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "could not find the row type of relation %u", registry);
	datum = SysCacheGetAttr(TYPEOID, tuple, Anum_pg_type_typacl, &isnull);
	acl = isnull ? NULL : DatumGetAclPCopy(datum);
	ReleaseSysCache(tuple);
	return acl;
}

/* True where a role has a grant of its own; nobody's OID is PUBLIC's. */
static bool
has_grant(const Acl *acl, Oid role)
{
	const AclItem *item = ACL_DAT(acl);

	for (int i = 0; i < ACL_NUM(acl); i++)
	{
		if (OidIsValid(role) && item[i].ai_grantee == role)
			return true;
	}
	return false;
}

/* True where a role is still the one that sets were registered by. */
static bool
is_bound(Oid registry, Oid role)
{
	Acl *acl;
	bool bound;

	if (!SearchSysCacheExists1(AUTHOID, ObjectIdGetDatum(role)))
		return false;
	acl = read_grants(registry);
	bound = acl == NULL || has_grant(acl, role);
	if (acl)
		pfree(acl);
	return bound;
}

/*
 * True where the caller has the privileges of a set's owner; of a set whose
 * owner is gone, superusers only.  registry is the OID of the registry.
 */
bool
nw_owner_is_caller(Oid registry, Oid owner)
{
	return superuser() || (is_bound(registry, owner) && has_privs_of_role(GetUserId(), owner));
}

/* The name of a set's owner, or NULL where it is gone. */
char *
nw_owner_name(Oid registry, Oid owner)
{
	return is_bound(registry, owner) ? GetUserNameFromId(owner, true) : NULL;
}

/* Give a set to nobody. */
static void
disown_set(Relation registry, HeapTuple tuple)
{
	Datum values[NW_REGISTRY_COLUMNS] = {0};
	bool nulls[NW_REGISTRY_COLUMNS] = {0};
	bool replace[NW_REGISTRY_COLUMNS] = {0};
	HeapTuple changed;

	values[Anum_owner - 1] = ObjectIdGetDatum(InvalidOid);
	replace[Anum_owner - 1] = true;
	changed = heap_modify_tuple(tuple, RelationGetDescr(registry), values, nulls, replace);
	CatalogTupleUpdate(registry, &tuple->t_self, changed);
	heap_freetuple(changed);
}

/* Grant a role the privileges of the registry's row type, or revoke them. */
static void
change_grant(Relation registry, Oid role, bool grant)
{
	GrantStmt *stmt = makeNode(GrantStmt);
	RoleSpec *grantee = makeNode(RoleSpec);
	char *schema = get_namespace_name(RelationGetNamespace(registry));
	Oid userid;
	int context;

	grantee->roletype = ROLESPEC_CSTRING;
	grantee->rolename = GetUserNameFromId(role, false);
	grantee->location = -1;
	stmt->is_grant = grant;
	stmt->targtype = ACL_TARGET_OBJECT;
	stmt->objtype = OBJECT_TYPE;
	stmt->objects = list_make1(
		list_make2(makeString(schema), makeString(pstrdup(RelationGetRelationName(registry)))));
	stmt->grantees = list_make1(grantee);
	stmt->behavior = DROP_RESTRICT;

	/* as the owner of the type, whom a superuser's session may not be */
	GetUserIdAndSecContext(&userid, &context);
	SetUserIdAndSecContext(registry->rd_rel->relowner,
	                       context | SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION);
	ExecuteGrantStmt(stmt);
	SetUserIdAndSecContext(userid, context);
	CommandCounterIncrement();
	if (has_grant(read_grants(RelationGetRelid(registry)), role) != grant)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_IN_USE),
		                errmsg("schema \"%s\" was renamed by a concurrent transaction", schema),
		                errhint("Try again.")));
}

/*
 * Give a role its grant.  Sets under its OID are those of a predecessor, which
 * had a grant once; unless nobody has one, when all owners get theirs.
 */
static void
make_grant(Relation registry, Oid role)
{
	bool none = read_grants(RelationGetRelid(registry)) == NULL;
	Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
	List *owners = list_make1_oid(role);
	SysScanDesc scan;
	HeapTuple tuple;
	ListCell *cell;

	scan = systable_beginscan(registry, InvalidOid, false, snapshot, 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		bool isnull;
		Oid owner =
			DatumGetObjectId(heap_getattr(tuple, Anum_owner, RelationGetDescr(registry), &isnull));

		if (!none && owner == role)
			disown_set(registry, tuple);
		else if (none && SearchSysCacheExists1(AUTHOID, ObjectIdGetDatum(owner)))
			owners = list_append_unique_oid(owners, owner);
	}
	systable_endscan(scan);
	UnregisterSnapshot(snapshot);
	foreach(cell, owners)
		change_grant(registry, lfirst_oid(cell), true);
}

/* Keep a role's grant as it is until the transaction ends. */
static bool
lock_grant(Oid registry, Oid role, LOCKMODE lockmode, bool wait)
{
	LOCKTAG tag;

	/* sets are locked by their names under subobject 0 */
	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, registry, role, 1);
	if (LockAcquire(&tag, lockmode, false, !wait) == LOCKACQUIRE_NOT_AVAIL)
		return false;
	AcceptInvalidationMessages();
	return true;
}

/* Prepare a role to own sets; called before each set that is written. */
void
nw_owner_bind(Oid schema, Oid role)
{
	Relation registry = nw_own_open(schema, NW_REGISTRY, RowExclusiveLock);
	Oid relid = RelationGetRelid(registry);
	Acl *acl;

	(void) lock_grant(relid, role, AccessShareLock, true);
	acl = read_grants(relid);
	if (acl == NULL || !has_grant(acl, role))
	{
		/* one at a time, and the second sees what the first has done */
		LockRelationOid(relid, ShareUpdateExclusiveLock);
		acl = read_grants(relid);
		if (acl == NULL || !has_grant(acl, role))
			make_grant(registry, role);
	}
	table_close(registry, NoLock);
}

static bool
owns_sets(Relation registry, Oid role)
{
	Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
	SysScanDesc scan;
	HeapTuple tuple;
	bool found = false;

	scan = systable_beginscan(registry, InvalidOid, false, snapshot, 0, NULL);
	while (!found && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		bool isnull;

		found = DatumGetObjectId(
					heap_getattr(tuple, Anum_owner, RelationGetDescr(registry), &isnull)) == role;
	}
	systable_endscan(scan);
	UnregisterSnapshot(snapshot);
	return found;
}

/* Let go of a role where it owns no set any more. */
void
nw_owner_release(Oid schema, Oid role)
{
	Relation registry = nw_own_open(schema, NW_REGISTRY, RowExclusiveLock);
	Oid relid = RelationGetRelid(registry);
	Acl *acl = read_grants(relid);

	/*
	 * Where the role is registering another set, or another role gets or
	 * loses its grant, leave it: a grant too many does little harm.
	 */
	if (acl && has_grant(acl, role) && !owns_sets(registry, role) &&
	    lock_grant(relid, role, AccessExclusiveLock, false) &&
	    ConditionalLockRelationOid(relid, ShareUpdateExclusiveLock) &&
	    has_grant(read_grants(relid), role) && !owns_sets(registry, role))
		change_grant(registry, role, false);
	table_close(registry, NoLock);
}

/* nw_is_owner(owner regrole) returns boolean */
Datum
nw_is_owner(PG_FUNCTION_ARGS)
{
	Oid schema = nw_extension_schema(fcinfo);

	PG_RETURN_BOOL(nw_owner_is_caller(nw_own_relid(schema, NW_REGISTRY), PG_GETARG_OID(0)));
}
