/*
 * sql/distill.c
 *		Summarise a set by a few prototypes for each class: nw_distill.
 *
 * Rows are put in an order of their own (by label, vector and id) before
 * anything is drawn or summed, so the result depends on the rows and the seed
 * alone.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "math/elementary.h"
#include "math/kmeans.h"
#include "math/random.h"
#include "math/simd/simd.h"
#include "predict/batch.h"
#include "predict/prototypes.h"
#include "predict/temperature.h"
#include "sql/args.h"
#include "sql/progress.h"

/* Cross-fitting: folds, their restarts, and queries looked at in all. */
#define FOLDS 5
#define FOLD_RESTARTS 3
#define FOLD_QUERIES 2000

/* Classes that a notice names. */
#define NAMED_CLASSES 5

PG_FUNCTION_INFO_V1(nw_distill);

typedef enum DistillMode
{
	MODE_RANDOM,
	MODE_CLUSTER,
	MODE_CLOSEST
} DistillMode;

/* What is asked for. */
typedef struct Task
{
	DistillMode mode;
	int k;
	int64 seed;
	bool by_members; /* a prototype weighs as much as its members */
	int restarts;
	const NwSupport *support; /* in canonical order */
} Task;

/* Prototypes of one class; ordinal and source_id are set by the caller. */
typedef struct Prototypes
{
	int n;
	float *x;       /* [k][dim] */
	int64 *members; /* [k] */
	double *weight; /* [k] */
	int64 *source;  /* [k] row of the support; -1 for a centroid */
} Prototypes;

/* Read the mode argument. */
static DistillMode
mode_argument(const char *name)
{
	if (strcmp(name, "random") == 0)
		return MODE_RANDOM;
	if (strcmp(name, "cluster") == 0)
		return MODE_CLUSTER;
	if (strcmp(name, "closest") == 0)
		return MODE_CLOSEST;
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("unknown mode \"%s\"", name),
	                errhint("The modes are random, cluster, closest.")));
	return MODE_RANDOM; /* keep the compiler quiet */
}

/* Read the weights argument. */
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

/* Let a cancelled statement end. */
static void
check_interrupts(void *arg)
{
	(void) arg;
	CHECK_FOR_INTERRUPTS();
}

/* Insist that what is about to be allocated stays within the bound. */
static void
check_memory(const Task *task, Size more)
{
	Size need = add_size(nw_support_memory(task->support), more);
	Size bound = (Size) maintenance_work_mem * 1024;

	if (need > bound)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
		                errmsg("distilling needs more memory than maintenance_work_mem"),
		                errdetail("It needs at least %zu kB, and may take %d kB.", need / 1024,
		                          maintenance_work_mem),
		                errhint("Raise maintenance_work_mem.")));
}

/*
 * Point to the vectors of some rows; where the kernel compares directions, to
 * copies of length 1.
 */
static const float **
row_vectors(const Task *task, const int64 *rows, int n)
{
	const NwSupport *support = task->support;
	const float **vector;
	float *copy;

	vector = palloc_extended(sizeof(float *) * n, MCXT_ALLOC_HUGE);
	if (!nw_kernel_needs_norms(support->kernel))
	{
		for (int i = 0; i < n; i++)
			vector[i] = nw_support_vector(support, rows[i]);
		return vector;
	}
	check_memory(task, mul_size(n, sizeof(float) * support->dim));
	copy = palloc_extended(sizeof(float) * support->dim * n, MCXT_ALLOC_HUGE);
	for (int i = 0; i < n; i++)
	{
		int place;
		const NwChunk *chunk = nw_support_locate(support, rows[i], &place);
		const float *x = chunk->x + (Size) place * support->dim;

		for (int j = 0; j < support->dim; j++)
			copy[j] = (float) (x[j] * chunk->norm[place]);
		vector[i] = copy;
		copy += support->dim;
	}
	return vector;
}

