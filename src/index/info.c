/*
 * index/info.c
 *		Show what an nw index holds: nw_index_lists and nw_index_health.
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "index/info.h"
#include "index/search.h"
#include "rows.h"

/* Rows behind the common list, and free slots, above which REINDEX helps. */
#define UNLISTED_SHARE 0.2
#define FREE_SHARE 0.3
#define GROWTH 2.0

/* Rows that came after the build, above which REINDEX helps. */
#define LATE_SHARE 0.5

/* Insist that the caller owns an index. */
static void
check_owner(Oid relid, Oid userid)
{
	if (!nw_owns_relation(relid, userid))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX, get_rel_name(relid));
}

void
nw_index_open_owned(NwOwned *owned, Oid relid, LOCKMODE lock)
{
	Oid heapid = IndexGetRelation(relid, true);

	owned->heap = NULL;
	GetUserIdAndSecContext(&owned->userid, &owned->sec_context);
	if (OidIsValid(heapid))
	{
		/* who may not look may not hold up writers either */
		check_owner(relid, owned->userid);

		/* table before index, as everyone else */
		owned->heap = try_table_open(heapid, lock);
		if (owned->heap)
			SetUserIdAndSecContext(owned->heap->rd_rel->relowner,
			                       owned->sec_context | SECURITY_RESTRICTED_OPERATION);
	}
	owned->nest_level = NewGUCNestLevel();
	nw_restrict_search_path();

	owned->index = try_relation_open(relid, AccessShareLock);
	if (owned->index == NULL || (OidIsValid(heapid) && owned->heap == NULL))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
		                errmsg("relation with OID %u does not exist", relid)));
	if (owned->index->rd_rel->relkind != RELKIND_INDEX || !nw_index_is_ours(owned->index))
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
		                errmsg("\"%s\" is not an nw index", RelationGetRelationName(owned->index)),
		                owned->index->rd_rel->relkind == RELKIND_PARTITIONED_INDEX
		                    ? errhint("Name the index of a partition.")
		                    : 0));
	if (owned->heap == NULL || heapid != IndexGetRelation(relid, false))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
		                errmsg("could not open the table of index \"%s\"",
		                       RelationGetRelationName(owned->index))));
	check_owner(relid, owned->userid);
}

void
nw_index_close_owned(NwOwned *owned)
{
	relation_close(owned->index, NoLock);
	table_close(owned->heap, NoLock);
	AtEOXact_GUC(false, owned->nest_level);
	SetUserIdAndSecContext(owned->userid, owned->sec_context);
}

/* What the pages of a list hold. */
typedef struct Contents
{
	int64 pages;
	int64 slots;
	int64 rows;
	int64 late; /* rows that the list's spread does not cover */
} Contents;

/*
 * Count what is on the code pages of a list, and the rows of each class, where
 * room for so many is given.
 */
static Contents
count_list(Relation index, const NwMeta *meta, const NwLayout *layout, uint32 list,
           const NwListData *data, uint32 *class_rows, uint32 nclasses)
{
	Contents contents = {0, 0, 0, 0};
	BlockNumber block = data->first_page;

	for (uint32 nth = 0; BlockNumberIsValid(block); nth++)
	{
		Buffer buffer = nw_codes_read(index, meta, layout, block, list, nth, BUFFER_LOCK_SHARE);
		const NwCodePage *codes = NwPageGetCodes(BufferGetPage(buffer));
		NwSlots slots;

		nw_page_slots(BufferGetPage(buffer), layout, &slots);
		for (int i = 0; i < codes->used; i++)
		{
			if (!ItemPointerIsValid(&slots.tid[i]))
				continue;
			contents.late += !nw_slot_is_covered(slots.error[i]);
			if (class_rows && slots.class[i] < nclasses)
				class_rows[slots.class[i]]++;
		}
		contents.pages++;
		contents.slots += codes->used;
		contents.rows += codes->used - codes->nfree;
		block = NwPageGetTail(BufferGetPage(buffer))->next;
		UnlockReleaseBuffer(buffer);
		CHECK_FOR_INTERRUPTS();
	}
	return contents;
}

PG_FUNCTION_INFO_V1(nw_index_lists);

/*
 * nw_index_lists(index regclass)
 * returns table (list int, label text, rows bigint, slots bigint, pages bigint,
 *				  radius float8)
 */
