/*
 * privileges.c
 *		For tests only: count how often the executor's check of privileges has
 *		met a relation, which is once for each time that its rows are opened.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "fmgr.h"
#include "nodes/parsenodes.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

PG_FUNCTION_INFO_V1(privileges_watch);
PG_FUNCTION_INFO_V1(privileges_checked);

static Oid watched = InvalidOid;
static int checked = 0;

/* Count the entries of a range table that are the relation watched. */
static void
count(const List *table)
{
	ListCell *cell;

	foreach(cell, table)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);

		if (rte->rtekind == RTE_RELATION && rte->relid == watched)
			checked++;
	}
}

#if PG_VERSION_NUM >= 160000
static bool
check(List *table, List *infos, bool report)
{
	(void) infos;
	(void) report;
	count(table);
	return true;
}
#else
static bool
check(List *table, bool report)
{
	(void) report;
	count(table);
	return true;
}
#endif

/* watch(regclass): begin to count, from 0 */
Datum
privileges_watch(PG_FUNCTION_ARGS)
{
	watched = PG_GETARG_OID(0);
	checked = 0;
	PG_RETURN_VOID();
}

/* checked() returns int: how often since then */
Datum
privileges_checked(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(checked);
}

void
_PG_init(void)
{
	ExecutorCheckPerms_hook = check;
}
