/*
 * sql/cross_fit.c
 *		Find temperatures for prototypes.
 *
 * Rows that took part in making prototypes are closer to them than others will
 * be.  So the rows are parted into folds, and those of each fold are asked about
 * with prototypes that were made of the other folds.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "math/random.h"
#include "predict/batch.h"
#include "predict/temperature.h"
#include "sql/cross_fit.h"
#include "sql/progress.h"

/* Folds, restarts of the clustering in each, and queries looked at in all. */
#define FOLDS 5
#define FOLD_RESTARTS 3
#define FOLD_QUERIES 2000

/* One fold: prototypes of the other folds, and rows to ask about. */
typedef struct Fold
{
	NwSupport *prototypes;
	int64 *queries; /* [nqueries] rows of the set that is distilled */
	int nqueries;
} Fold;

/* All folds. */
typedef struct CrossFit
{
	const NwDistillTask *task;
	Fold fold[FOLDS];
} CrossFit;

/* Ask every fold about the rows that took no part in its prototypes: one of so many. */
static void
cross_fit_pass(NwTemperatureSearch *search, int64 every)
{
	CrossFit *fit = search->arg;
	int64 met = 0;

	for (int f = 0; f < FOLDS; f++)
	{
		Fold *fold = &fit->fold[f];
		MemoryContext mcxt =
			AllocSetContextCreate(CurrentMemoryContext, "nwhead fold", ALLOCSET_DEFAULT_SIZES);
		MemoryContext caller = MemoryContextSwitchTo(mcxt);
		NwBatch batch = {0};

		nw_temperature_attach(search, &batch);
		if (fold->prototypes->n > 0)
		{
			nw_batch_open_support(&batch, fold->prototypes);
			for (int i = 0; i < fold->nqueries; i++)
			{
				if (met++ % every == 0)
					nw_batch_ask_row(&batch, fit->task->support, fold->queries[i]);
			}
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
add_to_fold(Fold *fold, int class, const NwClassPrototypes *prototypes, int dim)
{
	for (int c = 0; c < prototypes->n; c++)
	{
		NwRow row = {.vector = {prototypes->x + (Size) c * dim, dim},
		             .weight = prototypes->weight[c]};

		nw_support_append(fold->prototypes, &row, class);
	}
}

/* Make the folds: every class has the same share of each. */
static void
make_folds(CrossFit *fit, const NwSource *source)
{
	const NwDistillTask *task = fit->task;
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

				add_to_fold(fold, order[i], nw_distill_class(task, order[i], others, nothers),
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

/* Give a set the temperatures for prototypes made as the task says. */
void
nw_cross_fit(const NwDistillTask *task, const NwSource *source, NwSet *set)
{
	NwDistillTask fold_task = *task;
	CrossFit fit = {.task = &fold_task};
	NwTemperatureSearch search = {.pass = cross_fit_pass,
	                              .arg = &fit,
	                              .mcxt = CurrentMemoryContext,
	                              .tau = set->tau,
	                              .temper = set->temper};
	NwTemperature found;

	fold_task.restarts = FOLD_RESTARTS;
	make_folds(&fit, source);
	for (int f = 0; f < FOLDS; f++)
	{
		search.queries += fit.fold[f].nqueries;
		search.supports = Max(search.supports, fit.fold[f].prototypes->n);
	}
	found = nw_temperature_search(&search);
	set->tau = found.tau;
	set->temper = found.temper;
}
