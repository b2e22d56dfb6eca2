/*
 * sql/typicality.c
 *		How far queries are from everything a set has: nw_learn_typicality and
 *		nw_drift.
 */
#include "postgres.h"

#include <math.h>

#include "utils/snapmgr.h"

#include "grow.h"
#include "math/sample.h"
#include "predict/statement_cache.h"
#include "predict/typicality.h"
#include "rows.h"
#include "sql/args.h"
#include "sql/progress.h"
#include "sql/set_pair.h"

/* Distances that are stored, at most. */
#define MAX_DISTANCES 20000

/* Below this probability a difference is not taken for chance. */
#define DRIFT_LEVEL 0.01

PG_FUNCTION_INFO_V1(nw_learn_typicality);
PG_FUNCTION_INFO_V1(nw_drift);

/* Distances of queries to their k-th neighbours. */
typedef struct Distances
{
	MemoryContext mcxt;
	double *item; /* [n] */
	int n;
	int allocated;
	int64 total; /* how many there will be; -1 where unknown */
} Distances;

/* Note the distance of one query. */
static void
add_distance(const NwAnswer *answer, void *arg)
{
	Distances *distances = arg;

	if (distances->n == PG_INT32_MAX)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("too many queries")));
	NW_RESERVE(distances->mcxt, distances->item, distances->allocated, (int64) distances->n + 1);
	distances->item[distances->n++] =
		nw_nearest_distance(&answer->tally.nearest, &answer->tally.query);
	nw_progress("measuring query", distances->n, distances->total);
}

/* Measure rows of the set itself, each without that row; a sample where they are many. */
static void
measure_own_rows(Distances *distances, const NwSetPair *pair, NwBatch *batch)
{
	NwSupport *support;
	NwSample sample;

	if (nw_set_is_distilled(pair->support->set))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("set \"%s\" cannot learn from its own prototypes",
		                       pair->support->set->name),
		                errdetail("Prototypes lie farther apart than queries are from them."),
		                errhint("Name a set of queries.")));
	support =
		nw_support_read_sorted(pair->support, NW_SCAN_LABEL | NW_SCAN_WEIGHT, nw_cache_bound());
	batch->leave_one_out = true;
	nw_batch_open_support(batch, support);
	nw_sample_begin(&sample, support->n, MAX_DISTANCES);
	distances->total = Min(support->n, MAX_DISTANCES);
	for (int64 row = 0; row < support->n; row++)
	{
		if (nw_sample_next(&sample))
			nw_batch_ask_own(batch, row);
	}
	nw_batch_finish(batch);
}

/* Put the smaller distance first, for qsort. */
static int
compare_distances(const void *a, const void *b)
{
	double x = *(const double *) a;
	double y = *(const double *) b;

	return (x > y) - (x < y);
}

/* Keep a sample of the distances, in their order. */
static void
thin_out(Distances *distances)
{
	NwSample sample;
	int kept = 0;

	nw_sample_begin(&sample, distances->n, MAX_DISTANCES);
	for (int i = 0; i < distances->n; i++)
	{
		if (nw_sample_next(&sample))
			distances->item[kept++] = distances->item[i];
	}
	distances->n = kept;
}

/* Measure how far queries are from the set, or its own rows from each other. */
static void
measure(Distances *distances, const NwSetPair *pair, int k)
{
	NwTypical nothing_yet = {.k = k};
	NwBatch batch;

	memset(distances, 0, sizeof(Distances));
	distances->mcxt = CurrentMemoryContext;
	distances->total = -1;
	nw_set_pair_batch(pair, &batch, add_distance, distances);
	batch.typical = &nothing_yet;
	if (pair->queries)
		nw_batch_run(&batch, pair->queries);
	else
		measure_own_rows(distances, pair, &batch);
	nw_progress_done();

	if (distances->n == 0)
		ereport(ERROR,
		        (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
		         errmsg("set \"%s\" has no row with an embedding", pair->queries->set->name)));
	qsort(distances->item, distances->n, sizeof(double), compare_distances);
	if (isinf(distances->item[distances->n - 1]))
		ereport(ERROR,
		        (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
		         errmsg("set \"%s\" has too few supports for k = %d", pair->support->set->name, k),
		         errdetail("Some rows have no neighbour of that number."),
		         errhint("Choose a smaller k.")));
	thin_out(distances);
}

