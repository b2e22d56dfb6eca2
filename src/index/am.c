/*
 * index/am.c
 *		The access method nw: its handler and options.
 *
 * The planner never uses an nw index: it supports no operator and no scan.
 * Predictions read it directly, see nwindex_read.c.
 */
#include "postgres.h"

#include <float.h>

#include "access/htup_details.h"
#include "access/reloptions.h"
#include "catalog/pg_index.h"
#include "commands/progress.h"
#include "commands/vacuum.h"
#include "fmgr.h"
#include "nodes/pathnodes.h"

#include "compat.h"
#include "index/am.h"

typedef struct NwIndexOptions
{
	int32 vl_len_;
	int lists;
} NwIndexOptions;

/* Options of nw indexes: a kind of their own. */
static relopt_kind nw_relopt_kind = 0;

/* Make the options known to the server, once. */
static void
define_options(void)
{
	if (nw_relopt_kind != 0)
		return;
	nw_relopt_kind = add_reloption_kind();
	add_int_reloption(nw_relopt_kind, "lists",
	                  "Number of lists for each class; 0 leaves it to the size of the class",
	                  NW_LISTS_AUTO, NW_LISTS_AUTO, NW_LISTS_MAX, AccessExclusiveLock);
}

/* Parse WITH (lists = ...). */
static bytea *
nw_index_options(Datum reloptions, bool validate)
{
	static const relopt_parse_elt table[] = {{.optname = "lists",
	                                          .opttype = RELOPT_TYPE_INT,
	                                          .offset = offsetof(NwIndexOptions, lists)}};

	define_options();
	return (bytea *) build_reloptions(reloptions, validate, nw_relopt_kind, sizeof(NwIndexOptions),
	                                  table, lengthof(table));
}

int
nw_index_lists_option(Relation index)
{
	NwIndexOptions *options = (NwIndexOptions *) index->rd_options;

	return options ? options->lists : NW_LISTS_AUTO;
}

/* Accept any operator class: there is nothing in it to be wrong. */
static bool
nw_index_validate(Oid opclass)
{
	(void) opclass;
	return true;
}

/* Keep the planner away, should it ever ask. */
static void
nw_index_cost(PlannerInfo *root, IndexPath *path, double loops, Cost *startup, Cost *total,
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
nw_index_phase(int64 phase)
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

bool
nw_index_is_ours(Relation index)
{
	return index->rd_indam && index->rd_indam->ambuild == nw_index_build;
}

/*
 * No prediction would use such an index, and whoever looks into it would run
 * its owner's code.  The catalog is asked: to read an expression may be to run
 * it, where it is constant.
 */
void
nw_index_refuse_code(Relation index)
{
	if (!heap_attisnull(index->rd_indextuple, Anum_pg_index_indexprs, NULL))
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		                errmsg("an nw index cannot be on an expression"),
		                errhint("Use CREATE INDEX ... USING nw (embedding) INCLUDE (label).")));
	if (!heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL))
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("an nw index cannot have a predicate"),
		     errhint(
				 "Predictions rest on all rows of a set: leave out WHERE, or index a table of its own.")));
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
	am->amcostestimate = nw_index_cost;
	am->amoptions = nw_index_options;
	am->ambuildphasename = nw_index_phase;
	am->amvalidate = nw_index_validate;
	PG_RETURN_POINTER(am);
}
