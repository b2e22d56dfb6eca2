/*
 * index/usable.c
 *		Decide whether a set may be read through an nw index, or needs the executor.
 *
 * The executor engine is always right.  An index is read directly, so whatever
 * the executor would have done is settled here first: locks, privileges,
 * row-level security, whether the rows are where they seem to be, and whether
 * this snapshot may use the index at all.  Where there is doubt, the executor it is.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/visibilitymap.h"
#include "access/xact.h"
#include "catalog/partition.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "compat.h"
#include "index/am.h"
#include "index/definition.h"
#include "index/other_extensions.h"
#include "index/usable.h"

int nw_engine = NW_ENGINE_AUTO;

/*
 * Where fewer pages of a table are all-visible, looking rows up in the heap
 * takes longer than reading the heap in order.
 */
#define ALL_VISIBLE_SHARE 0.7

/* The reason that is given where nothing better is known. */
#define NO_INDEX "there is no nw index on the embedding column"

/* Check the privileges on the columns that will be read, as the executor does. */
static void
check_privileges(const NwSource *source, Relation heap, bool ids)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);
	const char *names[] = {source->embedding, source->label, ids ? source->id : NULL};
	Bitmapset *columns = NULL;

	rte->rtekind = RTE_RELATION;
	rte->relid = source->relid;
	rte->relkind = heap->rd_rel->relkind;
	rte->rellockmode = AccessShareLock;
	rte->inFromCl = true;
	for (int i = 0; i < (int) lengthof(names); i++)
	{
		if (names[i])
			columns = bms_add_member(columns, get_attnum(source->relid, names[i]) -
			                                      FirstLowInvalidHeapAttributeNumber);
	}
	if (ids && source->id == NULL)
		columns = bms_add_member(columns, SelfItemPointerAttributeNumber -
		                                      FirstLowInvalidHeapAttributeNumber);
	nw_check_select(rte, columns);
}

/*
 * Say whether an index has all rows that the active snapshot sees.
 *
 * A build leaves out rows that nobody on the primary can see any more, and
 * CREATE INDEX CONCURRENTLY waits for snapshots of the primary alone; so a
 * snapshot of a standby may see rows that an index made after it lacks.  One that
 * sees the transaction that made the index, or put another file in its place,
 * sees the end of those rows, too.
 */
static bool
index_is_complete(Relation index)
{
	Snapshot snapshot = GetActiveSnapshot();
	HeapTuple tuple;
	bool complete;

	if (!snapshot->takenDuringRecovery)
		return true;
	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(RelationGetRelid(index)));
	if (!HeapTupleIsValid(tuple))
		return false;
	complete = !XidInMVCCSnapshot(HeapTupleHeaderGetXmin(index->rd_indextuple->t_data), snapshot) &&
	           !XidInMVCCSnapshot(HeapTupleHeaderGetXmin(tuple->t_data), snapshot);
	ReleaseSysCache(tuple);
	return complete;
}

/*
 * Say why an index does not serve a set under this snapshot; NULL where it does.  Of an
 * index on something else there is no more to say than that there is none.
 */
static const char *
index_fails(const NwSource *source, Relation heap, Relation index)
{
	Form_pg_index form = index->rd_index;
	Oid heapid = RelationGetRelid(heap);

	if (!nw_index_is_ours(index) ||
	    form->indkey.values[NW_INDEX_EMBEDDING] != get_attnum(heapid, source->embedding))
		return NO_INDEX;
	if (!form->indisvalid || !form->indislive)
		return "the nw index is not valid";
	if (form->indnatts != 2 ||
	    form->indkey.values[NW_INDEX_LABEL] != get_attnum(heapid, source->label))
		return "the nw index does not INCLUDE the label column";
	if (nw_index_has_predicate(index) || nw_index_has_expression(index))
		return "the nw index has a predicate or an expression";

	/* built while rows of broken HOT chains could still be seen */
	if ((form->indcheckxmin &&
	     !TransactionIdPrecedes(HeapTupleHeaderGetXmin(index->rd_indextuple->t_data),
	                            TransactionXmin)) ||
	    !index_is_complete(index))
		return "the nw index is too new for the snapshot";
	return NULL;
}

/* Say whether the visibility map will spare most look-ups in the heap. */
static bool
mostly_visible(Relation heap)
{
	BlockNumber pages = RelationGetNumberOfBlocks(heap);
	BlockNumber visible;

	visibilitymap_count(heap, &visible, NULL);
	return visible >= pages * ALL_VISIBLE_SHARE;
}

