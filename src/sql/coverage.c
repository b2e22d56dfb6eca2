/*
 * sql/coverage.c
 *		How many queries are answered, and how many of these wrongly, where an
 *		answer needs some confidence: nw_coverage and nw_threshold.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "grow.h"
#include "predict/batch.h"
#include "rows.h"
#include "sql/args.h"
#include "sql/set_pair.h"

PG_FUNCTION_INFO_V1(nw_coverage);
PG_FUNCTION_INFO_V1(nw_threshold);

/* Confidences of some queries. */
typedef struct Confidences
{
	double *item; /* [n] */
	int n;
	int allocated;
} Confidences;

/* All labelled queries of a set. */
typedef struct Answers
{
	MemoryContext mcxt;
	Confidences right;
	Confidences wrong;
} Answers;

/* What is answered with some confidence at least. */
typedef struct Point
{
	double threshold;
	int64 n;
	int64 wrong;
} Point;

/* Note the confidence of one answer. */
static void
add_answer(const NwAnswer *answer, void *arg)
{
	Answers *answers = arg;
	const NwVerdict *verdict = &answer->tally.verdict;
	int best = nw_verdict_winner(verdict);
	Confidences *list;

	if (!answer->labelled)
		return;
	list = verdict->class[best] == answer->truth_class ? &answers->right : &answers->wrong;
	if (list->n == PG_INT32_MAX)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("too many queries")));
	NW_RESERVE(answers->mcxt, list->item, list->allocated, (int64) list->n + 1);

	/* what rounding put above 1 is within reach of min_confidence all the same */
	list->item[list->n++] = Min(nw_verdict_probability(verdict, best), 1);
}

/* Put the highest confidence first, for qsort. */
static int
compare_confidences(const void *a, const void *b)
{
	double x = *(const double *) a;
	double y = *(const double *) b;

	return (x < y) - (x > y);
}

/* Ask the support about all queries of a pair of sets, and order the confidences. */
static void
collect(Answers *answers, const NwSetPair *pair)
{
	NwBatch batch;

	memset(answers, 0, sizeof(Answers));
	answers->mcxt = CurrentMemoryContext;
	nw_set_pair_batch(pair, &batch, add_answer, answers);
	nw_batch_run(&batch, pair->queries);
	qsort(answers->right.item, answers->right.n, sizeof(double), compare_confidences);
	qsort(answers->wrong.item, answers->wrong.n, sizeof(double), compare_confidences);
}

/* How many labelled queries there are. */
static int64
count(const Answers *answers)
{
	return (int64) answers->right.n + answers->wrong.n;
}

/* How many confidences of a list, from a place on, are a given one. */
static int
run_length(const Confidences *list, int64 from, double confidence)
{
	int n = 0;

	while (from + n < list->n && list->item[from + n] == confidence)
		n++;
	return n;
}

/*
 * Go on to the next lower confidence that a query has, from a point of nothing at
 * first; false where there is none.
 */
static bool
next_point(const Answers *answers, Point *point)
{
	int64 right = point->n - point->wrong;
	int64 wrong = point->wrong;
	bool any = false;

	CHECK_FOR_INTERRUPTS();
	if (right < answers->right.n)
	{
		point->threshold = answers->right.item[right];
		any = true;
	}
	if (wrong < answers->wrong.n && (!any || answers->wrong.item[wrong] > point->threshold))
	{
		point->threshold = answers->wrong.item[wrong];
		any = true;
	}
	if (!any)
		return false;
	wrong += run_length(&answers->wrong, wrong, point->threshold);
	right += run_length(&answers->right, right, point->threshold);
	point->wrong = wrong;
	point->n = right + wrong;
	return true;
}

/* The share of wrong answers. */
static double
error_rate(const Point *point)
{
	return (double) point->wrong / (double) Max(point->n, 1);
}

/* Fill the columns that both functions have; NULLs where nothing is answered. */
static void
point_values(const Point *point, int64 all, const NwSetPair *pair, Datum *values, bool *nulls)
{
	values[0] = Float8GetDatum(point->threshold);
	values[1] = Int64GetDatum(point->n);
	values[2] = Float8GetDatum((double) point->n / (double) Max(all, 1));
	values[3] = Int64GetDatum(point->wrong);
	values[4] = Float8GetDatum(error_rate(point));
	nulls[0] = nulls[4] = point->n == 0;
	nulls[2] = all == 0;
	nw_set_pair_values(pair, pair->support->set->tau, values + 5);
	nw_set_pair_nulls(pair, nulls + 5);
}

/*
 * nw_coverage(support text, queries text, leave_one_out boolean)
 * returns table (threshold, n, coverage, wrong, error_rate, support, queries, tau)
 */
Datum
nw_coverage(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rows;
	NwSetPair pair;
	Answers answers;
	Point point = {0};

	nw_check_argument(fcinfo, 1, "queries");
	nw_set_pair_init_any(&pair, fcinfo, 0, 1, 2);
	rows = nw_rows_begin(fcinfo);
	collect(&answers, &pair);
	while (next_point(&answers, &point))
	{
		Datum values[5 + NW_SET_PAIR_COLUMNS];
		bool nulls[5 + NW_SET_PAIR_COLUMNS] = {false};

		point_values(&point, count(&answers), &pair, values, nulls);
		nw_rows_put(rows, values, nulls);
	}
	return (Datum) 0;
}

/* Read the share of wrong answers that is allowed. */
static double
error_argument(FunctionCallInfo fcinfo, int arg)
{
	double error;

	nw_check_argument(fcinfo, arg, "max_error");
	error = PG_GETARG_FLOAT8(arg);
	if (!(error >= 0 && error <= 1))
		ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
		                errmsg("max_error must be between 0 and 1, not %g", error)));
	return error;
}

/*
 * nw_threshold(support text, queries text, max_error float8, leave_one_out boolean)
 * returns (threshold, n, coverage, wrong, error_rate, support, queries, tau)
 */
Datum
nw_threshold(PG_FUNCTION_ARGS)
{
	double max_error = error_argument(fcinfo, 2);
	NwSetPair pair;
	Answers answers;
	Point point = {0};
	Point best = {0};
	TupleDesc desc;
	Datum values[5 + NW_SET_PAIR_COLUMNS];
	bool nulls[5 + NW_SET_PAIR_COLUMNS] = {false};

	nw_check_argument(fcinfo, 1, "queries");
	desc = nw_row_type(fcinfo);
	nw_set_pair_init_any(&pair, fcinfo, 0, 1, 3);
	collect(&answers, &pair);
	while (next_point(&answers, &point))
	{
		if (error_rate(&point) <= max_error)
			best = point;
	}
	point_values(&best, count(&answers), &pair, values, nulls);
	return nw_row_datum(desc, values, nulls);
}
