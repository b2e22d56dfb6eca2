/*
 * predict/running_statements.c
 *		Follow the statements under way, one inside the other, and know which
 *		of them write what.
 *
 * Two snapshots with the same contents show the same rows, but for one case.
 * A statement that writes does so under the command id it had when it began,
 * and a snapshot sees what has been written under ids below its own curcid.
 * So a snapshot taken while the statement is running, by a trigger or another
 * volatile function, sees the rows written so far, and more of them each time
 * it is used.  What is written under ids from curcid on it never sees.
 *
 * Hence the list of statements.  One that writes is noted with its command id
 * and with what it writes: a plan with its result relations, COPY with its
 * table.  Of all others it is known only that they hold a lock for writing on
 * whatever they write: utilities such as CREATE TABLE AS, statements that
 * began before this library was loaded, and what runs without any portal, as
 * the workers of logical replication do.
 *
 * Statements that a portal holds open between two fetches do not write:
 * those that do are run to their end at the first.  In a parallel worker
 * nothing is noted: while one lives, its leader does not write.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "commands/copy.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "parser/parsetree.h"
#include "storage/lmgr.h"
#include "tcop/pquery.h"
#include "tcop/utility.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "predict/running_statements.h"

/* What a statement does to tables. */
typedef enum Effect
{
	READS,          /* or has others write */
	WRITES_RESULTS, /* to the result relations of a plan */
	WRITES_COPY,    /* to one table */
	WRITES_LOCKED   /* to what it has locked */
} Effect;

/* A statement under way. */
typedef struct Statement
{
	struct Statement *outer; /* that it runs inside of */
	Effect effect;
	CommandId cid;          /* of what it writes, or less */
	const QueryDesc *query; /* NULL for a utility */
	bool foreign;           /* a utility that may write foreign tables */
	Oid copied;             /* the table of COPY */
	List *written;          /* roots of the result relations, once asked */
	uint64 number;          /* of a query, never used again */
	bool uncovered;         /* something unseen may be under way around it */
} Statement;

static Statement *innermost = NULL;
static uint64 last_number = 0;

/* The statement that loaded this library began without our noticing. */
static TimestampTz loading_statement;

static void (*outermost_ended)(void);
static void (*tables_emptied)(void);

static ExecutorRun_hook_type next_ExecutorRun = NULL;
static ExecutorFinish_hook_type next_ExecutorFinish = NULL;
static ProcessUtility_hook_type next_ProcessUtility = NULL;

/* True within the statement that loaded this library. */
static bool
still_loading(void)
{
	return GetCurrentStatementStartTimestamp() == loading_statement;
}

/* The topmost table that a relation is a partition of, or itself. */
static Oid
partition_root(Oid relid)
{
	List *ancestors;

	if (!get_rel_relispartition(relid))
		return relid;
	ancestors = get_partition_ancestors(relid);
	return ancestors == NIL ? relid : llast_oid(ancestors);
}

/* Add to a list of relations the roots of those that are partitions. */
List *
nw_running_add_roots(List *relids)
{
	List *result = list_copy(relids);
	ListCell *cell;

	foreach(cell, relids)
		result = list_append_unique_oid(result, partition_root(lfirst_oid(cell)));
	return result;
}

/* Say whether any of some relations is locked for writing. */
static bool
any_locked(const List *relids)
{
	ListCell *cell;

	foreach(cell, relids)
	{
		for (LOCKMODE mode = RowExclusiveLock; mode <= MaxLockMode; mode++)
		{
			if (nw_holds_lock(lfirst_oid(cell), mode))
				return true;
		}
	}
	return false;
}

/* List the roots of a plan's result relations. */
static void
list_written(Statement *statement)
{
	const PlannedStmt *plan = statement->query->plannedstmt;
	MemoryContext caller = MemoryContextSwitchTo(statement->query->estate->es_query_cxt);
	RangeTblEntry *rte;
	int at = -1;

	while ((rte = nw_next_written(plan, &at)) != NULL)
		statement->written = list_append_unique_oid(statement->written, partition_root(rte->relid));
	MemoryContextSwitchTo(caller);
}

