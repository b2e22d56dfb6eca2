/*
 * sql/distill.c
 *		Summarise a set by a few prototypes for each class: nw_distill.
 *
 * Rows are put in an order of their own (by label, vector and id) before
 * anything is drawn or summed, so the result depends on the rows and the seed
 * alone.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "math/kmeans.h"
#include "predict/prototypes.h"
#include "sets/extension.h"
#include "sets/state.h"
#include "sql/args.h"
#include "sql/cross_fit.h"
#include "sql/distill_class.h"
#include "sql/progress.h"

/* Classes that a notice names. */
#define NAMED_CLASSES 5

PG_FUNCTION_INFO_V1(nw_distill);

static NwDistillMode
mode_argument(const char *name)
{
	if (strcmp(name, "random") == 0)
		return NW_DISTILL_RANDOM;
	if (strcmp(name, "cluster") == 0)
		return NW_DISTILL_CLUSTER;
	if (strcmp(name, "closest") == 0)
		return NW_DISTILL_CLOSEST;
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("unknown mode \"%s\"", name),
	                errhint("The modes are random, cluster, closest.")));
	return NW_DISTILL_RANDOM; /* keep the compiler quiet */
}

static bool
weights_argument(const char *name)
{
	if (strcmp(name, "members") == 0)
		return true;
	if (strcmp(name, "equal") != 0)
		ereport(ERROR,
		        (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("unknown weights \"%s\"", name),
		         errhint("The choices are equal and members.")));
	return false;
}

/* Say that some classes are smaller than k. */
static void
notice_small_classes(const NwDistillTask *task, const int *order)
{
	const NwSupport *support = task->support;
	StringInfoData names;
	int small = 0;

	initStringInfo(&names);
	for (int i = 0; i < support->labels->n; i++)
	{
		NwBytes label = support->labels->text[order[i]];

		if (support->class_start[i + 1] - support->class_start[i] >= task->k)
			continue;
		if (small++ < NAMED_CLASSES)
			appendStringInfo(&names, "%s\"%.*s\"", small > 1 ? ", " : "", label.len, label.data);
	}
	if (small > 0)
		ereport(NOTICE, (errmsg_plural("%d class has fewer than %d rows",
		                               "%d classes have fewer than %d rows", small, small, task->k),
		                 errdetail("All rows of such a class become prototypes: %s%s.", names.data,
		                           small > NAMED_CLASSES ? " and others" : "")));
}

/* Distill every class and store the prototypes; return how many. */
static int64
store_prototypes(const NwDistillTask *task, Oid schema, const NwSet *set)
{
	const NwSupport *support = task->support;
	const int *order = nw_labels_order(support->labels);
	MemoryContext class_mcxt =
		AllocSetContextCreate(CurrentMemoryContext, "nwhead class", ALLOCSET_DEFAULT_SIZES);
	int64 stored = 0;

	for (int i = 0; i < support->labels->n; i++)
	{
		MemoryContext caller = MemoryContextSwitchTo(class_mcxt);
		int64 from = support->class_start[i];
		int n = (int) (support->class_start[i + 1] - from);
		int64 *rows = palloc_extended(sizeof(int64) * n, MCXT_ALLOC_HUGE);
		NwClassPrototypes *prototypes;

		nw_progress("distilling class", i + 1, support->labels->n);
		for (int j = 0; j < n; j++)
			rows[j] = from + j;
		prototypes = nw_distill_class(task, order[i], rows, n);
		for (int c = 0; c < prototypes->n; c++)
		{
			int64 row = prototypes->row[c];
			NwPrototype prototype = {.label = support->labels->text[order[i]],
			                         .ordinal = c + 1,
			                         .x = prototypes->x + (Size) c * support->dim,
			                         .dim = support->dim,
			                         .members = prototypes->members[c],
			                         .source_id = row < 0 ? NULL : nw_support_id(support, row),
			                         .weight = prototypes->weight[c]};

			nw_prototypes_insert(schema, set, &prototype);
			stored++;
		}
		MemoryContextSwitchTo(caller);
		MemoryContextReset(class_mcxt);
	}
	MemoryContextDelete(class_mcxt);
	return stored;
}

/* Register the distilled set, in place of an earlier one where there is. */
static void
register_distilled(Oid schema, const NwSet *old, NwSet *set)
{
	if (old)
		nw_set_change(schema, old, set, true);
	else if (!nw_set_insert(schema, set))
		nw_set_report_taken(set->name, NULL);
}

/*
 * nw_distill(support text, name text, mode text, k int, seed bigint,
 *			  weights text, calibrate boolean) returns bigint
 */
Datum
nw_distill(PG_FUNCTION_ARGS)
{
	Oid schema = nw_extension_schema(fcinfo);
	char *parent = nw_text_argument(fcinfo, 0, "support");
	char *name = nw_text_argument(fcinfo, 1, "name");
	char *mode = nw_text_argument(fcinfo, 2, "mode");
	bool calibrate = PG_ARGISNULL(6) || PG_GETARG_BOOL(6);
	NwDistillTask task = {.mode = mode_argument(mode),
	                      .by_members = weights_argument(nw_text_argument(fcinfo, 5, "weights")),
	                      .restarts = NW_KMEANS_RESTARTS};
	NwSource *source;
	NwSupport *support;
	NwSet *old;
	NwSet set;
	int64 stored;

	nw_check_argument(fcinfo, 3, "k and seed");
	nw_check_argument(fcinfo, 4, "k and seed");
	task.k = PG_GETARG_INT32(3);
	task.seed = PG_GETARG_INT64(4);
	if (task.k < 1)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("k must be at least 1, not %d", task.k)));
	nw_set_check_name(name);

	nw_check_may_register(schema);
	nw_push_fresh_snapshot();
	source = nw_source_resolve(schema, nw_set_get(schema, parent));
	nw_source_check_labelled(source);
	old = nw_set_find(schema, name);
	if (old)
	{
		if (!nw_set_is_distilled(old) || strcmp(name, parent) == 0)
			nw_set_report_taken(name, "Only a distilled set is replaced by distilling anew.");
		nw_set_check_owner(schema, old);
	}

	support = nw_support_read(source, NW_SCAN_LABEL | NW_SCAN_ID | NW_SCAN_WEIGHT,
	                          (Size) maintenance_work_mem * 1024);
	task.support = support;
	if (support == NULL)
		nw_distill_report_memory(
			psprintf("The rows of set \"%s\" take more than %d kB.", parent, maintenance_work_mem));
	nw_support_check_rows(support, source);
	nw_support_sort(support, true);
	notice_small_classes(&task, nw_labels_order(support->labels));

	set = *source->set;
	set.name = name;
	set.owner = GetUserId();
	set.mode = mode;
	set.parent = parent;
	set.weight = NULL;
	set.centroids |= task.mode == NW_DISTILL_CLUSTER;
	set.k = task.k;
	set.seed = task.seed;
	set.dim = support->dim;
	set.distilled = nw_stamp_now(source, support->n);
	set.calibrated.known = false;
	if (calibrate)
	{
		nw_cross_fit(&task, source, &set);
		set.calibrated = set.distilled;
	}
	nw_set_hold(schema, source->set);
	register_distilled(schema, old, &set);
	stored = store_prototypes(&task, schema, &set);
	nw_progress_done();
	PopActiveSnapshot();
	PG_RETURN_INT64(stored);
}
