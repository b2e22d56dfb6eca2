/*
 * nwindex_info.h
 *		What the functions that look into an nw index share.
 */
#ifndef NW_NWINDEX_INFO_H
#define NW_NWINDEX_INFO_H

#include "postgres.h"

#include "utils/rel.h"

/* An index of fewer rows needs no advice. */
#define SMALL_INDEX		1000

/* Open an nw index that the caller owns: its labels and vectors are data. */
extern Relation nw_index_open_owned(Oid relid);

#endif							/* NW_NWINDEX_INFO_H */
