/*
 * index/number_tree.h
 *		Trees of 64-bit numbers on the pages of an nw index.
 */
#ifndef NW_INDEX_NUMBER_TREE_H
#define NW_INDEX_NUMBER_TREE_H

#include "postgres.h"

#include "storage/bufmgr.h"
#include "utils/rel.h"

extern bool nw_tree_ceiling(Relation index, BlockNumber root, uint64 key, uint64 *found);
extern bool nw_tree_floor(Relation index, BlockNumber root, uint64 key, uint64 *found);
extern Buffer nw_tree_make_room(Relation index, BlockNumber root, uint64 key);
extern void nw_tree_load(Relation index, BlockNumber root, const uint64 *key, int64 n);

#endif /* NW_INDEX_NUMBER_TREE_H */