/* Read which neighbour's distance counts. */
static int
neighbour_argument(FunctionCallInfo fcinfo, int arg)
{
	int k;

	nw_check_argument(fcinfo, arg, "k");
	k = PG_GETARG_INT32(arg);
	if (k < 1 || k > NW_NEIGHBOURS_MAX)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("k must be between 1 and %d, not %d", NW_NEIGHBOURS_MAX, k)));
	return k;
}

/*
 * nw_learn_typicality(support text, queries text, k int, leave_one_out boolean)
 * returns (support, queries, k, n, median_distance, largest_distance, least_typicality)
 */
Datum
nw_learn_typicality(PG_FUNCTION_ARGS)
{
	int k = neighbour_argument(fcinfo, 2);
	TupleDesc desc = nw_row_type(fcinfo);
	NwSetPair pair;
	Distances distances;
	Datum values[7];
	bool nulls[7] = {false};

	nw_push_fresh_snapshot();
	nw_set_pair_init(&pair, fcinfo, 0, 1, 3);
	nw_set_check_owner(pair.schema, pair.support->set);
	measure(&distances, &pair, k);
	nw_typical_store(pair.schema, pair.support->set, pair.queries ? pair.queries->set->name : NULL,
	                 &(NwTypical) {.k = k, .n = distances.n, .distance = distances.item});
	PopActiveSnapshot();

	values[0] = CStringGetTextDatum(pair.support->set->name);
	values[1] =
		CStringGetTextDatum(pair.queries ? pair.queries->set->name : pair.support->set->name);
	values[2] = Int32GetDatum(k);
	values[3] = Int64GetDatum(distances.n);
	values[4] = Float8GetDatum(distances.item[(distances.n - 1) / 2]);
	values[5] = Float8GetDatum(distances.item[distances.n - 1]);
	values[6] = Float8GetDatum(nw_typicality(1, distances.n));
	return nw_row_datum(desc, values, nulls);
}

/* Count the rank of one query. */
static void
add_rank(const NwAnswer *answer, void *arg)
{
	NwDrift *drift = arg;

	drift->count[nw_tally_rank(&answer->tally) - 1]++;
	drift->queries++;
}

/* Say in a word what the queries are like. */
static const char *
drift_verdict(double chance, double farther, double closer)
{
	if (chance >= DRIFT_LEVEL)
		return "alike";
	return farther >= closer ? "farther" : "closer";
}

/*
 * nw_drift(support text, queries text, leave_one_out boolean)
 * returns (support, queries, k, n, mean_typicality, below_1_percent, below_5_percent,
 * ks, p_value, verdict)
 */
Datum
nw_drift(PG_FUNCTION_ARGS)
{
	TupleDesc desc;
	NwSetPair pair;
	NwBatch batch;
	NwDrift drift = {0};
	double ks;
	double farther;
	double closer;
	double chance;
	Datum values[10];
	bool nulls[10] = {false};

	nw_check_argument(fcinfo, 1, "queries");
	desc = nw_row_type(fcinfo);
	nw_set_pair_init(&pair, fcinfo, 0, 1, 2);
	nw_set_pair_batch(&pair, &batch, add_rank, &drift);
	batch.typical = nw_typical_read(pair.schema, pair.support->set);
	if (batch.typical == NULL)
		nw_report_no_typicality(pair.support->set->name);
	drift.typical = batch.typical;
	drift.count = palloc0(((Size) drift.typical->n + 1) * sizeof(int64));
	nw_batch_run(&batch, pair.queries);

	values[0] = CStringGetTextDatum(pair.support->set->name);
	values[1] = CStringGetTextDatum(pair.queries->set->name);
	values[2] = Int32GetDatum(batch.typical->k);
	values[3] = Int64GetDatum(drift.queries);
	if (drift.queries == 0)
		memset(nulls + 4, true, 6 * sizeof(bool));
	else
	{
		ks = nw_drift_distance(&drift, &farther, &closer);
		chance = nw_drift_chance(&drift, ks);
		values[4] = Float8GetDatum(nw_drift_mean(&drift));
		values[5] = Float8GetDatum((double) nw_drift_below(&drift, 0.01) / (double) drift.queries);
		values[6] = Float8GetDatum((double) nw_drift_below(&drift, 0.05) / (double) drift.queries);
		values[7] = Float8GetDatum(ks);
		values[8] = Float8GetDatum(chance);
		values[9] = CStringGetTextDatum(drift_verdict(chance, farther, closer));
	}
	return nw_row_datum(desc, values, nulls);
}
