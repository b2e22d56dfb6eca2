/*
 * sets/advice.c
 *		Point out what may surprise in a relation that becomes a set: ids that
 *		nothing keeps unique, and views that show their owner's rows.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "rewrite/rewriteHandler.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "sets/advice.h"

/* True where an index keeps one column unique, in all rows. */
static bool
keeps_unique(Oid index, AttrNumber column)
{
	HeapTuple tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
	Form_pg_index form;
	bool keeps;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_index) GETSTRUCT(tuple);
	keeps = form->indisunique && form->indisvalid && form->indnkeyatts == 1 &&
	        form->indkey.values[0] == column && heap_attisnull(tuple, Anum_pg_index_indpred, NULL);
	ReleaseSysCache(tuple);
	return keeps;
}

/*
 * Point out that two rows of a table may have one id.  (A partitioned table can have the
 * index only where it is partitioned by the id.)
 */
void
nw_advise_ids(const NwSource *source)
{
	char *name = quote_qualified_identifier(source->schema, source->relation);
	Relation rel;
	AttrNumber column;
	ListCell *cell;
	bool unique = false;

	if (source->distilled || source->id == NULL)
		return;
	rel = table_open(source->relid, NoLock);
	if (rel->rd_rel->relkind == RELKIND_RELATION ||
	    rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
	{
		column = get_attnum(source->relid, source->id);
		foreach(cell, RelationGetIndexList(rel))
			unique |= keeps_unique(lfirst_oid(cell), column);
		if (!unique)
			ereport(
				NOTICE,
				(errmsg("ids of set \"%s\" may not be unique", source->set->name),
			     errdetail("No unique index is on column %s of %s alone, and all rows of one id are"
			               " left out together.",
			               quote_identifier(source->id), name),
			     rel->rd_rel->relkind == RELKIND_RELATION
			         ? errhint("CREATE UNIQUE INDEX ON %s (%s) makes sure that they are.", name,
			                   quote_identifier(source->id))
			         : 0));
	}
	table_close(rel, NoLock);
}

/* A view whose tables are looked at. */
typedef struct ViewWalk
{
	Oid view;
	Oid shown_by; /* the view whose owner's rights count here; InvalidOid for the reader's */
	Oid table;    /* found: with row-level security, and read by a view's owner */
	Oid by;       /* found: that view */
} ViewWalk;

static void walk_view(Relation view, ViewWalk *found, Oid shown_by);

/* Say whether a relation shows rows of others: a view, or what a query left in one. */
static bool
shows_others(Relation rel)
{
	return rel->rd_rel->relkind == RELKIND_VIEW || rel->rd_rel->relkind == RELKIND_MATVIEW;
}

/* The query of a view, of either kind. */
static Query *
query_of(Relation view)
{
	if (view->rd_rel->relkind == RELKIND_VIEW)
		return get_view_query(view);
	return linitial_node(Query, view->rd_rules->rules[0]->actions);
}

/* Look for tables with row-level security; true once one is found. */
static bool
secured_walker(Node *node, void *arg)
{
	ViewWalk *walk = arg;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, secured_walker, arg, QTW_EXAMINE_RTES_BEFORE);
	if (IsA(node, RangeTblEntry))
	{
		RangeTblEntry *rte = (RangeTblEntry *) node;
		Relation rel;

		/* until 16 a view's query names the view itself */
		if (rte->rtekind != RTE_RELATION || rte->relid == walk->view)
			return false;
		rel = table_open(rte->relid, AccessShareLock);
		if (shows_others(rel))
			walk_view(rel, walk, walk->shown_by);
		else if (rel->rd_rel->relrowsecurity && OidIsValid(walk->shown_by))
		{
			walk->table = rte->relid;
			walk->by = walk->shown_by;
		}
		table_close(rel, NoLock);
		return OidIsValid(walk->table);
	}
	return expression_tree_walker(node, secured_walker, arg);
}

/* Look through a view, which is read by the owner of another one, or by the reader. */
static void
walk_view(Relation view, ViewWalk *found, Oid shown_by)
{
	ViewWalk walk = {.view = RelationGetRelid(view), .shown_by = shown_by};

	check_stack_depth();
	if (view->rd_rel->relkind == RELKIND_MATVIEW || !RelationHasSecurityInvoker(view))
		walk.shown_by = RelationGetRelid(view);
	(void) secured_walker((Node *) query_of(view), &walk);
	found->table = walk.table;
	found->by = walk.by;
}

/* Name a relation as SQL does. */
static char *
quoted_name(Oid relid)
{
	return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)),
	                                  get_rel_name(relid));
}

/*
 * Point out that a view shows rows that row-level security would keep from a reader:
 * it is the view's owner who counts, unless the view says otherwise.
 */
void
nw_advise_view(const NwSource *source)
{
	Relation rel;
	ViewWalk found = {0};

	if (source->distilled)
		return;
	rel = table_open(source->relid, NoLock);
	if (shows_others(rel))
		walk_view(rel, &found, InvalidOid);
	table_close(rel, NoLock);
	if (OidIsValid(found.table))
		ereport(
			NOTICE,
			(errmsg("set \"%s\" shows rows of %s to whoever may read view %s", source->set->name,
		            quoted_name(found.table), quoted_name(found.by)),
		     errdetail("Row-level security of a table applies to the owner of a view on it, not to"
		               " whoever reads the view."),
		     get_rel_relkind(found.by) == RELKIND_VIEW
		         ? errhint("ALTER VIEW %s SET (security_invoker = true) applies it to the reader.",
		                   quoted_name(found.by))
		         : errhint(
					   "Register the table itself, or a view of it that is security_invoker.")));
}
