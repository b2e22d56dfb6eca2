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
#include "access/relscan.h"
#include "commands/progress.h"
#include "commands/vacuum.h"
#include "fmgr.h"
#include "nodes/pathnodes.h"
#include "utils/rel.h"

#include "compat.h"
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

/* There is no scan, though the server wants functions for one. */
static void
refuse_scan(Relation index)
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
	                errmsg("index \"%s\" cannot be scanned", RelationGetRelationName(index))));
}

static IndexScanDesc
begin_scan(Relation index, int nkeys, int norderbys)
{
	(void) nkeys;
	(void) norderbys;
	refuse_scan(index);
	return NULL;
}

static void
rescan(IndexScanDesc scan, ScanKey keys, int nkeys, ScanKey orderbys, int norderbys)
{
	(void) keys;
	(void) nkeys;
	(void) orderbys;
	(void) norderbys;
	refuse_scan(scan->indexRelation);
}

static void
end_scan(IndexScanDesc scan)
{
	refuse_scan(scan->indexRelation);
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
	static const IndexAmRoutine am = {
		.type = T_IndexAmRoutine,
		.amcaninclude = true,
		.amoptionalkey = true,
		.amparallelvacuumoptions = VACUUM_OPTION_PARALLEL_BULKDEL,
		.amkeytype = InvalidOid,
		.ambuild = nw_index_build,
		.ambuildempty = nw_index_build_empty,
		.aminsert = nw_index_insert,
		.ambulkdelete = nw_index_bulk_delete,
		.amvacuumcleanup = nw_index_vacuum_cleanup,
		.amcostestimate = estimate_cost,
		.amoptions = nw_index_options,
		.ambuildphasename = name_phase,
		.amvalidate = validate_opclass,
		.ambeginscan = begin_scan,
		.amrescan = rescan,
		.amendscan = end_scan,
	};

	(void) fcinfo;
	PG_RETURN_POINTER(nw_index_routine(&am));
}
