/*
 * sql/register.c
 *		The SQL functions that change the registry: nw_register, nw_alter_set,
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
#include "sets/advice.h"
#include "sets/balance.h"
#include "sets/extension.h"
#include "sets/members.h"
#include "sets/registry.h"
#include "sets/scan.h"
#include "sets/tags.h"
#include "sql/args.h"

/* How many rows nw_register looks at, and when a length counts as 1. */
#define SAMPLE_ROWS 100
#define UNIT_TOLERANCE 1e-2

#define TAKEN_HINT "Pass replace => true to register it anew, or change it with nw_alter_set."

PG_FUNCTION_INFO_V1(nw_register);
PG_FUNCTION_INFO_V1(nw_alter_set);
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
		     errhint("Values of 0.02 to 0.06 are usual; nw_calibrate(%s) finds the best"
		             " without more errors.",
		             quote_literal_cstr(set->name))));
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

/* Where a function has the arguments that say what a set is. */
typedef struct Places
{
	int relation;
	int embedding;
	int label;
	int id;
	int weight;
	int kernel;
	int tau;
	int model;
	int balance;
	int temper;
	int tags;
} Places;

/* Change a column where one is named: to none where it is NULL, not where it is ''. */
static void
column_argument(FunctionCallInfo fcinfo, int arg, char **column)
{
	if (PG_ARGISNULL(arg))
		*column = NULL;
	else if (NameStr(*PG_GETARG_NAME(arg))[0] != '\0')
		*column = pstrdup(NameStr(*PG_GETARG_NAME(arg)));
}

/* Change the relation. */
static void
relation_argument(FunctionCallInfo fcinfo, int arg, NwSet *set)
{
	Oid relid = PG_GETARG_OID(arg);

	set->relation = get_rel_name(relid);
	if (set->relation == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
		                errmsg("relation with OID %u does not exist", relid)));
	set->schema = get_namespace_name(get_rel_namespace(relid));
}

/* Change what the arguments say, and nothing else. */
static void
apply_arguments(FunctionCallInfo fcinfo, const Places *place, NwSet *set)
{
	if (!PG_ARGISNULL(place->relation))
		relation_argument(fcinfo, place->relation, set);
	if (!PG_ARGISNULL(place->embedding))
		set->embedding = pstrdup(NameStr(*PG_GETARG_NAME(place->embedding)));
	column_argument(fcinfo, place->label, &set->label);
	column_argument(fcinfo, place->id, &set->id);
	column_argument(fcinfo, place->weight, &set->weight);
	if (!PG_ARGISNULL(place->kernel))
		set->kernel = nw_check_kernel(text_to_cstring(PG_GETARG_TEXT_PP(place->kernel)));
	if (!PG_ARGISNULL(place->tau))
		set->tau = nw_tau_argument(fcinfo, place->tau);
	if (PG_ARGISNULL(place->model))
		set->model = NULL;
	else if (VARSIZE_ANY_EXHDR(PG_GETARG_TEXT_PP(place->model)) > 0)
		set->model = text_to_cstring(PG_GETARG_TEXT_PP(place->model));
	if (!PG_ARGISNULL(place->balance))
		set->balance = nw_balance_check(text_to_cstring(PG_GETARG_TEXT_PP(place->balance)));
	if (!PG_ARGISNULL(place->temper))
		set->temper = nw_temper_argument(fcinfo, place->temper);
	if (!PG_ARGISNULL(place->tags))
		set->tags = PG_GETARG_BOOL(place->tags);
	if (set->balance && set->label == NULL && !nw_set_is_mixture(set))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("set \"%s\" has no labels to balance", set->name)));
}

/* Say whether two sets take their vectors and labels from the same place. */
static bool
same_columns(const NwSet *a, const NwSet *b)
{
	return nw_same_name(a->mode, b->mode) && nw_same_name(a->schema, b->schema) &&
	       nw_same_name(a->relation, b->relation) && nw_same_name(a->embedding, b->embedding) &&
	       nw_same_name(a->label, b->label) && nw_same_name(a->weight, b->weight) &&
	       nw_same_name(a->balance, b->balance) && a->kernel == b->kernel &&
	       (a->dim == b->dim || a->dim == 0 || b->dim == 0);
}

/*
 * Put a set in the place of what it was.  The temperature stays, but no longer counts
 * as found on these rows where they are others.  Diagnoses and prototypes go then,
 * and where rows are named by another column, or for another role.
 */
static void
change_set(Oid schema, const NwSet *old, NwSet *set)
{
	bool same = same_columns(old, set);

	if (!same || set->tau != old->tau || set->temper != old->temper ||
	    (old->model && !nw_same_name(old->model, set->model)))
		set->calibrated.known = false;
	nw_set_change(schema, old, set,
	              !same || !nw_same_name(old->id, set->id) || old->owner != set->owner);
}

/* Find a set's relation, look at some rows, and note their dimensions. */
static void
look_at_rows(Oid schema, NwSet *set, NwSource **source, Sample *sample)
{
	memset(sample, 0, sizeof(Sample));
	*source = nw_source_resolve(schema, set);
	if (set->tags)
		nw_tags_check_type(set, (*source)->label_type);
	nw_scan_run(nw_scan_plan(*source, 0, SAMPLE_ROWS), sample_row, sample);
	set->dim = (*source)->dim > 0 ? (*source)->dim : sample->dim;
}

/* Point out what may be wrong with the rows of a set. */
static void
notice_rows(const NwSource *source, const Sample *sample)
{
	notice_unit_norm(source->set, sample);
	nw_advise_ids(source);
	nw_advise_view(source);
}

