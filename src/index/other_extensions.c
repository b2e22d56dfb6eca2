/*
 * index/other_extensions.c
 *		Notice sets whose rows other extensions read from elsewhere.
 *
 * To the catalogs, a table that Citus has distributed is an ordinary heap with
 * ordinary indexes.  Its rows are on other machines: the planner is told so by
 * a hook, and what is in the heap is old or nothing.  Other extensions mask
 * columns or leave rows out, in the same way.
 *
 * Without hooks the planner can only scan the heap.  Where there are some, the
 * SELECT that would read the rows is planned, and the plan must consist of
 * scans of just the tables that are to be read directly, of the columns as they
 * are.  What was found out holds for one statement of the client, as long as
 * no relation changes and no other hooks are installed.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "nodes/plannodes.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "parser/analyze.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "index/other_extensions.h"
#include "sets/scan.h"

/* Columns of the statement: embedding, label, id. */
#define COLUMNS 3

/* Verdicts remembered at a time. */
#define VERDICTS 16

/* What all verdicts depend on. */
typedef struct World
{
	TimestampTz statement; /* of the client: when it began */
	uint64 changes;        /* of relations */
	post_parse_analyze_hook_type analyze;
	planner_hook_type planner;
	NwRelationHooks relation;
	set_rel_pathlist_hook_type rel_pathlist;
	create_upper_paths_hook_type upper_paths;
} World;

/* What was found out about one relation. */
typedef struct Verdict
{
	Oid relid;
	Oid user;
	AttrNumber column[COLUMNS]; /* 0 for none */
	bool elsewhere;
} Verdict;

static uint64 relation_changes = 0;
static World known_world;
static Verdict verdict[VERDICTS];
static int nverdicts = 0;

/* What a plan is to be compared with. */
typedef struct Expected
{
	const PlannedStmt *plan;
	const char *name[COLUMNS]; /* of columns; NULL for ctid */
	int ncolumns;
	List *tables; /* that have not been met yet */
} Expected;

/* Describe what verdicts depend on now. */
static World
current_world(void)
{
	World world;

	/* to be compared byte by byte */
	memset(&world, 0, sizeof(World));
	world.statement = GetCurrentStatementStartTimestamp();
	world.changes = relation_changes;
	world.analyze = post_parse_analyze_hook;
	world.planner = planner_hook;
	world.relation = nw_relation_hooks();
	world.rel_pathlist = set_rel_pathlist_hook;
	world.upper_paths = create_upper_paths_hook;
	return world;
}

/* Say whether an expression is a column of what a node reads, as it is. */
static bool
is_column(const TargetEntry *entry, int varno, AttrNumber attnum)
{
	const Var *var = (const Var *) entry->expr;

	return IsA(var, Var) && var->varno == varno && var->varattno == attnum && var->varlevelsup == 0;
}

/* Say whether a node scans one of the tables: all rows, the columns as they are. */
static bool
scans_table(const Scan *scan, Expected *expected)
{
	const RangeTblEntry *rte = rt_fetch(scan->scanrelid, expected->plan->rtable);

	if (rte->rtekind != RTE_RELATION || !list_member_oid(expected->tables, rte->relid) ||
	    list_length(scan->plan.targetlist) != expected->ncolumns)
		return false;
	expected->tables = list_delete_oid(expected->tables, rte->relid);
	for (int i = 0; i < expected->ncolumns; i++)
	{
		AttrNumber attnum = expected->name[i] ? get_attnum(rte->relid, expected->name[i])
		                                      : SelfItemPointerAttributeNumber;

		if (!is_column(list_nth_node(TargetEntry, scan->plan.targetlist, i), scan->scanrelid,
		               attnum))
			return false;
	}
	return true;
}

/* Say whether a node appends scans of tables, the columns as they are. */
static bool
appends_tables(const Append *append, Expected *expected)
{
	ListCell *cell;

	for (int i = 0; i < list_length(append->plan.targetlist); i++)
	{
		if (!is_column(list_nth_node(TargetEntry, append->plan.targetlist, i), OUTER_VAR, i + 1))
			return false;
	}
	foreach(cell, append->appendplans)
	{
		const Plan *child = lfirst(cell);

		if (!IsA(child, SeqScan) || child->qual != NIL || child->initPlan != NIL ||
		    !scans_table((const Scan *) child, expected))
			return false;
	}
	return true;
}

/* Say whether a plan scans just the tables. */
static bool
plan_is_ordinary(Expected *expected)
{
	const PlannedStmt *plan = expected->plan;
	const Plan *top = plan->planTree;

	if (plan->commandType != CMD_SELECT || plan->hasModifyingCTE || plan->subplans != NIL ||
	    plan->rowMarks != NIL || top->qual != NIL || top->initPlan != NIL ||
	    list_length(top->targetlist) != expected->ncolumns)
		return false;
	if (IsA(top, SeqScan) ? !scans_table((const Scan *) top, expected)
	                      : !IsA(top, Append) || !appends_tables((const Append *) top, expected))
		return false;
	return expected->tables == NIL;
}

/* Plan to read the rows, and look at the plan. */
static bool
look(const NwSource *source, const List *tables, bool ids)
{
	Expected expected = {.name = {source->embedding, source->label, source->id},
	                     .ncolumns = ids ? COLUMNS : COLUMNS - 1,
	                     .tables = list_copy(tables)};

	expected.plan = nw_scan_statement(source, NW_SCAN_LABEL | (ids ? NW_SCAN_ID : 0));
	return !plan_is_ordinary(&expected);
}

/*
 * Say whether an ordinary SELECT of a set's embeddings and labels (and ids) might do
 * anything else than scan just these tables: then they are not to be read directly.
 */
bool
nw_rows_are_elsewhere(const NwSource *source, const List *tables, bool ids)
{
	World world = current_world();
	Verdict asked = {.relid = source->relid, .user = GetUserId()};

	if (!world.analyze && !world.planner && !nw_relation_is_hooked(&world.relation) &&
	    !world.rel_pathlist && !world.upper_paths)
		return false;

	asked.column[0] = get_attnum(source->relid, source->embedding);
	asked.column[1] = get_attnum(source->relid, source->label);
	if (ids)
		asked.column[2] =
			source->id ? get_attnum(source->relid, source->id) : SelfItemPointerAttributeNumber;

	if (memcmp(&world, &known_world, sizeof(World)) != 0)
		nverdicts = 0;
	for (int i = 0; i < nverdicts; i++)
	{
		if (verdict[i].relid == asked.relid && verdict[i].user == asked.user &&
		    memcmp(verdict[i].column, asked.column, sizeof(asked.column)) == 0)
			return verdict[i].elsewhere;
	}

	asked.elsewhere = look(source, tables, ids);

	/* planning may have told of changes: these are for the next call */
	if (memcmp(&world, &known_world, sizeof(World)) != 0 || nverdicts == VERDICTS)
		nverdicts = 0;
	known_world = world;
	verdict[nverdicts++] = asked;
	return asked.elsewhere;
}

/* Take note that a relation has been changed by DDL. */
void
nw_other_extensions_relation_changed(void)
{
	relation_changes++;
}
