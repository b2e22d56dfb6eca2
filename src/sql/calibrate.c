/*
 * sql/calibrate.c
 *		Choose a set's temperature: nw_temperature_sweep and nw_calibrate.
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/snapmgr.h"

#include "math/sample.h"
#include "predict/statement_cache.h"
#include "predict/temperature.h"
#include "rows.h"
#include "sets/members.h"
#include "sets/state.h"
#include "sql/args.h"
#include "sql/progress.h"
#include "sql/set_pair.h"

/* Queries that a calibration looks at; a sample where there are more. */
#define MAX_QUERIES 20000

/* Temperatures that one call may try. */
#define MAX_STEPS 10000

PG_FUNCTION_INFO_V1(nw_temperature_sweep);
PG_FUNCTION_INFO_V1(nw_calibrate);

/* Read a temperature; 0 where it is null. */
static double
tau_or_zero(FunctionCallInfo fcinfo, int arg)
{
	return PG_ARGISNULL(arg) ? 0 : nw_tau_argument(fcinfo, arg);
}

/* Read low, high and steps; low and high are 0 where they may be null and are. */
static void
range_arguments(FunctionCallInfo fcinfo, int arg, bool required, double *low, double *high,
                int *steps)
{
	*low = tau_or_zero(fcinfo, arg);
	*high = tau_or_zero(fcinfo, arg + 1);
	if (required)
	{
		nw_check_argument(fcinfo, arg, "low and high");
		nw_check_argument(fcinfo, arg + 1, "low and high");
	}
	if (PG_ARGISNULL(arg) != PG_ARGISNULL(arg + 1))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
		                errmsg("low and high must be given together")));
	if (*low > *high)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("low (%g) must not be above high (%g)", *low, *high)));
	nw_check_argument(fcinfo, arg + 2, "steps");
	*steps = PG_GETARG_INT32(arg + 2);
	if (*steps < 1 || *steps > MAX_STEPS)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("steps must be between 1 and %d, not %d", MAX_STEPS, *steps)));
}

/* Read what is to be fitted. */
static NwTemperatureFit
fit_argument(FunctionCallInfo fcinfo, int arg)
{
	char *fit = nw_text_argument(fcinfo, arg, "fit");

	if (strcmp(fit, "both") == 0)
		return NW_FIT_BOTH;
	if (strcmp(fit, "tau") == 0)
		return NW_FIT_TAU;
	if (strcmp(fit, "temper") == 0)
		return NW_FIT_TEMPER;
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("unknown fit \"%s\"", fit),
	                errhint("It is 'both', 'tau' or 'temper'.")));
}

/*
 * nw_temperature_sweep(support text, queries text, low float8, high float8,
 *						steps int, leave_one_out boolean)
 * returns table (tau, nll, ece, error_rate, n, unseen, support, queries)
 */
Datum
nw_temperature_sweep(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rows;
	NwSetPair pair;
	NwBatch batch;
	NwTemperatureSearch search = {.mcxt = CurrentMemoryContext};
	NwSweep *sweep;
	double low;
	double high;
	int steps;

	nw_check_argument(fcinfo, 1, "queries");
	range_arguments(fcinfo, 2, true, &low, &high, &steps);
	nw_set_pair_init(&pair, fcinfo, 0, 1, 5);
	rows = nw_rows_begin(fcinfo);

	sweep = nw_temperature_grid(low, high, steps);
	search.sweep = sweep;
	nw_set_pair_batch(&pair, &batch, NULL, NULL);
	nw_temperature_attach(&search, &batch);
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
		nw_rows_put(rows, values, nulls);
	}
	return (Datum) 0;
}

/* What one calibration works on. */
typedef struct Calibration
{
	const NwSetPair *pair;
	NwSupport *support; /* NULL for a mixture */
	NwSupport *queries; /* NULL where the support's own rows are asked about */
	int64 *sample;      /* [nsample] rows of queries, or of support */
	int nsample;
} Calibration;

/* Choose at most max of n rows by a fixed seed, in ascending order. */
static int64 *
choose_sample(int64 n, int max, int *chosen)
{
	int64 *rows = palloc(Max(Min(n, max), 1) * sizeof(int64));
	NwSample sample;

	nw_sample_begin(&sample, n, max);
	*chosen = 0;
	for (int64 i = 0; i < n; i++)
	{
		if (nw_sample_next(&sample))
			rows[(*chosen)++] = i;
	}
	return rows;
}

