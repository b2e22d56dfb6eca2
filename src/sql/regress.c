/*
 * sql/regress.c
 *		Predict numbers: nw_regress, nw_regress_interval and
 *		nw_evaluate_regression.
 */
#include "postgres.h"

#include <math.h>

#include "utils/float.h"

#include "grow.h"
#include "math/conformal.h"
#include "math/sum.h"
#include "predict/batch.h"
#include "rows.h"
#include "sets/reference.h"
#include "sql/args.h"
#include "sql/plausible.h"
#include "sql/regress.h"
#include "sql/set_pair.h"

PG_FUNCTION_INFO_V1(nw_regress);
PG_FUNCTION_INFO_V1(nw_regress_interval);
PG_FUNCTION_INFO_V1(nw_evaluate_regression);

/* Read a label as a finite number. */
double
nw_label_number(NwBytes label, const char *set)
{
	char *text = pnstrdup(label.data, label.len);
	char *end;
	double number;

	errno = 0;
	number = strtod(text, &end);
	if (end == text || *end != '\0' || !isfinite(number))
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
		                errmsg("label \"%s\" of set \"%s\" is not a finite number", text, set),
		                errhint("nw_regress needs a set with numeric labels.")));
	pfree(text);
	return number;
}

/* The number that the class at a place of an answer is. */
static double
number_at(const NwTally *tally, int place, NwNumbers *numbers)
{
	const NwLabels *labels = tally->labels;

	NW_RESERVE(numbers->mcxt, numbers->number, numbers->allocated, labels->n);
	for (; numbers->n < labels->n; numbers->n++)
		numbers->number[numbers->n] = get_float8_nan();

	/* a class that has no part in any answer may be no number */
	if (isnan(numbers->number[tally->verdict.class[place]]))
		numbers->number[tally->verdict.class[place]] =
			nw_label_number(nw_tally_label(tally, place), numbers->set);
	return numbers->number[tally->verdict.class[place]];
}

/*
 * The mean of the labels under the classes' shares of the mass, added up in the byte
 * order of the labels like everything else.
 */
double
nw_regress_mean(const NwTally *tally, NwNumbers *numbers)
{
	double mean = 0;

	for (int i = 0; i < tally->verdict.n; i++)
		mean += nw_verdict_share(&tally->verdict, i) * number_at(tally, i, numbers);
	return mean;
}

/* The variance of the labels under the same shares. */
static double
variance(const NwTally *tally, NwNumbers *numbers, double mean)
{
	double sum = 0;

	for (int i = 0; i < tally->verdict.n; i++)
	{
		double diff = number_at(tally, i, numbers) - mean;

		sum += nw_verdict_share(&tally->verdict, i) * diff * diff;
	}
	return sum;
}

/* nw_regress(query, support text, exclude, empty_ok boolean) returns float8 */
Datum
nw_regress(PG_FUNCTION_ARGS)
{
	NwCall call;
	NwTally *tally;
	NwNumbers numbers = {.mcxt = CurrentMemoryContext};

	if (!nw_call_arguments(&call, fcinfo, 1))
		PG_RETURN_NULL();
	nw_exclude_argument(&call, fcinfo, 2);
	nw_empty_argument(&call, fcinfo, 3);
	call.shares = true;

	tally = nw_call_tally(&call);
	if (tally == NULL)
		PG_RETURN_NULL();
	numbers.set = call.support;
	PG_RETURN_FLOAT8(nw_regress_mean(tally, &numbers));
}

/*
 * nw_regress_interval(query, support text, coverage float8, exclude, empty_ok boolean,
 *					   OUT mean, OUT variance, OUT low, OUT high)
 */
Datum
nw_regress_interval(PG_FUNCTION_ARGS)
{
	NwCall call;
	NwTally *tally;
	NwNumbers numbers = {.mcxt = CurrentMemoryContext};
	TupleDesc desc;
	Datum values[4] = {0};
	bool nulls[4] = {false};
	double mean;

	if (!nw_call_arguments(&call, fcinfo, 1))
		PG_RETURN_NULL();
	nw_exclude_argument(&call, fcinfo, 3);
	nw_empty_argument(&call, fcinfo, 4);
	call.shares = true;
	desc = nw_row_type(fcinfo);

	tally = nw_call_tally(&call);
	if (tally == NULL)
		PG_RETURN_NULL();
	numbers.set = call.support;
	mean = nw_regress_mean(tally, &numbers);
	values[0] = Float8GetDatum(mean);
	values[1] = Float8GetDatum(variance(tally, &numbers, mean));
	nulls[2] = nulls[3] = PG_ARGISNULL(2);
	if (!PG_ARGISNULL(2))
	{
		double coverage = nw_coverage_argument(fcinfo, 2);
		const NwReferences *residuals =
			nw_reference_get(call.schema, nw_set_get(call.schema, call.support), true);
		double bound = nw_reference_bound(&residuals->row[0], coverage);

		values[2] = Float8GetDatum(mean - bound);
		values[3] = Float8GetDatum(mean + bound);
	}
	return nw_row_datum(desc, values, nulls);
}