/* The weight of a row. */
static double
row_weight(const NwSupport *support, int64 row)
{
	int place;
	const NwChunk *chunk = nw_support_locate(support, row, &place);

	return chunk->log_weight ? nw_exp(chunk->log_weight[place]) : 1;
}

/* Make room for the prototypes of a class. */
static Prototypes *
make_prototypes(const Task *task, int k)
{
	Prototypes *result = palloc0(sizeof(Prototypes));

	result->x = palloc_extended(sizeof(float) * k * task->support->dim, MCXT_ALLOC_HUGE);
	result->members = palloc0(sizeof(int64) * k);
	result->weight = palloc0(sizeof(double) * k);
	result->source = palloc(sizeof(int64) * k);
	return result;
}

/* Count a row as a member of a prototype. */
static void
add_member(const Task *task, Prototypes *prototypes, int which, int64 row)
{
	prototypes->members[which]++;
	if (task->by_members)
	{
		prototypes->weight[which] += row_weight(task->support, row);
		if (isinf(prototypes->weight[which]))
			ereport(
				ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			     errmsg(
					 "the weights of a prototype's members add up to more than double precision holds"),
			     errhint(
					 "Weights are relative: divide all of them by a large number, or pass weights => 'equal'.")));
	}
	else
		prototypes->weight[which] = 1;
}

/* Make a real row a prototype. */
static void
set_source(const Task *task, Prototypes *prototypes, int which, int64 row)
{
	memcpy(prototypes->x + (Size) which * task->support->dim, nw_support_vector(task->support, row),
	       sizeof(float) * task->support->dim);
	prototypes->source[which] = row;
}

/* Find the row of the least distance to a point among those not yet taken. */
static int
closest_row(const float *const *vector, int n, int dim, const float *point, const bool *taken)
{
	double *q = palloc(sizeof(double) * dim);
	double least = DBL_MAX;
	int closest = -1;

	for (int j = 0; j < dim; j++)
		q[j] = point[j];
	for (int i = 0; i < n; i++)
	{
		double square;

		if (taken && taken[i])
			continue;
		nw_simd->sqdist(q, vector[i], dim, 1, &square);
		if (square < least)
		{
			least = square;
			closest = i;
		}
		if (i % 4096 == 0)
			CHECK_FOR_INTERRUPTS();
	}
	pfree(q);
	return closest;
}

/*
 * Find the drawn row that is closest to a row; of equals the one with the
 * fewest members so far, so that rows drawn twice over share theirs.
 */
static int
closest_drawn(const Prototypes *drawn, const double *square)
{
	int best = 0;

	for (int c = 1; c < drawn->n; c++)
	{
		if (square[c] < square[best] ||
		    (square[c] == square[best] && drawn->members[c] < drawn->members[best]))
			best = c;
	}
	return best;
}

