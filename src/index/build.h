/*
 * index/build.h
 *		Build an nw index.
 */
#ifndef NW_INDEX_BUILD_H
#define NW_INDEX_BUILD_H

#include "postgres.h"

#include "access/genam.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"

/* Classes of fewer rows get no list of their own. */
#define NW_SMALL_CLASS 64

/* Phases of a build that pg_stat_progress_create_index shows. */
#define NW_PHASE_SAMPLE 2
#define NW_PHASE_CLUSTER 3
#define NW_PHASE_ASSIGN 4
#define NW_PHASE_SORT 5
#define NW_PHASE_WRITE 6

extern IndexBuildResult *nw_index_build(Relation heap, Relation index, IndexInfo *info);

#endif /* NW_INDEX_BUILD_H */