Datum
nw_index_lists(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	NwOwned owned;
	Relation index;
	NwMeta meta;
	NwLayout layout;
	NwTextOut label_out;
	Datum *label;
	int nclasses;

	nw_rows_begin(fcinfo);
	nw_index_open_owned(&owned, PG_GETARG_OID(0), AccessShareLock);
	index = owned.index;
	nw_meta_read(index, &meta, &layout);
	nclasses = nw_labels_read(index, &meta, &label_out, &label);
	for (uint32 list = 0; list < meta.nlists; list++)
	{
		NwListData data;
		Contents contents;
		Datum values[6];
		bool nulls[6] = {false};

		nw_list_read(index, &meta, list, &data);
		contents = count_list(index, &meta, &layout, list, &data, NULL, 0);
		if (list != NW_COMMON_LIST && data.class >= (uint32) nclasses)
			ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
			                errmsg("index \"%s\" is corrupted", RelationGetRelationName(index)),
			                errdetail("List %u belongs to no class.", list),
			                errhint("Please REINDEX it.")));
		nulls[1] = list == NW_COMMON_LIST;
		values[0] = Int32GetDatum(list);
		values[1] =
			nulls[1] ? (Datum) 0 : nw_bytes_datum(nw_text_out(&label_out, label[data.class]));
		values[2] = Int64GetDatum(contents.rows);
		values[3] = Int64GetDatum(contents.slots);
		values[4] = Int64GetDatum(contents.pages);
		values[5] = Float8GetDatum(data.radius);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	nw_index_close_owned(&owned);
	return (Datum) 0;
}

/*
 * Say what REINDEX would mend; NULL where nothing.  Of rows in the common list,
 * some are of classes large enough for lists of their own; the others would stay
 * there.
 */
static const char *
advise(const NwMeta *meta, const Contents *all, int64 unlisted, int64 large)
{
	int64 listed = all->rows - unlisted + large;

	if (all->rows > SMALL_INDEX && large > all->rows * UNLISTED_SHARE &&
	    all->rows > (int64) meta->built_rows * (1 + UNLISTED_SHARE))
		return "many rows belong to classes that came after the index was built";
	if (listed > SMALL_INDEX && listed > meta->built_rows * GROWTH)
		return "the table has outgrown the lists made for it";
	if (all->slots > SMALL_INDEX && all->slots - all->rows > all->slots * FREE_SHARE)
		return "much of the index is free space";
	if (all->rows > SMALL_INDEX && all->late > all->rows * LATE_SHARE)
		return "most rows came after the index was built";
	return NULL;
}

PG_FUNCTION_INFO_V1(nw_index_health);

/*
 * nw_index_health(index regclass)
 * returns one row: classes bigint, lists bigint, rows bigint, built_rows bigint,
 * unlisted_rows bigint, late_rows bigint, fill float8, size bigint, reindex text
 */
Datum
nw_index_health(PG_FUNCTION_ARGS)
{
	NwOwned owned;
	Relation index;
	NwMeta meta;
	NwLayout layout;
	Contents all = {0, 0, 0, 0};
	int64 unlisted = 0;
	int64 large = 0;
	NwLabelCursor labels;
	uint32 nclasses;
	uint32 *class_rows;
	const char *advice;
	TupleDesc desc;
	Datum values[9];
	bool nulls[9] = {false};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	nw_index_open_owned(&owned, PG_GETARG_OID(0), AccessShareLock);
	index = owned.index;
	nw_meta_read(index, &meta, &layout);
	nw_labels_begin(&labels, index, &meta);
	nclasses = nw_labels_count(&labels);
	class_rows =
		palloc_extended(Max(nclasses, 1) * sizeof(uint32), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (uint32 list = 0; list < meta.nlists; list++)
	{
		NwListData data;
		Contents contents;

		nw_list_read(index, &meta, list, &data);
		contents = count_list(index, &meta, &layout, list, &data,
		                      list == NW_COMMON_LIST ? class_rows : NULL, nclasses);
		all.pages += contents.pages;
		all.slots += contents.slots;
		all.rows += contents.rows;
		if (list == NW_COMMON_LIST)
			unlisted = contents.rows;
		else
			all.late += contents.late;
	}
	for (uint32 i = 0; i < nclasses; i++)
		large += class_rows[i] >= NW_SMALL_CLASS ? class_rows[i] : 0;
	advice = advise(&meta, &all, unlisted, large);
	values[0] = Int64GetDatum(nclasses);
	values[1] = Int64GetDatum(meta.nlists - 1);
	values[2] = Int64GetDatum(all.rows);
	values[3] = Int64GetDatum((int64) meta.built_rows);
	values[4] = Int64GetDatum(unlisted);
	values[5] = Int64GetDatum(all.late);
	values[6] = Float8GetDatum(all.slots == 0 ? 1.0 : (double) all.rows / all.slots);
	values[7] = Int64GetDatum((int64) RelationGetNumberOfBlocks(index) * BLCKSZ);
	nulls[8] = advice == NULL;
	values[8] = advice ? CStringGetTextDatum(advice) : (Datum) 0;
	nw_index_close_owned(&owned);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}