/* What nw_evaluate_regression adds up. */
typedef struct Errors
{
	MemoryContext mcxt;
	NwNumbers numbers;
	const char *queries; /* name of their set */
	double *truth;       /* [n] labels of the queries */
	int n;
	int allocated;
	int64 unlabelled;
	NwSum truths;
	NwSum differences; /* prediction - truth */
	NwSum magnitudes;
	NwSum squares;
} Errors;

/* Add the error of one answer. */
static void
add_error(const NwAnswer *answer, void *arg)
{
	Errors *errors = arg;
	double truth;
	double diff;

	if (!answer->labelled)
	{
		errors->unlabelled++;
		return;
	}
	if (errors->n == PG_INT32_MAX)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("too many queries")));
	truth = nw_label_number(answer->truth, errors->queries);
	diff = nw_regress_mean(&answer->tally, &errors->numbers) - truth;
	NW_RESERVE(errors->mcxt, errors->truth, errors->allocated, (int64) errors->n + 1);
	errors->truth[errors->n++] = truth;
	nw_sum_add(&errors->truths, truth);
	nw_sum_add(&errors->differences, diff);
	nw_sum_add(&errors->magnitudes, fabs(diff));
	nw_sum_add(&errors->squares, diff * diff);
}

/* The sum of squared distances of the truths from their mean. */
static double
spread(const Errors *errors)
{
	double mean = nw_sum_value(&errors->truths) / errors->n;
	NwSum sum;

	nw_sum_clear(&sum);
	for (int i = 0; i < errors->n; i++)
		nw_sum_add(&sum, (errors->truth[i] - mean) * (errors->truth[i] - mean));
	return nw_sum_value(&sum);
}

/*
 * nw_evaluate_regression(support text, queries text, leave_one_out boolean)
 * returns (support, queries, tau, n, unlabelled, rmse, mae, bias, r2)
 */
Datum
nw_evaluate_regression(PG_FUNCTION_ARGS)
{
	NwSetPair pair;
	NwBatch batch;
	Errors errors = {.mcxt = CurrentMemoryContext, .numbers.mcxt = CurrentMemoryContext};
	TupleDesc desc;
	Datum values[NW_SET_PAIR_COLUMNS + 6] = {0};
	bool nulls[NW_SET_PAIR_COLUMNS + 6] = {false};
	Datum *own = values + NW_SET_PAIR_COLUMNS;

	nw_check_argument(fcinfo, 1, "queries");
	desc = nw_row_type(fcinfo);
	nw_set_pair_init_any(&pair, fcinfo, 0, 1, 2);
	errors.numbers.set = pair.support->set->name;
	errors.queries = pair.queries->set->name;
	nw_sum_clear(&errors.truths);
	nw_sum_clear(&errors.differences);
	nw_sum_clear(&errors.magnitudes);
	nw_sum_clear(&errors.squares);
	nw_set_pair_batch(&pair, &batch, add_error, &errors);
	batch.shares = true;
	nw_batch_run(&batch, pair.queries);

	nw_set_pair_values(&pair, pair.support->set->tau, values);
	nw_set_pair_nulls(&pair, nulls);
	own[0] = Int64GetDatum(errors.n);
	own[1] = Int64GetDatum(errors.unlabelled);
	if (errors.n == 0)
		memset(nulls + NW_SET_PAIR_COLUMNS + 2, true, 4);
	else
	{
		double squares = nw_sum_value(&errors.squares);
		double all = spread(&errors);

		own[2] = Float8GetDatum(sqrt(squares / errors.n));
		own[3] = Float8GetDatum(nw_sum_value(&errors.magnitudes) / errors.n);
		own[4] = Float8GetDatum(nw_sum_value(&errors.differences) / errors.n);
		nulls[NW_SET_PAIR_COLUMNS + 5] = !(all > 0 && isfinite(all) && isfinite(squares));
		own[5] = Float8GetDatum(nulls[NW_SET_PAIR_COLUMNS + 5] ? 0 : 1 - squares / all);
	}
	return nw_row_datum(desc, values, nulls);
}
