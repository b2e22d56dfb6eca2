/*
 * sql/register.c
 *		The SQL functions that change the registry: nw_register,
 *		nw_unregister and nw_set_tau.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "math/simd/simd.h"
#include "sets/extension.h"
#include "sets/registry.h"
#include "sets/scan.h"
#include "sql/args.h"

/* How many rows nw_register looks at, and when a length counts as 1. */
#define SAMPLE_ROWS 100
#define UNIT_TOLERANCE 1e-2

PG_FUNCTION_INFO_V1(nw_register);
PG_FUNCTION_INFO_V1(nw_unregister);
PG_FUNCTION_INFO_V1(nw_set_tau);

/* What a sample of a set's embeddings looks like. */
typedef struct Sample
{
	int n;
	int dim;
	int unit; /* rows of length 1 */
} Sample;

/* Look at one embedding of the sample. */
static void
sample_row(const NwRow *row, void *arg)
{
	Sample *sample = arg;
	double square;

	nw_simd->sqnorm(row->vector.x, row->vector.dim, 1, &square);
	if (fabs(sqrt(square) - 1) < UNIT_TOLERANCE)
		sample->unit++;
	sample->dim = row->vector.dim;
	sample->n++;
}

/*
 * Point out embeddings whose distances are too small for the default
 * temperature to tell classes apart.
 */
static void
notice_unit_norm(const NwSet *set, const Sample *sample)
{
	if (set->tau != 1 || set->kernel == NW_DOT || sample->n == 0)
		return;
	if (sample->unit == sample->n || nw_kernel_needs_norms(set->kernel))
		ereport(
			NOTICE,
			(errmsg("set \"%s\" compares vectors of length 1, for which tau = 1 is too large",
		            set->name),
		     errdetail(
				 "Distances between such vectors are at most 2, so all weights would be nearly equal."),
		     errhint("Values of 0.02 to 0.06 are usual; nw_calibrate(%s) finds the best.",
		             quote_literal_cstr(set->name))));
}

/* Read a column name argument; NULL where it is NULL. */
static char *
name_argument(FunctionCallInfo fcinfo, int arg)
{
	return PG_ARGISNULL(arg) ? NULL : pstrdup(NameStr(*PG_GETARG_NAME(arg)));
}

/* Read the arguments of nw_register. */
static NwSet *
set_from_arguments(FunctionCallInfo fcinfo)
{
	NwSet *set = palloc0(sizeof(NwSet));
	Oid relid;

	set->name = nw_text_argument(fcinfo, 0, "name");
	nw_set_check_name(set->name);
	nw_check_argument(fcinfo, 1, "relation");
	relid = PG_GETARG_OID(1);
	set->relation = get_rel_name(relid);
	if (set->relation == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
		                errmsg("relation with OID %u does not exist", relid)));
	set->schema = get_namespace_name(get_rel_namespace(relid));
	nw_check_argument(fcinfo, 2, "embedding");
	set->embedding = name_argument(fcinfo, 2);
	set->label = name_argument(fcinfo, 3);
	set->id = name_argument(fcinfo, 4);
	set->kernel = nw_check_kernel(nw_text_argument(fcinfo, 5, "kernel"));
	set->tau = nw_tau_argument(fcinfo, 6);
	set->weight = name_argument(fcinfo, 7);
	set->mode = "full";
	set->owner = GetUserId();
	return set;
}

/*
 * nw_register(name text, relation regclass, embedding name, label name,
 *			   id name, kernel text, tau float8, weight name,
 *			   replace boolean) returns void
 */
Datum
nw_register(PG_FUNCTION_ARGS)
{
	Oid schema = nw_extension_schema(fcinfo);
	NwSet *set = set_from_arguments(fcinfo);
	bool replace = !PG_ARGISNULL(8) && PG_GETARG_BOOL(8);
	NwSet *old;
	NwSource *source;
	Sample sample = {0};

	nw_check_may_register(schema);
	nw_push_fresh_snapshot();
	source = nw_source_resolve(schema, set);
	nw_scan_run(nw_scan_plan(source, 0, SAMPLE_ROWS), sample_row, &sample);
	set->dim = source->dim > 0 ? source->dim : sample.dim;

	old = replace ? nw_set_find(schema, set->name) : NULL;
	if (old)
	{
		nw_set_check_owner(schema, old);
		nw_set_replace(schema, old, set);
	}
	else if (!nw_set_insert(schema, set))
		nw_set_report_taken(set->name, "Pass replace => true to register it anew.");
	PopActiveSnapshot();

	notice_unit_norm(set, &sample);
	PG_RETURN_VOID();
}

/* Find a set that the caller may change, under a fresh snapshot. */
static NwSet *
get_own_set(Oid schema, const char *name)
{
	NwSet *set;

	nw_push_fresh_snapshot();
	set = nw_set_get(schema, name);
	nw_set_check_owner(schema, set);
	return set;
}

/* nw_unregister(name text) returns void */
Datum
nw_unregister(PG_FUNCTION_ARGS)
{
	Oid schema = nw_extension_schema(fcinfo);
	char *name = nw_text_argument(fcinfo, 0, "name");

	nw_set_delete(schema, get_own_set(schema, name));
	PopActiveSnapshot();
	PG_RETURN_VOID();
}

/* nw_set_tau(name text, tau float8) returns void */
Datum
nw_set_tau(PG_FUNCTION_ARGS)
{
	Oid schema = nw_extension_schema(fcinfo);
	char *name = nw_text_argument(fcinfo, 0, "name");
	double tau = nw_tau_argument(fcinfo, 1);

	nw_set_update_tau(schema, get_own_set(schema, name), tau);
	PopActiveSnapshot();
	PG_RETURN_VOID();
}
