/*
 * index/am.c
 *		The access method nw: its handler.
 *
 * The planner never uses an nw index: it supports no operator and no scan.
 * Predictions read it directly: see read.c.
 */
#include "postgres.h"

#include <float.h>

#include "access/amapi.h"
#include "commands/progress.h"
#include "commands/vacuum.h"
#include "fmgr.h"
#include "nodes/pathnodes.h"

#include "index/am.h"
#include "index/build.h"
#include "index/build_pages.h"
#include "index/definition.h"
#include "index/insert.h"
#include "index/vacuum.h"

/* Accept any operator class: there is nothing in it to be wrong. */
static bool
validate_opclass(Oid opclass)
{
	(void) opclass;
	return true;
}

/* Keep the planner away, should it ever ask. */
static void
estimate_cost(PlannerInfo *root, IndexPath *path, double loops, Cost *startup, Cost *total,
              Selectivity *selectivity, double *correlation, double *pages)
{
	(void) root;
	(void) path;
	(void) loops;
	*startup = *total = DBL_MAX;
	*selectivity = 1;
	*correlation = 0;
	*pages = 0;
}

/* Name a phase of a build for pg_stat_progress_create_index. */
static char *
name_phase(int64 phase)
{
	switch (phase)
	{
		case PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE:
			return "initializing";
		case NW_PHASE_SAMPLE:
			return "counting classes and sampling rows";
		case NW_PHASE_CLUSTER:
			return "clustering the sample";
		case NW_PHASE_ASSIGN:
			return "assigning rows to lists";
		case NW_PHASE_SORT:
			return "sorting rows by list";
		case NW_PHASE_WRITE:
			return "writing pages";
		default:
			return NULL;
	}
}

/* Say whether a relation is an nw index. */
bool
nw_index_is_ours(Relation index)
{
	return index->rd_indam && index->rd_indam->ambuild == nw_index_build;
}

PG_FUNCTION_INFO_V1(nw_handler);

/* nw_handler(internal) returns index_am_handler */
Datum
nw_handler(PG_FUNCTION_ARGS)
{
	IndexAmRoutine *am = makeNode(IndexAmRoutine);

	(void) fcinfo;
	am->amcaninclude = true;
	am->amoptionalkey = true;
	am->amparallelvacuumoptions = VACUUM_OPTION_PARALLEL_BULKDEL;
	am->amkeytype = InvalidOid;
	am->ambuild = nw_index_build;
	am->ambuildempty = nw_index_build_empty;
	am->aminsert = nw_index_insert;
	am->ambulkdelete = nw_index_bulk_delete;
	am->amvacuumcleanup = nw_index_vacuum_cleanup;
	am->amcostestimate = estimate_cost;
	am->amoptions = nw_index_options;
	am->ambuildphasename = name_phase;
	am->amvalidate = validate_opclass;
	PG_RETURN_POINTER(am);
}