/* Go over one of so many rows of the sample. */
static void
calibration_pass(NwTemperatureSearch *search, int64 every)
{
	Calibration *calibration = search->arg;
	MemoryContext pass_mcxt =
		AllocSetContextCreate(CurrentMemoryContext, "nwhead calibration", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(pass_mcxt);
	NwBatch batch;

	nw_set_pair_batch(calibration->pair, &batch, NULL, NULL);
	batch.leave_one_out |= calibration->queries == NULL;
	nw_temperature_attach(search, &batch);
	if (calibration->support)
		nw_batch_open_support(&batch, calibration->support);
	else
		nw_batch_open(&batch, nw_cache_bound());
	for (int64 i = 0; i < calibration->nsample; i += every)
	{
		int64 row = calibration->sample[i];

		nw_progress(every > 1 ? "trying query" : "calibrating query", i + 1, calibration->nsample);
		if (calibration->queries)
			nw_batch_ask_row(&batch, calibration->queries, row);
		else
			nw_batch_ask_own(&batch, row);
	}
	/* that there is a row to leave out is for all queries to show */
	if (every > 1)
		batch.same_vector = false;
	nw_batch_finish(&batch);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(pass_mcxt);
}

/* Read the sets of a calibration, and choose its sample. */
static void
read_sets(Calibration *calibration, const NwSetPair *pair)
{
	int columns = NW_SCAN_LABEL | NW_SCAN_WEIGHT;

	/* of rows alike in all else, which comes first shows only in their ids */
	if (pair->queries == NULL || pair->leave_one_out)
		columns |= NW_SCAN_ID;
	calibration->pair = pair;
	if (pair->member == NULL)
		calibration->support = nw_support_read_sorted(pair->support, columns, nw_cache_bound());
	if (pair->queries)
	{
		nw_source_check_labelled(pair->queries);
		calibration->queries =
			nw_support_read_sorted(pair->queries, NW_SCAN_LABEL | NW_SCAN_ID, nw_cache_bound());
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
			choose_sample(calibration->support->n, MAX_QUERIES, &calibration->nsample);
	}
}

/* Say what a calibration leaves to be known. */
static void
notice_found(const NwTemperature *found, NwTemperatureFit fit)
{
	if (found->flawless)
		ereport(
			NOTICE,
			(errmsg(
				 "every query whose label has support is predicted right, so they set no upper bound to confidence"),
		     errdetail("A cautious value was chosen."),
		     errhint("Calibrate with queries that are harder, or more of them.")));
	if (found->changed > 0)
	{
		bool costly = fit == NW_FIT_TAU && found->wrong > found->wrong_before;

		ereport(NOTICE,
		        (errmsg("%lld of %lld queries get another label", (long long) found->changed,
		                (long long) found->n),
		         errdetail("Before, %lld labels were wrong; now %lld are.",
		                   (long long) found->wrong_before, (long long) found->wrong),
		         errhint("%s", costly ? "Without fit => 'tau', the error on these queries does"
		                                " not rise."
		                              : "To keep every label, pass fit => 'temper'.")));
	}
}

/*
 * nw_calibrate(support text, queries text, low float8, high float8, steps int,
 *				leave_one_out boolean, fit text)
 * returns (support, queries, tau, tau_before, temper, temper_before, n, error_before,
 * error_after, nll_before, nll_after, ece_before, ece_after)
 */
Datum
nw_calibrate(PG_FUNCTION_ARGS)
{
	NwSetPair pair;
	Calibration calibration = {0};
	NwTemperatureSearch search = {
		.pass = calibration_pass, .arg = &calibration, .mcxt = CurrentMemoryContext};
	NwTemperature found;
	NwSet calibrated;
	TupleDesc desc;
	Datum values[13];
	bool nulls[13] = {false};

	range_arguments(fcinfo, 2, false, &search.low, &search.high, &search.steps);
	search.fit = fit_argument(fcinfo, 6);
	if (search.fit == NW_FIT_TEMPER && search.low > 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("fit => 'temper' leaves tau as it is"),
		                errhint("Leave low and high out.")));
	desc = nw_row_type(fcinfo);

	nw_push_fresh_snapshot();
	nw_set_pair_init_any(&pair, fcinfo, 0, 1, 5);
	nw_set_check_owner(pair.schema, pair.support->set);
	if (pair.member)
	{
		/* tau is the members' */
		if (search.fit == NW_FIT_TAU || search.low > 0)
			nw_members_report(pair.support->set);
		search.fit = NW_FIT_TEMPER;
	}
	read_sets(&calibration, &pair);
	search.queries = calibration.nsample;
	search.supports = calibration.support ? calibration.support->n : 0;
	search.tau = pair.support->set->tau;
	search.temper = pair.support->set->temper;
	found = nw_temperature_search(&search);
	nw_progress_done();
	notice_found(&found, search.fit);
	if (found.seen > 0)
	{
		calibrated = *pair.support->set;
		calibrated.tau = found.tau;
		calibrated.temper = found.temper;
		calibrated.calibrated =
			calibration.support ? nw_stamp_now(pair.support, calibration.support->n)
								: (NwStamp) {true, GetCurrentTransactionStartTimestamp(), -1, -1};
		nw_set_change(pair.schema, pair.support->set, &calibrated, false);
	}
	PopActiveSnapshot();

	nw_set_pair_values(&pair, found.tau, values);
	nw_set_pair_nulls(&pair, nulls);
	nulls[3] = nulls[2];
	values[3] = Float8GetDatum(search.tau);
	values[4] = Float8GetDatum(found.temper);
	values[5] = Float8GetDatum(search.temper);
	values[6] = Int64GetDatum(found.n);
	values[7] = Float8GetDatum((double) found.wrong_before / Max(found.n, 1));
	values[8] = Float8GetDatum((double) found.wrong / Max(found.n, 1));
	values[9] = Float8GetDatum(found.before.nll);
	values[10] = Float8GetDatum(found.after.nll);
	values[11] = Float8GetDatum(found.before.ece);
	values[12] = Float8GetDatum(found.after.ece);
	nulls[9] = nulls[10] = found.seen == 0;
	nulls[7] = nulls[8] = nulls[11] = nulls[12] = found.n == 0;
	return nw_row_datum(desc, values, nulls);
}