/*
 * nw_register(name text, relation regclass, embedding name, label name,
 *			   id name, kernel text, tau float8, weight name,
 *			   replace boolean, model text, balance text, temper float8,
 *			   tags boolean)
 * returns void
 */
Datum
nw_register(PG_FUNCTION_ARGS)
{
	static const Places places = {1, 2, 3, 4, 7, 5, 6, 9, 10, 11, 12};
	Oid schema = nw_extension_schema(fcinfo);
	char *name = nw_text_argument(fcinfo, 0, "name");
	bool replace = !PG_ARGISNULL(8) && PG_GETARG_BOOL(8);
	NwSet set = {.embedding = "embedding",
	             .label = "label",
	             .id = "id",
	             .kernel = NW_EUCLIDEAN,
	             .tau = 1,
	             .temper = 1};
	NwSet *old;
	NwSource *source;
	Sample sample;

	nw_set_check_name(name);
	nw_check_may_register(schema);
	nw_push_fresh_snapshot();
	old = nw_set_find(schema, name);
	if (old && !replace)
		nw_set_report_taken(name, TAKEN_HINT);
	if (old)
	{
		nw_set_check_owner(schema, old);
		if (nw_set_is_mixture(old))
			ereport(ERROR,
			        (errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("set \"%s\" is a mixture", name),
			         errhint("Choose another name, or remove the set with nw_unregister.")));
		set = *old;
		set.set_id = 0;
		set.parent = NULL;
		set.k = 0;
		set.seed = 0;
		set.centroids = false;
		set.distilled.known = false;
	}
	else
		nw_check_argument(fcinfo, places.relation, "relation");
	set.name = name;
	set.mode = "full";
	set.owner = GetUserId();
	apply_arguments(fcinfo, &places, &set);
	look_at_rows(schema, &set, &source, &sample);
	if (old)
		change_set(schema, old, &set);
	else if (!nw_set_insert(schema, &set))
		nw_set_report_taken(set.name, TAKEN_HINT);
	PopActiveSnapshot();
	notice_rows(source, &sample);
	PG_RETURN_VOID();
}

/* Insist that what is to be changed of a set can be. */
static void
check_change(Oid schema, const NwSet *old, const NwSet *set, bool rows_named)
{
	if (nw_set_is_mixture(old) && (rows_named || set->kernel != old->kernel ||
	                               set->tau != old->tau || set->model || set->balance || set->tags))
		nw_members_report(old);
	if (nw_set_is_distilled(old) &&
	    (rows_named || set->kernel != old->kernel || !nw_same_name(set->balance, old->balance) ||
	     set->tags != old->tags))
		ereport(
			ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
		     errmsg("relation, columns, kernel, balance and tags of set \"%s\" cannot be changed",
		            old->name),
		     errdetail("Its prototypes were made of the rows of set \"%s\".", old->parent),
		     errhint("Distill it anew with nw_distill.")));
	if (rows_named || strcmp(old->name, set->name) != 0)
		nw_check_may_register(schema);
}

/*
 * nw_alter_set(name text, new_name text, relation regclass, embedding name,
 *				label name, id name, weight name, kernel text, tau float8,
 *				model text, balance text, temper float8, tags boolean)
 * returns void
 */
Datum
nw_alter_set(PG_FUNCTION_ARGS)
{
	static const Places places = {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
	Oid schema = nw_extension_schema(fcinfo);
	NwSet *old = get_own_set(schema, nw_text_argument(fcinfo, 0, "name"));
	NwSet set = *old;
	bool rows_named = !PG_ARGISNULL(places.relation) || !PG_ARGISNULL(places.embedding);
	NwSource *source = NULL;
	Sample sample;

	/* names a column, or none where there is one */
	for (int arg = places.label; arg <= places.weight; arg++)
		rows_named |= PG_ARGISNULL(arg) || NameStr(*PG_GETARG_NAME(arg))[0] != '\0';
	if (!PG_ARGISNULL(1))
	{
		set.name = nw_text_argument(fcinfo, 1, "new_name");
		nw_set_check_name(set.name);
	}
	apply_arguments(fcinfo, &places, &set);
	check_change(schema, old, &set, rows_named);
	if (rows_named)
	{
		set.set_id = 0;
		look_at_rows(schema, &set, &source, &sample);
	}
	else if (set.tags && !old->tags)
		nw_tags_check_type(&set, nw_source_resolve(schema, &set)->label_type);
	change_set(schema, old, &set);
	PopActiveSnapshot();
	if (source)
		notice_rows(source, &sample);
	PG_RETURN_VOID();
}

/* Warn of a mixture that a set is missing in. */
static void
warn_mixture(const NwSet *set, void *arg)
{
	const char *member = arg;

	if (nw_set_has_member(set, member))
		ereport(
			WARNING,
			(errmsg("set \"%s\" was a member of mixture \"%s\"", member, set->name),
		     errdetail("The mixture answers nothing until there is a set of that name again.")));
}

/* nw_unregister(name text) returns void */
Datum
nw_unregister(PG_FUNCTION_ARGS)
{
	Oid schema = nw_extension_schema(fcinfo);
	char *name = nw_text_argument(fcinfo, 0, "name");

	nw_set_delete(schema, get_own_set(schema, name));
	nw_set_each(schema, warn_mixture, name);
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
	NwSet *old = get_own_set(schema, name);
	NwSet set = *old;

	if (nw_set_is_mixture(old))
		nw_members_report(old);
	set.tau = tau;
	change_set(schema, old, &set);
	PopActiveSnapshot();
	PG_RETURN_VOID();
}
