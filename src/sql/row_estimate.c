/*
 * sql/row_estimate.c
 *		Tell the planner how many rows a function returns that has an argument
 *		top, so that joins with these rows use an index of the other table.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"

PG_FUNCTION_INFO_V1(nw_top_rows);
PG_FUNCTION_INFO_V1(nw_twice_top_rows);

/* So many rows no set is supposed to have: top means all of them. */
#define ALL_ROWS 1000000

/* The value of top, the last integer among the arguments; 0 where it is not known yet. */
static int
known_top(const SupportRequestRows *request)
{
	Node *top = NULL;
	ListCell *cell;

	if (!is_funcclause(request->node))
		return 0;
	foreach(cell, ((const FuncExpr *) request->node)->args)
	{
		if (exprType(lfirst(cell)) == INT4OID)
			top = lfirst(cell);
	}
	if (top == NULL)
		return 0;
	top = estimate_expression_value(request->root, top);
	if (!IsA(top, Const) || ((const Const *) top)->constisnull)
		return 0;
	return Max(DatumGetInt32(((const Const *) top)->constvalue), 0);
}

/* Answer a question for the number of rows, and no other. */
static Datum
estimate(FunctionCallInfo fcinfo, int lists)
{
	Node *question = (Node *) PG_GETARG_POINTER(0);
	int top;

	if (!IsA(question, SupportRequestRows))
		PG_RETURN_POINTER(NULL);
	top = known_top((SupportRequestRows *) question);
	if (top == 0 || top >= ALL_ROWS)
		PG_RETURN_POINTER(NULL);
	((SupportRequestRows *) question)->rows = (double) lists * top;
	PG_RETURN_POINTER(question);
}

/* nw_top_rows(internal) returns internal: as many rows as top says */
Datum
nw_top_rows(PG_FUNCTION_ARGS)
{
	return estimate(fcinfo, 1);
}

/* nw_twice_top_rows(internal) returns internal: as many in each of two lists */
Datum
nw_twice_top_rows(PG_FUNCTION_ARGS)
{
	return estimate(fcinfo, 2);
}
