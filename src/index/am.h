/*
 * index/am.h
 *		The index access method nw.
 */
#ifndef NW_INDEX_AM_H
#define NW_INDEX_AM_H

#include "postgres.h"

#include "utils/rel.h"

extern bool nw_index_is_ours(Relation index);

#endif /* NW_INDEX_AM_H */