/* Draw k rows, and give every row to the drawn one it is closest to. */
static Prototypes *
distill_random(const Task *task, const int64 *rows, int n, const float *const *vector, uint64 seed)
{
	int k = Min(task->k, n);
	int dim = task->support->dim;
	Prototypes *result = make_prototypes(task, k);
	double *q = palloc_extended(sizeof(double) * k * dim, MCXT_ALLOC_HUGE);
	double *square = palloc(sizeof(double) * k);
	bool *drawn = palloc0(n);
	NwRandom random;

	nw_random_seed(&random, seed);
	for (int i = 0; i < n && result->n < k; i++)
	{
		if ((int64) nw_random_below(&random, n - i) < k - result->n)
		{
			for (int j = 0; j < dim; j++)
				q[(Size) result->n * dim + j] = vector[i][j];
			drawn[i] = true;
			add_member(task, result, result->n, rows[i]);
			set_source(task, result, result->n++, rows[i]);
		}
	}
	for (int i = 0; i < n; i++)
	{
		if (!drawn[i])
		{
			nw_simd->sqdist_block(q, k, vector[i], dim, 1, square);
			add_member(task, result, closest_drawn(result, square), rows[i]);
		}
		if (i % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
	}
	return result;
}

/* Cluster the rows; replace centroids by real rows where asked to. */
static Prototypes *
distill_cluster(const Task *task, const int64 *rows, int n, const float *const *vector, uint64 seed)
{
	int dim = task->support->dim;
	int k = Min(task->k, n);
	NwKmeans kmeans = {.n = n,
	                   .dim = dim,
	                   .k = k,
	                   .restarts = task->restarts,
	                   .max_iterations = NW_KMEANS_ITERATIONS,
	                   .seed = seed,
	                   .spherical = nw_kernel_needs_norms(task->support->kernel),
	                   .interrupt = check_interrupts};
	Size work_size = nw_kmeans_memory(&kmeans);
	Prototypes *result = make_prototypes(task, k);
	int *assignment = palloc_extended(sizeof(int) * n, MCXT_ALLOC_HUGE);
	int *members = palloc(sizeof(int) * k);
	int *kept = palloc(sizeof(int) * k);
	bool *taken = palloc0(n);
	void *work;

	check_memory(task, work_size);
	work = palloc_extended(work_size, MCXT_ALLOC_HUGE);
	(void) nw_kmeans(&kmeans, vector, work, result->x, assignment, members);
	pfree(work);

	/* fewer distinct rows than clusters leave clusters without members */
	for (int c = 0; c < k; c++)
	{
		kept[c] = members[c] > 0 ? result->n++ : -1;
		if (kept[c] >= 0 && kept[c] != c)
			memcpy(result->x + (Size) kept[c] * dim, result->x + (Size) c * dim,
			       sizeof(float) * dim);
	}
	for (int i = 0; i < n; i++)
		add_member(task, result, kept[assignment[i]], rows[i]);
	for (int c = 0; c < result->n; c++)
	{
		result->source[c] = -1;
		if (task->mode == MODE_CLOSEST)
		{
			int i = closest_row(vector, n, dim, result->x + (Size) c * dim, taken);

			taken[i] = true;
			set_source(task, result, c, rows[i]);
		}
	}
	return result;
}

/* Distill some rows of one class. */
static Prototypes *
distill_rows(const Task *task, int class, const int64 *rows, int n)
{
	NwBytes label = task->support->labels->text[class];
	uint64 key = hash_bytes_extended((const unsigned char *) label.data, label.len, 0);
	uint64 seed = nw_random_derive((uint64) task->seed, key);
	const float **vector = row_vectors(task, rows, n);

	return task->mode == MODE_RANDOM ? distill_random(task, rows, n, vector, seed)
	                                 : distill_cluster(task, rows, n, vector, seed);
}

/* Say that some classes are smaller than k. */
static void
notice_small_classes(const Task *task, const int *order)
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
store_prototypes(const Task *task, Oid schema, const NwSet *set)
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
		Prototypes *prototypes;

		nw_progress("distilling class", i + 1, support->labels->n);
		for (int j = 0; j < n; j++)
			rows[j] = from + j;
		prototypes = distill_rows(task, order[i], rows, n);
		for (int c = 0; c < prototypes->n; c++)
		{
			int place = 0;
			const NwChunk *chunk = prototypes->source[c] < 0
			                           ? NULL
			                           : nw_support_locate(support, prototypes->source[c], &place);
			NwPrototype prototype = {.label = support->labels->text[order[i]],
			                         .ordinal = c + 1,
			                         .x = prototypes->x + (Size) c * support->dim,
			                         .dim = support->dim,
			                         .members = prototypes->members[c],
			                         .source_id = chunk ? chunk->id[place] : NULL,
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

/* One fold: prototypes of the other folds, and rows to ask about. */
typedef struct Fold
{
	NwSupport *prototypes;
	int64 *queries; /* rows of the parent */
	int nqueries;
} Fold;

typedef struct CrossFit
{
	const Task *task;
	Fold fold[FOLDS];
} CrossFit;

/* Ask every fold about the rows that took no part in its prototypes. */
static void
cross_fit_pass(NwTuning *tuning)
{
	CrossFit *fit = tuning->arg;

	for (int f = 0; f < FOLDS; f++)
	{
		Fold *fold = &fit->fold[f];
		MemoryContext mcxt =
			AllocSetContextCreate(CurrentMemoryContext, "nwhead fold", ALLOCSET_DEFAULT_SIZES);
		MemoryContext caller = MemoryContextSwitchTo(mcxt);
		NwBatch batch = {0};

		nw_tuning_attach(tuning, &batch);
		if (fold->prototypes->n > 0)
		{
			nw_batch_open_support(&batch, fold->prototypes);
			for (int i = 0; i < fold->nqueries; i++)
				nw_batch_ask_row(&batch, fit->task->support, fold->queries[i]);
			nw_batch_finish(&batch);
		}
		MemoryContextSwitchTo(caller);
		MemoryContextDelete(mcxt);
	}
}

/* Put the rows of a class in random order. */
static int64 *
shuffle_class(int64 from, int n, uint64 seed)
{
	int64 *rows = palloc_extended(sizeof(int64) * Max(n, 1), MCXT_ALLOC_HUGE);
	NwRandom random;

	nw_random_seed(&random, seed);
	for (int i = 0; i < n; i++)
	{
		int j = (int) nw_random_below(&random, i + 1);

		rows[i] = rows[j];
		rows[j] = from + i;
	}
	return rows;
}

/* Add the prototypes of one class to those of a fold. */
static void
add_to_fold(Fold *fold, int class, const Prototypes *prototypes, int dim)
{
	for (int c = 0; c < prototypes->n; c++)
	{
		NwRow row = {.vector = {prototypes->x + (Size) c * dim, dim},
		             .weight = prototypes->weight[c]};

		nw_support_append(fold->prototypes, &row, class);
	}
}

/* Make the folds: every class is spread evenly over them. */
static void
make_folds(CrossFit *fit, const NwSource *source)
{
	const Task *task = fit->task;
	const NwSupport *support = task->support;
	const int *order = nw_labels_order(support->labels);
	NwSource weighted = *source;
	MemoryContext fold_mcxt =
		AllocSetContextCreate(CurrentMemoryContext, "nwhead class", ALLOCSET_DEFAULT_SIZES);
	int64 keep_every = Max(support->n / FOLD_QUERIES, 1);
	int64 seen = 0;

	/* prototypes always carry a weight, if only 1 */
	weighted.weight = "weight";
	for (int f = 0; f < FOLDS; f++)
	{
		fit->fold[f].prototypes = nw_support_create(
			CurrentMemoryContext, &weighted, NW_SCAN_LABEL | NW_SCAN_WEIGHT, support->labels);
		fit->fold[f].queries = palloc(sizeof(int64) * (support->n / keep_every + 1));
	}
	for (int i = 0; i < support->labels->n; i++)
	{
		int64 from = support->class_start[i];
		int n = (int) (support->class_start[i + 1] - from);
		int64 *rows = shuffle_class(from, n, nw_random_derive((uint64) task->seed, from));
		int64 *others = palloc_extended(sizeof(int64) * Max(n, 1), MCXT_ALLOC_HUGE);

		for (int f = 0; f < FOLDS; f++)
		{
			Fold *fold = &fit->fold[f];
			int nothers = 0;

			for (int j = 0; j < n; j++)
			{
				if (j % FOLDS != f)
					others[nothers++] = rows[j];
				else if (seen++ % keep_every == 0)
					fold->queries[fold->nqueries++] = rows[j];
			}
			nw_progress("calibrating class", i + 1, support->labels->n);
			if (nothers > 0)
			{
				MemoryContext caller = MemoryContextSwitchTo(fold_mcxt);

				add_to_fold(fold, order[i], distill_rows(task, order[i], others, nothers),
				            support->dim);
				MemoryContextSwitchTo(caller);
				MemoryContextReset(fold_mcxt);
			}
		}
		pfree(rows);
		pfree(others);
	}
	MemoryContextDelete(fold_mcxt);
	for (int f = 0; f < FOLDS; f++)
		nw_support_sort(fit->fold[f].prototypes, true);
}

/* Find the temperature for prototypes made as the task says. */
static double
cross_fit_tau(const Task *task, const NwSource *source, double before)
{
	Task fold_task = *task;
	CrossFit fit = {.task = &fold_task};
	NwTuning tuning = {.pass = cross_fit_pass, .arg = &fit, .mcxt = CurrentMemoryContext};

	fold_task.restarts = FOLD_RESTARTS;
	make_folds(&fit, source);
	return nw_tune(&tuning, before, 0, 0, 100).tau;
}

/* Register the distilled set, in place of an earlier one where there is. */
static void
register_distilled(Oid schema, const NwSet *old, NwSet *set)
{
	if (old)
	{
		nw_set_replace(schema, old, set);
		return;
	}
	if (!nw_set_insert(schema, set))
		ereport(ERROR, (errcode(ERRCODE_DUPLICATE_OBJECT),
		                errmsg("set \"%s\" is already registered", set->name)));
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
	Task task = {.mode = mode_argument(mode),
	             .by_members = weights_argument(nw_text_argument(fcinfo, 5, "weights")),
	             .restarts = NW_KMEANS_RESTARTS};
	NwSource *source;
	NwSupport *support;
	NwSet *old;
	NwSet set;
	int64 stored;

	if (PG_ARGISNULL(3) || PG_ARGISNULL(4))
		ereport(ERROR,
		        (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("k and seed must not be null")));
	task.k = PG_GETARG_INT32(3);
	task.seed = PG_GETARG_INT64(4);
	if (task.k < 1)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("k must be at least 1, not %d", task.k)));
	if (name[0] == '\0')
		ereport(ERROR, (errcode(ERRCODE_INVALID_NAME), errmsg("name must not be empty")));

	nw_check_may_register(schema);
	nw_push_fresh_snapshot();
	source = nw_source_resolve(schema, nw_set_get(schema, parent));
	nw_source_check_labelled(source);
	old = nw_set_find(schema, name);
	if (old)
	{
		if (!nw_set_is_distilled(old) || strcmp(name, parent) == 0)
			ereport(ERROR, (errcode(ERRCODE_DUPLICATE_OBJECT),
			                errmsg("set \"%s\" is already registered", name),
			                errhint("Only a distilled set is replaced by distilling anew.")));
		nw_set_check_owner(schema, old);
	}

	support = nw_support_read(source, NW_SCAN_LABEL | NW_SCAN_ID | NW_SCAN_WEIGHT,
	                          (Size) maintenance_work_mem * 1024);
	task.support = support;
	if (support == NULL)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
		                errmsg("distilling needs more memory than maintenance_work_mem"),
		                errdetail("The rows of set \"%s\" take more than %d kB.", parent,
		                          maintenance_work_mem),
		                errhint("Raise maintenance_work_mem.")));
	nw_support_check_rows(support, source);
	nw_support_sort(support, true);
	notice_small_classes(&task, nw_labels_order(support->labels));

	set = *source->set;
	set.name = name;
	set.owner = GetUserId();
	set.mode = mode;
	set.parent = parent;
	set.weight = NULL;
	set.centroids |= task.mode == MODE_CLUSTER;
	set.k = task.k;
	set.seed = task.seed;
	set.dim = support->dim;
	if (calibrate)
		set.tau = cross_fit_tau(&task, source, set.tau);
	nw_set_hold(schema, source->set);
	register_distilled(schema, old, &set);
	stored = store_prototypes(&task, schema, &set);
	nw_progress_done();
	PopActiveSnapshot();
	PG_RETURN_INT64(stored);
}
