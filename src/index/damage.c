/*
 * index/damage.c
 *		Report that an nw index is damaged.
 *
 * bytes/ says what is wrong with a page; whoever reads one has it reported here.
 */
#include "postgres.h"

#include "index/damage.h"

/* Complain, and end; detail may be NULL. */
static _Noreturn void
report(const char *message, const char *detail)
{
	ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED), errmsg_internal("%s", message),
	                detail ? errdetail_internal("%s", detail) : 0, errhint("Please REINDEX it.")));
}

/* Complain about an index, with a sentence that says why. */
void
nw_report_damage(Relation index, const char *detail)
{
	report(psprintf("index \"%s\" is corrupted", RelationGetRelationName(index)), detail);
}

/* Complain about a page, with a sentence of bytes/index_page.c. */
void
nw_report_damaged_page(Relation index, BlockNumber block, const char *detail)
{
	report(psprintf("index \"%s\" is corrupted at block %u", RelationGetRelationName(index), block),
	       detail);
}

void
nw_report_damaged_meta(Relation index)
{
	report(psprintf("index \"%s\" has an unexpected meta page", RelationGetRelationName(index)),
	       NULL);
}

void
nw_report_damaged_label(Relation index, BlockNumber block)
{
	report(psprintf("index \"%s\" has a damaged label at block %u", RelationGetRelationName(index),
	                block),
	       NULL);
}

void
nw_report_damaged_tree(Relation index, BlockNumber block)
{
	report(psprintf("index \"%s\" has a damaged tree of classes at block %u",
	                RelationGetRelationName(index), block),
	       NULL);
}

/* Complain about labels that are not as long as the column's type. */
void
nw_report_label_type(Relation index)
{
	report(psprintf("index \"%s\" has labels of another type than its table",
	                RelationGetRelationName(index)),
	       NULL);
}

/* Complain about a row of a class that is not there, or not its list's. */
void
nw_report_wrong_class(Relation index, ItemPointer tid)
{
	nw_report_damage(index,
	                 psprintf("Row (%u,%u) is of the wrong class.", ItemPointerGetBlockNumber(tid),
	                          ItemPointerGetOffsetNumber(tid)));
}

/* Complain about a row that the table should have. */
void
nw_report_lost_row(Relation index, ItemPointer tid)
{
	report(psprintf("row (%u,%u) of index \"%s\" is not in the table",
	                ItemPointerGetBlockNumber(tid), ItemPointerGetOffsetNumber(tid),
	                RelationGetRelationName(index)),
	       NULL);
}
