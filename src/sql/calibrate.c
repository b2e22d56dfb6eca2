/*
 * sql/calibrate.c
 *		Choose a set's temperature: nw_temperature_sweep and nw_calibrate.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

#include "math/random.h"
#include "predict/cache.h"
#include "predict/temperature.h"
#include "sql/args.h"
#include "sql/set_pair.h"

/* Queries that a calibration looks at: of other sets, and of the set itself. */
#define MAX_QUERIES 2000
#define MAX_OWN_QUERIES 1000

#define MAX_STEPS 10000

PG_FUNCTION_INFO_V1(nw_temperature_sweep);
PG_FUNCTION_INFO_V1(nw_calibrate);

/* Read a temperature argument; 0 where NULL. */
static double
tau_argument(FunctionCallInfo fcinfo, int arg)
{
	double tau;

	if (PG_ARGISNULL(arg))
		return 0;
	tau = PG_GETARG_FLOAT8(arg);
	nw_check_tau(tau);
	return tau;
}

/* Read low, high and steps. */
static void
range_arguments(FunctionCallInfo fcinfo, int arg, bool required, double *low, double *high,
                int *steps)
{
	*low = tau_argument(fcinfo, arg);
	*high = tau_argument(fcinfo, arg + 1);
	if ((*low == 0) != (*high == 0) || (required && *low == 0))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
		                required ? errmsg("low and high must not be null")
		                         : errmsg("low and high must be given together")));
	if (*low > *high)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("low (%g) must not be above high (%g)", *low, *high)));
	if (PG_ARGISNULL(arg + 2))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("steps must not be null")));
	*steps = PG_GETARG_INT32(arg + 2);
	if (*steps < 1 || *steps > MAX_STEPS)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("steps must be between 1 and %d, not %d", MAX_STEPS, *steps)));
}

/*
 * nw_temperature_sweep(support text, queries text, low float8, high float8,
 *						steps int, leave_one_out boolean)
 * returns table (tau, nll, ece, error_rate, n, unseen, support, queries)
 */
