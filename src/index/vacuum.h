/*
 * index/vacuum.h
 *		Take dead rows out of an nw index.
 */
#ifndef NW_INDEX_VACUUM_H
#define NW_INDEX_VACUUM_H

#include "postgres.h"

#include "access/genam.h"

extern IndexBulkDeleteResult *nw_index_bulk_delete(IndexVacuumInfo *info,
                                                   IndexBulkDeleteResult *stats,
                                                   IndexBulkDeleteCallback callback, void *state);
extern IndexBulkDeleteResult *nw_index_vacuum_cleanup(IndexVacuumInfo *info,
                                                      IndexBulkDeleteResult *stats);

#endif /* NW_INDEX_VACUUM_H */
