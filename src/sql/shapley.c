/*
 * sql/shapley.c
 *		What each support is worth to a vote of the nearest neighbours:
 *		nw_shapley.
 *
 * Every query gives every support a value (math/shapley.c), which costs a sort
 * of the supports by their distances.  Only the sums over all queries are kept.
 */
#include "postgres.h"

#include <math.h>

#include "math/shapley.h"
#include "math/sum.h"
#include "predict/batch.h"
#include "rows.h"
#include "sql/args.h"
#include "sql/progress.h"
#include "sql/set_pair.h"
#include "sql/suspects.h"

PG_FUNCTION_INFO_V1(nw_shapley);

/* Values of supports that are being added up. */
typedef struct Valuation
{
	const NwBatch *batch;
	int k;
	NwSum *total;       /* [support->n] over all queries */
	double *score;      /* [support->n] of the query at hand */
	bool *match;        /* [support->n] likewise: has its label */
	double *value;      /* [support->n] likewise */
	NwNeighbour *near;  /* [support->n] likewise */
	NwNeighbour *spare; /* [support->n] to sort with */
	int64 n;            /* labelled queries so far */
} Valuation;

/* What one support is worth. */
typedef struct Valued
{
	int64 row; /* of the support */
	double value;
} Valued;

static void *
alloc_for(const NwSupport *support, Size width)
{
	return palloc_extended(Max(support->n, 1) * width, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

/* Add what the supports are worth to one query. */
static void
add_values(const NwAnswer *answer, void *arg)
{
	Valuation *valuation = arg;
	const NwSupport *support = valuation->batch->support;
	int64 row = 0;
	int64 n;

	if (!answer->labelled)
		return;
	if (++valuation->n % 16 == 0)
		nw_progress("valuing the supports by query", valuation->n, -1);

	/* the label of no support: all are worth nothing */
	if (answer->truth_class < 0)
		return;
	for (int c = 0; c < support->nchunks; c++)
	{
		for (int i = 0; i < support->chunk[c].n; i++)
			valuation->match[row++] = support->chunk[c].class[i] == answer->truth_class;
	}
	nw_answer_scores(valuation->batch, answer, 1, false, -HUGE_VAL, valuation->score);
	n = nw_neighbours_take(valuation->near, valuation->score, support->n);
	nw_neighbours_sort(valuation->near, valuation->spare, n);
	nw_shapley_of_query(valuation->near, n, valuation->k, valuation->match, valuation->value);
	for (int64 i = 0; i < n; i++)
		nw_sum_add(&valuation->total[valuation->near[i].row],
		           valuation->value[valuation->near[i].row]);
}

/* Ask about the queries, or about the support's own rows, and add up. */
static void
value_supports(Valuation *valuation, const NwSetPair *pair, NwSupport *support)
{
	NwBatch batch;

	valuation->batch = &batch;
	valuation->total = alloc_for(support, sizeof(NwSum));
	valuation->score = alloc_for(support, sizeof(double));
	valuation->match = alloc_for(support, sizeof(bool));
	valuation->value = alloc_for(support, sizeof(double));
	valuation->near = alloc_for(support, sizeof(NwNeighbour));
	valuation->spare = alloc_for(support, sizeof(NwNeighbour));
	for (int64 i = 0; i < support->n; i++)
		nw_sum_clear(&valuation->total[i]);

	nw_set_pair_batch(pair, &batch, add_values, valuation);
	batch.measures = true;
	batch.leave_one_out |= pair->queries == NULL;
	nw_batch_open_support(&batch, support);
	if (pair->queries)
		nw_batch_ask_set(&batch, pair->queries);
	else
	{
		for (int64 i = 0; i < support->n; i++)
			nw_batch_ask_own(&batch, i);
	}
	nw_batch_finish(&batch);
}

/* Put what is worth least first, equals by id, for qsort_arg. */
static int
compare_values(const void *a, const void *b, void *arg)
{
	const Valued *x = a;
	const Valued *y = b;
	const char *id_x;
	const char *id_y;
	int cmp;

	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	id_x = nw_support_id(arg, x->row);
	id_y = nw_support_id(arg, y->row);
	cmp = id_x && id_y ? strcmp(id_x, id_y) : (id_x == NULL) - (id_y == NULL);
	return cmp != 0 ? cmp : (x->row > y->row) - (x->row < y->row);
}

/* The supports by their values: [support->n]. */
static Valued *
rank_values(const Valuation *valuation, NwSupport *support)
{
	Valued *ranking = alloc_for(support, sizeof(Valued));

	for (int64 i = 0; i < support->n; i++)
		ranking[i] = (Valued) {
			i, valuation->n > 0 ? nw_sum_value(&valuation->total[i]) / (double) valuation->n : 0};
	qsort_arg(ranking, support->n, sizeof(Valued), compare_values, support);
	return ranking;
}

/* Read how many neighbours vote. */
static int
k_argument(FunctionCallInfo fcinfo, int arg)
{
	nw_check_argument(fcinfo, arg, "k");
	if (PG_GETARG_INT32(arg) < 1)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("k must be at least 1, not %d", PG_GETARG_INT32(arg))));
	return PG_GETARG_INT32(arg);
}

/*
 * nw_shapley(support text, queries text, k int, top int, leave_one_out boolean)
 * returns table (support_id, label, value, support_set, query_set, n, rank)
 */
Datum
nw_shapley(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rows;
	Valuation valuation = {.k = k_argument(fcinfo, 2)};
	int top = nw_top_argument(fcinfo, 3);
	NwSetPair pair;
	NwSupport *support;
	const Valued *ranking;

	nw_set_pair_init(&pair, fcinfo, 0, 1, 4);
	rows = nw_rows_begin(fcinfo);
	support = nw_suspects_read(pair.support);
	value_supports(&valuation, &pair, support);
	ranking = rank_values(&valuation, support);
	for (int64 i = 0; valuation.n > 0 && i < support->n && i < top; i++)
	{
		int class = nw_support_class(support, ranking[i].row);
		Datum pair_values[NW_SET_PAIR_COLUMNS];
		bool nulls[7] = {false};
		Datum values[7] = {nw_text_or_null(nw_support_id(support, ranking[i].row), &nulls[0]),
		                   nw_bytes_datum(support->labels->text[class]),
		                   Float8GetDatum(ranking[i].value)};

		/* the temperature plays no part */
		nw_set_pair_values(&pair, support->tau, pair_values);
		values[3] = pair_values[0];
		values[4] = pair_values[1];
		values[5] = Int64GetDatum(valuation.n);
		values[6] = Int32GetDatum((int32) i + 1);
		nw_rows_put(rows, values, nulls);
	}
	nw_progress_done();
	return (Datum) 0;
}