Datum
nw_temperature_sweep(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	NwPair pair;
	NwBatch batch = {0};
	NwTuning tuning = {.mcxt = CurrentMemoryContext};
	NwSweep *sweep;
	double low;
	double high;
	double *tau;
	int steps;

	(void) nw_text_argument(fcinfo, 1, "queries");
	range_arguments(fcinfo, 2, true, &low, &high, &steps);
	nw_pair_init(&pair, fcinfo, 0, 1, 5);
	nw_begin_rows(fcinfo);

	tau = palloc(steps * sizeof(double));
	nw_fill_evenly(tau, steps, low, high);
	sweep = nw_sweep_create(tau, steps);
	tuning.sweep = sweep;
	batch.source = pair.support;
	batch.leave_one_out = pair.leave_one_out;
	nw_tuning_attach(&tuning, &batch);
	nw_batch_run(&batch, pair.queries);

	for (int i = 0; i < steps; i++)
	{
		const NwSweepPoint *point = &sweep->point[i];
		int64 seen = sweep->queries - sweep->unseen;
		Datum values[8] = {Float8GetDatum(point->tau),
		                   Float8GetDatum(nw_sweep_nll(sweep, i)),
		                   Float8GetDatum(nw_bins_ece(point->bins)),
		                   Float8GetDatum((double) point->wrong / Max(sweep->queries, 1)),
		                   Int64GetDatum(sweep->queries),
		                   Int64GetDatum(sweep->unseen),
		                   CStringGetTextDatum(pair.support->set->name),
		                   CStringGetTextDatum(pair.queries->set->name)};
		bool nulls[8] = {false};

		nulls[1] = seen == 0;
		nulls[2] = nulls[3] = sweep->queries == 0;
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* What one calibration works on. */
typedef struct Calibration
{
	const NwPair *pair;
	NwSupport *support;
	NwSupport *queries; /* NULL where the support's own rows are */
	int64 *sample;      /* rows of queries, or of support */
	int nsample;
} Calibration;

/* Choose at most max of n rows by a fixed seed, in ascending order. */
static int64 *
choose_sample(int64 n, int max, int *chosen)
{
	int64 *rows = palloc(Max(Min(n, max), 1) * sizeof(int64));
	NwRandom random;
	int64 left = n;

	nw_random_seed(&random, 0);
	*chosen = 0;
	for (int64 i = 0; i < n; i++, left--)
	{
		/* each row with the odds that leave exactly max in the end */
		if ((int64) nw_random_below(&random, left) < Min(n, max) - *chosen)
			rows[(*chosen)++] = i;
	}
	return rows;
}

/* Go over the sample once. */
static void
calibration_pass(NwTuning *tuning)
{
	Calibration *calibration = tuning->arg;
	MemoryContext pass_mcxt =
		AllocSetContextCreate(CurrentMemoryContext, "nwhead calibration", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(pass_mcxt);
	NwBatch batch = {.source = calibration->pair->support,
	                 .leave_one_out =
	                     calibration->queries == NULL || calibration->pair->leave_one_out};

	nw_tuning_attach(tuning, &batch);
	nw_batch_open_support(&batch, calibration->support);
	for (int i = 0; i < calibration->nsample; i++)
	{
		int64 row = calibration->sample[i];

		if (calibration->queries)
			nw_batch_ask_row(&batch, calibration->queries, row);
		else
			nw_batch_ask_own(&batch, row);
	}
	nw_batch_finish(&batch);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(pass_mcxt);
}

/* Read the sets of a calibration, and choose its sample. */
static void
read_sets(Calibration *calibration, const NwPair *pair)
{
	int columns = NW_SCAN_LABEL | NW_SCAN_WEIGHT;

	/* of rows alike in all else, which comes first shows only in their ids */
	if (pair->queries == NULL || pair->leave_one_out)
		columns |= NW_SCAN_ID;
	calibration->pair = pair;
	calibration->support = nw_support_read(pair->support, columns, nw_cache_bound());
	if (calibration->support == NULL)
		nw_support_report_too_big(pair->support);
	nw_support_check_rows(calibration->support, pair->support);
	nw_support_sort(calibration->support, true);
	if (pair->queries)
	{
		nw_source_check_labelled(pair->queries);
		calibration->queries =
			nw_support_read(pair->queries, NW_SCAN_LABEL | NW_SCAN_ID, nw_cache_bound());
		if (calibration->queries == NULL)
			nw_support_report_too_big(pair->queries);
		nw_support_check_rows(calibration->queries, pair->queries);
		nw_support_sort(calibration->queries, true);
		calibration->sample =
			choose_sample(calibration->queries->n, MAX_QUERIES, &calibration->nsample);
	}
	else
	{
		if (pair->support->set->centroids)
			ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			                errmsg("set \"%s\" cannot be calibrated on its own centroids",
			                       pair->support->set->name),
			                errhint("Name a set of labelled queries.")));
		calibration->sample =
			choose_sample(calibration->support->n, MAX_OWN_QUERIES, &calibration->nsample);
	}
}

/*
 * nw_calibrate(support text, queries text, low float8, high float8, steps int,
 *				leave_one_out boolean)
 * returns (support, queries, tau, tau_before, n, nll_before, nll_after,
 * ece_before, ece_after)
 */
Datum
nw_calibrate(PG_FUNCTION_ARGS)
{
	NwPair pair;
	Calibration calibration = {0};
	NwTuning tuning = {.pass = calibration_pass, .arg = &calibration, .mcxt = CurrentMemoryContext};
	NwTuned tuned;
	TupleDesc desc;
	double low;
	double high;
	int steps;
	Datum values[9];
	bool nulls[9] = {false};

	range_arguments(fcinfo, 2, false, &low, &high, &steps);
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");

	nw_push_fresh_snapshot();
	nw_pair_init(&pair, fcinfo, 0, 1, 5);
	nw_set_check_owner(pair.schema, pair.support->set);
	read_sets(&calibration, &pair);
	tuned = nw_tune(&tuning, pair.support->set->tau, low, high, steps);
	if (tuned.flawless)
		ereport(NOTICE,
		        (errmsg("every query is predicted right, so they set no lower bound to tau"),
		         errdetail("A cautious value was chosen."),
		         errhint("Calibrate with queries that are harder, or more of them.")));
	if (tuned.tau != pair.support->set->tau)
		nw_set_update_tau(pair.schema, pair.support->set, tuned.tau);
	PopActiveSnapshot();

	nw_pair_values(&pair, tuned.tau, values);
	values[3] = Float8GetDatum(pair.support->set->tau);
	values[4] = Int64GetDatum(tuned.n);
	values[5] = Float8GetDatum(tuned.nll_before);
	values[6] = Float8GetDatum(tuned.nll);
	values[7] = Float8GetDatum(tuned.ece_before);
	values[8] = Float8GetDatum(tuned.ece);
	nulls[5] = nulls[6] = tuned.seen == 0;
	nulls[7] = nulls[8] = tuned.n == 0;
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}
