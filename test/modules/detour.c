/*
 * detour.c
 *		For tests only: have the planner read a table from elsewhere, the way
 *		extensions for distributed or masked tables do.
 *
 *	detour.target	name of the table
 *	detour.way		how:
 *		other		scan the table detour.other instead
 *		empty		no rows at all
 *		some		rows with an even id only
 *		mask		all rows, every label replaced by 'masked'
 *		custom		a custom scan, which returns no rows
 *
 * While detour.target is empty, nothing happens.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/restrictinfo.h"
#include "parser/parse_oper.h"
#include "parser/parse_relation.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

static char *detour_target = NULL;
static char *detour_other = NULL;
static char *detour_way = NULL;

static planner_hook_type next_planner = NULL;
static set_rel_pathlist_hook_type next_pathlist = NULL;

/* The table to be read from elsewhere, and the way. */
static bool
is_detour(Oid relid, const char *way)
{
	return detour_target[0] != '\0' && strcmp(detour_way, way) == 0 &&
	       relid == RelnameGetRelid(detour_target);
}

/* An expression that says whether a row's id is even. */
static Node *
even_id(Oid relid, int varno)
{
	Var *id = makeVar(varno, get_attnum(relid, "id"), INT4OID, -1, InvalidOid, 0);
	Const *one = makeConst(INT4OID, -1, InvalidOid, 4, Int32GetDatum(1), false, true);
	Const *zero = makeConst(INT4OID, -1, InvalidOid, 4, Int32GetDatum(0), false, true);
	Oid and = OpernameGetOprid(list_make1(makeString("&")), INT4OID, INT4OID);
	Oid equals = OpernameGetOprid(list_make1(makeString("=")), INT4OID, INT4OID);
	Expr *bit =
		make_opclause(and, INT4OID, false, (Expr *) id, (Expr *) one, InvalidOid, InvalidOid);
	Expr *even = make_opclause(equals, BOOLOID, false, bit, (Expr *) zero, InvalidOid, InvalidOid);

	((OpExpr *) bit)->opfuncid = get_opcode(and);
	((OpExpr *) even)->opfuncid = get_opcode(equals);
	return (Node *) even;
}

/* A planner is given the state of EXPLAIN, too, since 19. */
#if PG_VERSION_NUM >= 190000
#define PLANNER_ARGS \
	Query *parse, const char *query_string, int options, ParamListInfo params, ExplainState *es
#define PLANNER_PASS parse, query_string, options, params, es
#else
#define PLANNER_ARGS Query *parse, const char *query_string, int options, ParamListInfo params
#define PLANNER_PASS parse, query_string, options, params
#endif

/* Plan a query, after having changed what it reads. */
static PlannedStmt *
plan(PLANNER_ARGS)
{
	int varno = 0;
	ListCell *cell;

	foreach(cell, parse->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);

		varno++;
		if (rte->rtekind != RTE_RELATION)
			continue;
		if (is_detour(rte->relid, "other"))
		{
			Oid other = RelnameGetRelid(detour_other);

#if PG_VERSION_NUM >= 160000
			getRTEPermissionInfo(parse->rteperminfos, rte)->relid = other;
#endif
			rte->relid = other;
			LockRelationOid(rte->relid, AccessShareLock);
			rte->relkind = get_rel_relkind(rte->relid);
			rte->inh = false;
		}
		else if (is_detour(rte->relid, "empty"))
			parse->jointree->quals = makeBoolConst(false, false);
		else if (is_detour(rte->relid, "some"))
			parse->jointree->quals = even_id(rte->relid, varno);
		else if (is_detour(rte->relid, "mask"))
		{
			ListCell *column;

			foreach(column, parse->targetList)
			{
				TargetEntry *entry = lfirst_node(TargetEntry, column);
				Var *var = (Var *) entry->expr;

				if (IsA(var, Var) && var->varno == varno && var->vartype == TEXTOID)
					entry->expr = (Expr *) makeConst(TEXTOID, -1, var->varcollid, -1,
					                                 CStringGetTextDatum("masked"), false, false);
			}
		}
	}
	return next_planner ? next_planner(PLANNER_PASS) : standard_planner(PLANNER_PASS);
}

/* A custom scan that returns nothing. */
static void
begin_nothing(CustomScanState *node, EState *estate, int eflags)
{
}

static TupleTableSlot *
exec_nothing(CustomScanState *node)
{
	return NULL;
}

static void
end_nothing(CustomScanState *node)
{
}

static const CustomExecMethods exec_methods = {.CustomName = "detour",
                                               .BeginCustomScan = begin_nothing,
                                               .ExecCustomScan = exec_nothing,
                                               .EndCustomScan = end_nothing,
                                               .ReScanCustomScan = end_nothing};

static Node *
create_nothing(CustomScan *scan)
{
	CustomScanState *state =
		(CustomScanState *) newNode(sizeof(CustomScanState), T_CustomScanState);

	state->methods = &exec_methods;
	return (Node *) state;
}

static const CustomScanMethods scan_methods = {"detour", create_nothing};

static Plan *
plan_nothing(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist, List *clauses,
             List *custom_plans)
{
	CustomScan *scan = makeNode(CustomScan);

	scan->scan.plan.targetlist = tlist;
	scan->scan.scanrelid = rel->relid;
	scan->methods = &scan_methods;
	return &scan->scan.plan;
}

static const CustomPathMethods path_methods = {"detour", plan_nothing, NULL};

/* Offer the custom scan, for nothing. */
static void
add_paths(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	if (next_pathlist)
		next_pathlist(root, rel, rti, rte);
	if (rte->rtekind == RTE_RELATION && is_detour(rte->relid, "custom"))
	{
		CustomPath *path = makeNode(CustomPath);

		path->path.pathtype = T_CustomScan;
		path->path.parent = rel;
		path->path.pathtarget = rel->reltarget;
		path->methods = &path_methods;
		rel->pathlist = list_make1(path);
		rel->partial_pathlist = NIL;
	}
}

void
_PG_init(void)
{
	DefineCustomStringVariable("detour.target", "Table to read from elsewhere.", NULL,
	                           &detour_target, "", PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomStringVariable("detour.other", "Table to read instead.", NULL, &detour_other, "",
	                           PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomStringVariable("detour.way", "Way to read it.", NULL, &detour_way, "", PGC_USERSET,
	                           0, NULL, NULL, NULL);
	next_planner = planner_hook;
	planner_hook = plan;
	next_pathlist = set_rel_pathlist_hook;
	set_rel_pathlist_hook = add_paths;
}
