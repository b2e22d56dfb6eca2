/*
 * sets/origin.c
 *		Find the table that the rows of a set come from in the end.
 *
 * A view shows rows of a table where its id and its embedding are columns of that
 * table, both of one mention of it.  A partition or an inheriting table has rows of
 * its parents.  So ids of two sets name the same rows where both come down to one
 * table, or to a table and one of its parents, and to the same column there.
 */
#include "postgres.h"

#include "access/attnum.h"
#include "access/relation.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/parsenodes.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "sets/origin.h"

/* A table, and the columns of it that are a set's. */
typedef struct Origin
{
	Oid relid;            /* InvalidOid where it is gone */
	AttrNumber id;        /* InvalidAttrNumber where ctid stands in */
	AttrNumber embedding; /* whose row it is; what a set compares may be another column */
} Origin;

static bool trace_query(const Query *query, Origin *origin);

/* Return the column that an expression is, behind joins, and of which mention; NULL for others. */
static const Var *
column_of(const Query *query, const Node *expr)
{
	while (expr && IsA(expr, Var))
	{
		const Var *var = (const Var *) expr;
		const RangeTblEntry *rte;

		if (var->varlevelsup != 0 || var->varattno <= 0)
			return NULL;
		rte = rt_fetch(var->varno, query->rtable);
		if (rte->rtekind != RTE_JOIN)
			return var;
		expr = list_nth(rte->joinaliasvars, var->varattno - 1);
	}
	return NULL;
}

/* Return the query of a view or materialized view; NULL for other relations. */
static const Query *
view_query(Relation rel)
{
	if (rel->rd_rel->relkind != RELKIND_VIEW && rel->rd_rel->relkind != RELKIND_MATVIEW)
		return NULL;
	for (int i = 0; rel->rd_rules && i < rel->rd_rules->numLocks; i++)
	{
		const RewriteRule *rule = rel->rd_rules->rules[i];

		if (rule->event == CMD_SELECT)
			return linitial_node(Query, rule->actions);
	}
	return NULL;
}

/* Follow the columns of a relation to a table; true where they get there. */
static bool
trace_relation(Oid relid, Origin *origin)
{
	Relation rel = relation_open(relid, AccessShareLock);
	const Query *query = view_query(rel);
	bool found = true;

	origin->relid = relid;
	if (query && AttributeNumberIsValid(origin->id))
		found = trace_query(query, origin);
	relation_close(rel, AccessShareLock);
	return found;
}

/* Follow the columns of a query's result to a table; true where they get there. */
static bool
trace_query(const Query *query, Origin *origin)
{
	const TargetEntry *id = get_tle_by_resno(query->targetList, origin->id);
	const TargetEntry *embedding = get_tle_by_resno(query->targetList, origin->embedding);
	const Var *id_var;
	const Var *embedding_var;
	const RangeTblEntry *rte;

	check_stack_depth();
	if (query->setOperations || id == NULL || embedding == NULL)
		return false;
	id_var = column_of(query, (Node *) id->expr);
	embedding_var = column_of(query, (Node *) embedding->expr);
	if (id_var == NULL || embedding_var == NULL || id_var->varno != embedding_var->varno)
		return false;
	origin->id = id_var->varattno;
	origin->embedding = embedding_var->varattno;
	rte = rt_fetch(id_var->varno, query->rtable);
	if (rte->rtekind == RTE_RELATION)
		return trace_relation(rte->relid, origin);
	return rte->rtekind == RTE_SUBQUERY && trace_query(rte->subquery, origin);
}

/* Find where the rows of a set come from; false where that cannot be told. */
static bool
find_origin(const NwSet *set, Origin *origin)
{
	RangeVar *name = makeRangeVar(set->schema, set->relation, -1);
	Oid relid = RangeVarGetRelid(name, AccessShareLock, true);

	if (!OidIsValid(relid))
		return false;
	origin->id = set->id ? get_attnum(relid, set->id) : InvalidAttrNumber;
	origin->embedding = get_attnum(relid, set->embedding);
	if ((set->id && !AttributeNumberIsValid(origin->id)) ||
	    !AttributeNumberIsValid(origin->embedding))
		return false;
	return trace_relation(relid, origin);
}

/* Say whether a table is another one, or has rows of it. */
static bool
is_within(Oid child, Oid parent)
{
	return child == parent || list_member_oid(find_all_inheritors(parent, NoLock, NULL), child);
}

/* Say whether columns of tables, one of which may inherit from the other, are one. */
static bool
same_column(const Origin *a, const Origin *b)
{
	if (!AttributeNumberIsValid(a->id) || !AttributeNumberIsValid(b->id))
		return a->id == b->id && a->relid == b->relid;
	return strcmp(get_attname(a->relid, a->id, false), get_attname(b->relid, b->id, false)) == 0;
}

/*
 * Say how the rows of two sets belong together.  A distilled set is where the rows are
 * that it was made of.
 */
NwKinship
nw_set_kinship(const NwSet *a, const NwSet *b)
{
	Origin from_a;
	Origin from_b;

	/* the relation of a distilled set may be gone */
	if (nw_same_name(a->schema, b->schema) && nw_same_name(a->relation, b->relation))
		return nw_same_name(a->id, b->id) ? NW_SAME_ROWS : NW_RENAMED_ROWS;
	if (!find_origin(a, &from_a) || !find_origin(b, &from_b))
		return NW_STRANGERS;
	if (!is_within(from_a.relid, from_b.relid) && !is_within(from_b.relid, from_a.relid))
		return NW_STRANGERS;
	return same_column(&from_a, &from_b) ? NW_SAME_ROWS : NW_RENAMED_ROWS;
}
