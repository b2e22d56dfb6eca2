/*
 * compat.h
 *		Every difference between the supported server versions (15 to 18).
 *
 * Code elsewhere is written against the newest signature.
 */
#ifndef NW_COMPAT_H
#define NW_COMPAT_H

#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "parser/parse_relation.h"
#include "storage/lock.h"
#include "utils/acl.h"

#if PG_VERSION_NUM < 150000
#error "nwhead needs PostgreSQL 15 or later"
#endif

/* The macros for variable-length values moved to a header of their own. */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#if PG_VERSION_NUM < 160000

/* One check for all object kinds came with 16. */
static inline AclResult
object_aclcheck(Oid classid, Oid objectid, Oid roleid, AclMode mode)
{
	(void) classid; /* namespaces are all we ask about */
	return pg_namespace_aclcheck(objectid, roleid, mode);
}
#endif

/* ExecutorRun lost its execute_once argument in 18. */
#if PG_VERSION_NUM >= 180000
#define NW_EXECUTOR_RUN_ARGS QueryDesc *queryDesc, ScanDirection direction, uint64 count
#define NW_EXECUTOR_RUN_PASS queryDesc, direction, count
#define nw_executor_run(queryDesc) ExecutorRun((queryDesc), ForwardScanDirection, 0)
#else
#define NW_EXECUTOR_RUN_ARGS \
	QueryDesc *queryDesc, ScanDirection direction, uint64 count, bool execute_once
#define NW_EXECUTOR_RUN_PASS queryDesc, direction, count, execute_once
#define nw_executor_run(queryDesc) ExecutorRun((queryDesc), ForwardScanDirection, 0, true)
#endif

/* What names a relation's files was renamed in 16. */
#if PG_VERSION_NUM >= 160000
#define nw_relation_files(rel) ((rel)->rd_locator)
#else
#define nw_relation_files(rel) ((rel)->rd_node)
#endif

/* vacuum_delay_point() learned to tell ANALYZE from VACUUM in 18. */
#if PG_VERSION_NUM >= 180000
#define nw_vacuum_delay_point() vacuum_delay_point(false)
#else
#define nw_vacuum_delay_point() vacuum_delay_point()
#endif

/* Privileges to check moved from range table entries to a list of their own. */
#if PG_VERSION_NUM >= 160000
static inline void
nw_check_select(RangeTblEntry *rte, Bitmapset *columns)
{
	RTEPermissionInfo *info;
	List *infos = NIL;

	info = addRTEPermissionInfo(&infos, rte);
	info->requiredPerms = ACL_SELECT;
	info->selectedCols = columns;
	(void) ExecCheckPermissions(list_make1(rte), infos, true);
}
#else
static inline void
nw_check_select(RangeTblEntry *rte, Bitmapset *columns)
{
	rte->requiredPerms = ACL_SELECT;
	rte->selectedCols = columns;
	(void) ExecCheckRTPerms(list_make1(rte), true);
}
#endif

/*
 * Until 17, old_snapshot_threshold let VACUUM remove rows that a snapshot still
 * sees; reading one of these must fail then, as the executor makes it.
 */
#if PG_VERSION_NUM < 170000
#include "utils/snapmgr.h"
#define nw_snapshots_expire() OldSnapshotThresholdActive()
#else
#define nw_snapshots_expire() false
#endif

/* What runs as a table's owner finds names in pg_catalog alone, since 17. */
#if PG_VERSION_NUM >= 170000
#define nw_restrict_search_path() RestrictSearchPath()
#else
#define nw_restrict_search_path() ((void) 0)
#endif

/* One check of ownership for all object kinds came with 16, too. */
#if PG_VERSION_NUM >= 160000
#define nw_owns_relation(relid, role) object_ownercheck(RelationRelationId, (relid), (role))
#else
#define nw_owns_relation(relid, role) pg_class_ownercheck((relid), (role))
#endif

/* Asking after a lock learned to ask after stronger ones in 17. */
static inline bool
nw_holds_lock(Oid relid, LOCKMODE mode)
{
	LOCKTAG tag;

	SET_LOCKTAG_RELATION(tag, MyDatabaseId, relid);
#if PG_VERSION_NUM >= 170000
	return LockHeldByMe(&tag, mode, false);
#else
	return LockHeldByMe(&tag, mode);
#endif
}

/* Grouping has a range table entry of its own since 18. */
#if PG_VERSION_NUM >= 180000
#define nw_is_group_entry(rte) ((rte)->rtekind == RTE_GROUP)
#else
#define nw_is_group_entry(rte) false
#endif

/* Expressions that make JSON came with 16, those that read it with 17. */
#if PG_VERSION_NUM >= 170000
#define nw_is_json_expression(node) (IsA(node, JsonConstructorExpr) || IsA(node, JsonExpr))
#elif PG_VERSION_NUM >= 160000
#define nw_is_json_expression(node) IsA(node, JsonConstructorExpr)
#else
#define nw_is_json_expression(node) false
#endif

#endif /* NW_COMPAT_H */