/* Find the index of one table; say why there is none to be used, or NULL. */
static const char *
find_part(const NwSource *source, Oid heapid, NwIndexPart *part)
{
	Relation heap = table_open(heapid, AccessShareLock);
	const char *reason = "the rows are not in an ordinary heap table";
	List *indexes;
	ListCell *cell;

	memset(part, 0, sizeof(NwIndexPart));
	if ((heap->rd_rel->relkind == RELKIND_RELATION || heap->rd_rel->relkind == RELKIND_MATVIEW) &&
	    RelationIsScannable(heap) && !RELATION_IS_OTHER_TEMP(heap) &&
	    heap->rd_tableam == GetHeapamTableAmRoutine())
	{
		reason = NO_INDEX;
		indexes = RelationGetIndexList(heap);
		foreach(cell, indexes)
		{
			Relation index = index_open(lfirst_oid(cell), AccessShareLock);
			const char *failure = part->index ? NO_INDEX : index_fails(source, heap, index);

			if (failure == NULL)
				part->index = index;
			else
				index_close(index, NoLock);
			if (failure == NULL || strcmp(failure, NO_INDEX) != 0)
				reason = failure;
		}
		list_free(indexes);
	}
	part->heap = heap;
	if (part->index && nw_engine != NW_ENGINE_INDEX && !mostly_visible(heap))
		reason = "too few pages are all-visible: VACUUM the table";
	return reason;
}

/* List the tables that hold a set's rows; NIL, and why, where the executor must look. */
static List *
list_tables(const NwSource *source, const char **reason)
{
	List *tables = NIL;
	ListCell *cell;

	*reason = NULL;
	switch (get_rel_relkind(source->relid))
	{
		case RELKIND_RELATION:
			if (has_subclass(source->relid) &&
			    find_inheritance_children(source->relid, NoLock) != NIL)
			{
				*reason = "the table has inheritance children";
				return NIL;
			}
			return list_make1_oid(source->relid);
		case RELKIND_MATVIEW:
			return list_make1_oid(source->relid);
		case RELKIND_PARTITIONED_TABLE:
			foreach(cell, find_all_inheritors(source->relid, AccessShareLock, NULL))
			{
				char kind = get_rel_relkind(lfirst_oid(cell));

				if (kind == RELKIND_RELATION)
					tables = lappend_oid(tables, lfirst_oid(cell));
				else if (kind != RELKIND_PARTITIONED_TABLE)
				{
					*reason = "a partition is a foreign table";
					return NIL;
				}
			}
			if (tables == NIL)
				*reason = "the table has no partitions";
			return tables;
		default:
			*reason = "the set is a view or a foreign table";
			return NIL;
	}
}

/* Say why the rows of a set are not for an index, whichever there is; NULL where they may be. */
static const char *
set_fails(const NwSource *source)
{
	if (nw_engine == NW_ENGINE_EXECUTOR)
		return "nwhead.engine is executor";
	if (source->distilled)
		return "the set is distilled";
	if (source->weight)
		return "the set has row weights";
	if (nw_source_is_balanced(source))
		return "the set is balanced";
	if (source->label == NULL)
		return "the set has no labels";
	if (IsolationIsSerializable())
		return "the transaction is SERIALIZABLE";
	if (nw_snapshots_expire())
		return "old_snapshot_threshold is set";
	if (!IsMVCCSnapshot(GetActiveSnapshot()))
		return "the snapshot is not one of a query";
	if (check_enable_rls(source->relid, InvalidOid, true) == RLS_ENABLED)
		return "row-level security applies to the caller";
	return NULL;
}

/*
 * Find indexes that cover a set, with locks and privileges settled, or return
 * NULL where its rows are to be read through the executor, and why: see nwhead.engine.
 * ids says whether some ids will be asked for.
 */
NwIndexReader *
nw_index_find(const NwSource *source, bool ids, const char **reason)
{
	NwIndexReader *reader;
	List *tables;
	ListCell *cell;
	Relation rel;

	*reason = set_fails(source);
	if (*reason)
		return NULL;
	tables = list_tables(source, reason);
	if (tables == NIL)
		return NULL;

	reader = palloc0(sizeof(NwIndexReader));
	reader->mcxt = CurrentMemoryContext;
	reader->part = palloc(list_length(tables) * sizeof(NwIndexPart));
	foreach(cell, tables)
	{
		*reason = find_part(source, lfirst_oid(cell), &reader->part[reader->nparts++]);
		if (*reason)
			break;
	}
	if (*reason == NULL && nw_rows_are_elsewhere(source, tables, ids))
		*reason = "another extension may read the rows from elsewhere";
	if (*reason)
	{
		nw_index_end(reader);
		return NULL;
	}
	rel = table_open(source->relid, NoLock);
	check_privileges(source, rel, ids);
	table_close(rel, NoLock);
	return reader;
}
