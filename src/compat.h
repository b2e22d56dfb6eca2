/*
 * compat.h
 *		Every difference between the supported server versions (15 to 19).
 *
 * Code elsewhere is written against the newest signature.
 */
#ifndef NW_COMPAT_H
#define NW_COMPAT_H

#include "access/amapi.h"
#include "access/tableam.h"
#include "access/tupdesc.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "optimizer/pathnode.h"
#include "optimizer/plancat.h"
#include "optimizer/planner.h"
#include "parser/parse_relation.h"
#include "parser/parsetree.h"
#include "storage/lock.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/jsonb.h"

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

/* The function that begins a result of many rows was renamed in 15.1; 15 keeps the old name. */
#if PG_VERSION_NUM >= 160000
#define nw_begin_materialized(fcinfo) InitMaterializedSRF((fcinfo), MAT_SRF_USE_EXPECTED_DESC)
#else
#define nw_begin_materialized(fcinfo) SetSingleFuncCall((fcinfo), SRF_SINGLE_USE_EXPECTED)
#endif

/*
 * The relation of a range table entry.  Early minor releases of 15 take it from the entry of
 * a view, whose query begins with an entry that has it still.
 */
static inline Oid
nw_entry_relid(const RangeTblEntry *rte)
{
#if PG_VERSION_NUM < 160000
	if (rte->rtekind == RTE_SUBQUERY && !OidIsValid(rte->relid) && rte->subquery->rtable != NIL)
		return linitial_node(RangeTblEntry, rte->subquery->rtable)->relid;
#endif
	return rte->relid;
}

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

/* Descriptions of tuples are to be finished before use since 19. */
#if PG_VERSION_NUM < 190000
#define TupleDescFinalize(desc) ((void) (desc))
#endif

/* Planning learned of EXPLAIN's state, and index fetches of flags, in 19. */
#if PG_VERSION_NUM >= 190000
#define nw_plan_query(query, sql) pg_plan_query((query), (sql), 0, NULL, NULL)
#define nw_index_fetch_begin(heap) table_index_fetch_begin((heap), SO_NONE)
#else
#define nw_plan_query(query, sql) pg_plan_query((query), (sql), 0, NULL)
#define nw_index_fetch_begin(heap) table_index_fetch_begin(heap)
#endif

/* What is made of pushed values is kept with the state since 19. */
#if PG_VERSION_NUM < 190000
typedef struct JsonbInState
{
	JsonbValue *result;
	JsonbParseState *parseState;
} JsonbInState;

static inline void
nw_push_jsonb(JsonbInState *state, JsonbIteratorToken token, JsonbValue *value)
{
	state->result = pushJsonbValue(&state->parseState, token, value);
}
#else
#define nw_push_jsonb pushJsonbValue
#endif

/*
 * Since 19 the server keeps the pointer that the handler of an access method
 * returns; before, it copied and freed what that points to.
 */
static inline const IndexAmRoutine *
nw_index_routine(const IndexAmRoutine *routine)
{
#if PG_VERSION_NUM >= 190000
	return routine;
#else
	IndexAmRoutine *copy = makeNode(IndexAmRoutine);

	*copy = *routine;
	return copy;
#endif
}

/*
 * Go on to the next relation that a plan writes, from *at, which is -1 at first;
 * NULL where there is none.  19 has a set of them, not a list.
 */
static inline RangeTblEntry *
nw_next_written(const PlannedStmt *plan, int *at)
{
#if PG_VERSION_NUM >= 190000
	*at = bms_next_member(plan->resultRelationRelids, *at);
	return *at >= 0 ? rt_fetch(*at, plan->rtable) : NULL;
#else
	if (++*at >= list_length(plan->resultRelations))
		return NULL;
	return rt_fetch(list_nth_int(plan->resultRelations, *at), plan->rtable);
#endif
}

/* The hooks by which others change how a relation is planned; 19 has other ones. */
typedef struct NwRelationHooks
{
#if PG_VERSION_NUM >= 190000
	build_simple_rel_hook_type relation;
	planner_setup_hook_type setup;
	planner_shutdown_hook_type shutdown;
#else
	get_relation_info_hook_type relation;
#endif
} NwRelationHooks;

static inline NwRelationHooks
nw_relation_hooks(void)
{
#if PG_VERSION_NUM >= 190000
	return (NwRelationHooks) {.relation = build_simple_rel_hook,
	                          .setup = planner_setup_hook,
	                          .shutdown = planner_shutdown_hook};
#else
	return (NwRelationHooks) {.relation = get_relation_info_hook};
#endif
}

/* Say whether there is any of them. */
static inline bool
nw_relation_is_hooked(const NwRelationHooks *hooks)
{
#if PG_VERSION_NUM >= 190000
	return hooks->relation || hooks->setup || hooks->shutdown;
#else
	return hooks->relation != NULL;
#endif
}

#endif /* NW_COMPAT_H */
