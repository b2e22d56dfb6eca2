/*
 * index/as_owner.c
 *		Look into an nw index with the rights of its owner.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "index/am.h"
#include "index/as_owner.h"

/* Insist that the caller owns an index. */
static void
check_owner(Oid relid, Oid userid)
{
	if (!nw_owns_relation(relid, userid))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX, get_rel_name(relid));
}

/*
 * Open an nw index that the caller owns (its labels and vectors are data), and
 * its table, which gets a lock.  From here on everything runs as the owner of
 * the table, in a security-restricted operation: a superuser who looks into an
 * index must not lend its owner any rights.
 */
void
nw_index_open_owned(NwOwned *owned, Oid relid, LOCKMODE lock)
{
	Oid heapid = IndexGetRelation(relid, true);

	owned->heap = NULL;
	GetUserIdAndSecContext(&owned->userid, &owned->sec_context);
	if (OidIsValid(heapid))
	{
		/* who may not look may not hold up writers either */
		check_owner(relid, owned->userid);

		/* table before index, as everyone else */
		owned->heap = try_table_open(heapid, lock);
		if (owned->heap)
			SetUserIdAndSecContext(owned->heap->rd_rel->relowner,
			                       owned->sec_context | SECURITY_RESTRICTED_OPERATION);
	}
	owned->nest_level = NewGUCNestLevel();
	nw_restrict_search_path();

	owned->index = try_relation_open(relid, AccessShareLock);
	if (owned->index == NULL || (OidIsValid(heapid) && owned->heap == NULL))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
		                errmsg("relation with OID %u does not exist", relid)));
	if (owned->index->rd_rel->relkind != RELKIND_INDEX || !nw_index_is_ours(owned->index))
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
		                errmsg("\"%s\" is not an nw index", RelationGetRelationName(owned->index)),
		                owned->index->rd_rel->relkind == RELKIND_PARTITIONED_INDEX
		                    ? errhint("Name the index of a partition.")
		                    : 0));
	if (owned->heap == NULL || heapid != IndexGetRelation(relid, false))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
		                errmsg("could not open the table of index \"%s\"",
		                       RelationGetRelationName(owned->index))));
	check_owner(relid, owned->userid);
}

/* Close them, their locks held, and be the caller again. */
void
nw_index_close_owned(NwOwned *owned)
{
	relation_close(owned->index, NoLock);
	table_close(owned->heap, NoLock);
	AtEOXact_GUC(false, owned->nest_level);
	SetUserIdAndSecContext(owned->userid, owned->sec_context);
}