/* Say whether a statement may write one of some relations. */
static bool
writes_any(Statement *statement, const List *relids)
{
	ListCell *cell;

	switch (statement->effect)
	{
		case READS:
			return false;
		case WRITES_RESULTS:
			if (statement->written == NIL)
				list_written(statement);
			foreach(cell, statement->written)
			{
				if (list_member_oid(relids, lfirst_oid(cell)))
					return true;
			}
			return false;
		case WRITES_COPY:

			/* its name was looked up without a lock; COPY has taken one */
			if (nw_holds_lock(statement->copied, RowExclusiveLock))
				return list_member_oid(relids, partition_root(statement->copied));
			break;
		case WRITES_LOCKED:
			break;
	}
	return any_locked(relids);
}

/* Say whether something that was not seen to begin may be writing. */
static bool
unseen_writes(void)
{
	const Statement *outermost = innermost;

	if (IsParallelWorker() || !TransactionIdIsValid(GetTopTransactionIdIfAny()))
		return false;
	while (outermost && outermost->outer)
		outermost = outermost->outer;
	return outermost == NULL || outermost->uncovered || still_loading();
}

/*
 * True where a statement under way may still add, change or remove rows that
 * the active snapshot sees, in one of some relations; these come with their
 * partition roots, see nw_running_add_roots().
 */
bool
nw_running_may_write(const List *relids)
{
	CommandId curcid = GetActiveSnapshot()->curcid;

	for (Statement *statement = innermost; statement; statement = statement->outer)
	{
		if (statement->cid < curcid && writes_any(statement, relids))
			return true;
	}
	return curcid > FirstCommandId && unseen_writes() && any_locked(relids);
}

/* Say whether a plan may write foreign tables. */
static bool
plan_writes_foreign(const PlannedStmt *plan)
{
	RangeTblEntry *rte;
	bool any = false;
	int at = -1;

	while ((rte = nw_next_written(plan, &at)) != NULL)
	{
		/* a partition may be foreign */
		if (rte->relkind != RELKIND_RELATION)
			return true;
		any = true;
	}
	return !any;
}

/* True where a statement under way may be writing foreign tables. */
bool
nw_running_may_write_foreign(void)
{
	for (const Statement *statement = innermost; statement; statement = statement->outer)
	{
		if (statement->effect == WRITES_RESULTS ? plan_writes_foreign(statement->query->plannedstmt)
		                                        : statement->effect != READS && statement->foreign)
			return true;
	}
	return unseen_writes();
}

/*
 * The number of the query under way, never used again, where that query
 * itself evaluates an expression that lives in a memory context (fn_mcxt);
 * else 0.
 */
uint64
nw_running_query(MemoryContext caller)
{
	return innermost && innermost->query && innermost->query->estate->es_query_cxt == caller
	           ? innermost->number
	           : 0;
}

/* Note a statement that begins. */
static void
enter(Statement *statement)
{
	statement->outer = innermost;
	statement->uncovered = innermost == NULL && ActivePortal == NULL;
	innermost = statement;
}

/* Tell that the outermost has ended; not where it has failed: the transaction will say so. */
static void
leave_outermost(void)
{
	if (innermost == NULL && !still_loading())
		outermost_ended();
}

/* Note what a planned statement writes. */
static void
note_plan(Statement *statement, const QueryDesc *query, bool writes)
{
	int at = -1;

	memset(statement, 0, sizeof(Statement));
	statement->query = query;
	statement->number = ++last_number;
	if (writes)
	{
		statement->effect =
			nw_next_written(query->plannedstmt, &at) ? WRITES_RESULTS : WRITES_LOCKED;
		statement->foreign = true;
		statement->cid = query->estate->es_output_cid;
	}
}

static void
run_executor(NW_EXECUTOR_RUN_ARGS)
{
	Statement statement;
	Statement *outer = innermost;

	note_plan(&statement, queryDesc,
	          queryDesc->operation != CMD_SELECT || queryDesc->plannedstmt->hasModifyingCTE);
	enter(&statement);
	PG_TRY();
	{
		if (next_ExecutorRun)
			next_ExecutorRun(NW_EXECUTOR_RUN_PASS);
		else
			standard_ExecutorRun(NW_EXECUTOR_RUN_PASS);
	}
	PG_FINALLY();
	{
		innermost = outer;
	}
	PG_END_TRY();
	leave_outermost();
}

