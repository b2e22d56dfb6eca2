/*
 * index/insert.h
 *		Add a row to an nw index.
 */
#ifndef NW_INDEX_INSERT_H
#define NW_INDEX_INSERT_H

#include "postgres.h"

#include "access/genam.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"

extern bool nw_index_insert(Relation index, Datum *values, bool *isnull, ItemPointer tid,
                            Relation heap, IndexUniqueCheck unique, bool unchanged,
                            IndexInfo *info);

#endif /* NW_INDEX_INSERT_H */
