/*
 * index/damage.h
 *		Report that an nw index is damaged: SQLSTATE XX002, with the hint to REINDEX.
 */
#ifndef NW_INDEX_DAMAGE_H
#define NW_INDEX_DAMAGE_H

#include "postgres.h"

#include "storage/block.h"
#include "storage/itemptr.h"
#include "utils/rel.h"

extern _Noreturn void nw_report_damage(Relation index, const char *detail);
extern _Noreturn void nw_report_damaged_page(Relation index, BlockNumber block, const char *detail);
extern _Noreturn void nw_report_damaged_meta(Relation index);
extern _Noreturn void nw_report_damaged_label(Relation index, BlockNumber block);
extern _Noreturn void nw_report_damaged_tree(Relation index, BlockNumber block);
extern _Noreturn void nw_report_label_type(Relation index);
extern _Noreturn void nw_report_wrong_class(Relation index, ItemPointer tid);
extern _Noreturn void nw_report_lost_row(Relation index, ItemPointer tid);

#endif /* NW_INDEX_DAMAGE_H */