/*
 * Finish a planned statement: run what is left of its modifying WITH queries,
 * then the triggers that come after all rows.
 */
static void
finish_executor(QueryDesc *queryDesc)
{
	Statement statement;
	Statement *outer = innermost;

	note_plan(&statement, queryDesc, queryDesc->estate->es_auxmodifytables != NIL);
	enter(&statement);
	PG_TRY();
	{
		if (next_ExecutorFinish)
			next_ExecutorFinish(queryDesc);
		else
			standard_ExecutorFinish(queryDesc);
	}
	PG_FINALLY();
	{
		innermost = outer;
	}
	PG_END_TRY();
	leave_outermost();
}

/* Note what a utility writes. */
static void
note_utility(Statement *statement, const PlannedStmt *pstmt)
{
	Node *node = pstmt->utilityStmt;

	memset(statement, 0, sizeof(Statement));
	statement->effect = WRITES_LOCKED;
	statement->foreign = true;
	statement->cid = GetCurrentCommandId(false);

	if (IsA(node, ExplainStmt))
	{
		Query *query = castNode(Query, ((ExplainStmt *) node)->query);

		if (query->commandType != CMD_UTILITY || !IsA(query->utilityStmt, CreateTableAsStmt))
			statement->effect = READS;
		return;
	}
	switch (nodeTag(node))
	{
		case T_CopyStmt:
		{
			CopyStmt *copy = (CopyStmt *) node;

			if (!copy->is_from)
				statement->effect = READS;
			else
			{
				/* where there is none, COPY itself will say so */
				statement->copied = RangeVarGetRelid(copy->relation, NoLock, true);
				if (OidIsValid(statement->copied))
					statement->effect = WRITES_COPY;
				statement->foreign = get_rel_relkind(statement->copied) != RELKIND_RELATION;
			}
			break;
		}
		case T_CreateTableAsStmt:
			statement->foreign = false;
			break;

			/* these write nothing, or what they run writes */
		case T_CallStmt:
		case T_ClosePortalStmt:
		case T_ConstraintsSetStmt:
		case T_DeclareCursorStmt:
		case T_DoStmt:
		case T_ExecuteStmt:
		case T_FetchStmt:
		case T_PrepareStmt:
		case T_TransactionStmt:
		case T_VariableSetStmt:
		case T_VariableShowStmt:
			statement->effect = READS;
			break;
		default:
			break;
	}
}

static void
run_utility(PlannedStmt *pstmt, const char *queryString, bool readOnlyTree,
            ProcessUtilityContext context, ParamListInfo params, QueryEnvironment *queryEnv,
            DestReceiver *dest, QueryCompletion *qc)
{
	Statement statement;
	Statement *outer = innermost;

	note_utility(&statement, pstmt);
	enter(&statement);
	PG_TRY();
	{
		if (next_ProcessUtility)
			next_ProcessUtility(pstmt, queryString, readOnlyTree, context, params, queryEnv, dest,
			                    qc);
		else
			standard_ProcessUtility(pstmt, queryString, readOnlyTree, context, params, queryEnv,
			                        dest, qc);
	}
	PG_FINALLY();
	{
		innermost = outer;
	}
	PG_END_TRY();
	if (IsA(pstmt->utilityStmt, TruncateStmt))
		tables_emptied();
	leave_outermost();
}

/*
 * Follow statements from now on, calling back when the outermost has ended, and
 * after TRUNCATE: a table that is new in a transaction is emptied in its place,
 * which shows in no invalidation and in no snapshot.
 */
void
nw_running_init(void (*ended)(void), void (*emptied)(void))
{
	outermost_ended = ended;
	tables_emptied = emptied;
	loading_statement = GetCurrentStatementStartTimestamp();
	next_ExecutorRun = ExecutorRun_hook;
	ExecutorRun_hook = run_executor;
	next_ExecutorFinish = ExecutorFinish_hook;
	ExecutorFinish_hook = finish_executor;
	next_ProcessUtility = ProcessUtility_hook;
	ProcessUtility_hook = run_utility;
}
