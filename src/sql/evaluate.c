/*
 * sql/evaluate.c
 *		Predict a whole set and measure how good that was: nw_predict_set,
 *		nw_evaluate and nw_reliability.
 */
#include "postgres.h"

#include "utils/float.h"

#include "math/calibration_bins.h"
#include "math/sum.h"
#include "predict/batch.h"
#include "predict/typicality.h"
#include "rows.h"
#include "sql/args.h"
#include "sql/set_pair.h"

/* Heaviest supports that label_match looks at. */
#define MATCH_SUPPORTS 10

PG_FUNCTION_INFO_V1(nw_predict_set);
PG_FUNCTION_INFO_V1(nw_evaluate);
PG_FUNCTION_INFO_V1(nw_reliability);

/* The probability that the answer gives to the query's own label. */
static double
truth_probability(const NwAnswer *answer)
{
	int i = nw_verdict_find(&answer->tally.verdict, answer->truth_class);

	return i < 0 ? 0 : nw_verdict_probability(&answer->tally.verdict, i);
}

/* The cross-entropy of the answer; infinite where the label has no support. */
static double
loss(const NwAnswer *answer)
{
	int i = nw_verdict_find(&answer->tally.verdict, answer->truth_class);

	return i < 0 ? get_float8_infinity() : -nw_verdict_log_probability(&answer->tally.verdict, i);
}

/*
 * The squared distance between the answer and the truth, over all classes in
 * their byte order.
 */
static double
brier_score(const NwAnswer *answer)
{
	const NwTally *tally = &answer->tally;
	int truth = nw_verdict_find(&tally->verdict, answer->truth_class);
	double sum = truth < 0 ? 1 : 0;

	for (int i = 0; i < tally->verdict.n; i++)
	{
		double diff = nw_verdict_probability(&tally->verdict, i) - (i == truth);

		sum += diff * diff;
	}
	return sum;
}

/* Predictions that are returned row by row. */
typedef struct Predictions
{
	const NwSetPair *pair;
	ReturnSetInfo *rows;
} Predictions;

/* Return one predicted row. */
static void
put_prediction(const NwAnswer *answer, void *arg)
{
	Predictions *predictions = arg;
	int best = nw_verdict_winner(&answer->tally.verdict);
	Datum values[8 + NW_SET_PAIR_COLUMNS];
	bool nulls[8 + NW_SET_PAIR_COLUMNS] = {false};
	int brier = 6 + NW_SET_PAIR_COLUMNS;
	int typicality = brier + 1;

	values[0] = nw_text_or_null(answer->query_id, &nulls[0]);
	nulls[1] = nulls[4] = nulls[5] = nulls[brier] = !answer->labelled;
	values[1] = nulls[1] ? (Datum) 0 : nw_bytes_datum(answer->truth);
	values[2] = nw_bytes_datum(nw_tally_label(&answer->tally, best));
	values[3] = Float8GetDatum(nw_verdict_probability(&answer->tally.verdict, best));
	values[4] = Float8GetDatum(truth_probability(answer));
	values[5] = Float8GetDatum(loss(answer));
	nw_set_pair_values(predictions->pair, predictions->pair->support->set->tau, values + 6);
	nw_set_pair_nulls(predictions->pair, nulls + 6);
	values[brier] = Float8GetDatum(nulls[brier] ? 0 : brier_score(answer));
	nulls[typicality] = answer->tally.typical == NULL;
	values[typicality] =
		Float8GetDatum(nulls[typicality] ? 0 : nw_tally_typicality(&answer->tally));
	nw_rows_put(predictions->rows, values, nulls);
}

/*
 * nw_predict_set(support text, queries text, leave_one_out boolean)
 * returns table (query_id, truth, label, confidence, truth_probability, loss,
 * support, queries, tau, brier, typicality)
 */
Datum
nw_predict_set(PG_FUNCTION_ARGS)
{
	NwSetPair pair;
	NwBatch batch;
	Predictions predictions = {.pair = &pair};

	nw_check_argument(fcinfo, 1, "queries");
	nw_set_pair_init_any(&pair, fcinfo, 0, 1, 2);
	predictions.rows = nw_rows_begin(fcinfo);
	nw_set_pair_batch(&pair, &batch, put_prediction, &predictions);
	batch.typical = nw_typical_read(pair.schema, pair.support->set);
	nw_batch_run(&batch, pair.queries);
	return (Datum) 0;
}

/* What nw_evaluate adds up. */
typedef struct Scores
{
	int64 n;          /* labelled queries */
	int64 unlabelled; /* all others */
	int64 unseen;     /* labelled ones whose class has no support */
	int64 wrong;
	int64 matches;  /* heaviest supports of the right label */
	int64 heaviest; /* heaviest supports looked at */
	NwSum loss;
	NwSum brier;
	NwBins *bins;
} Scores;

/* Add one answer to the scores. */
static void
add_scores(const NwAnswer *answer, void *arg)
{
	Scores *scores = arg;
	const NwTally *tally = &answer->tally;
	int best = nw_verdict_winner(&tally->verdict);
	bool correct;

	if (!answer->labelled)
	{
		scores->unlabelled++;
		return;
	}
	correct = tally->verdict.class[best] == answer->truth_class;
	scores->n++;
	if (!correct)
		scores->wrong++;
	if (nw_verdict_find(&tally->verdict, answer->truth_class) < 0)
		scores->unseen++;
	else
		nw_sum_add(&scores->loss, loss(answer));
	nw_sum_add(&scores->brier, brier_score(answer));
	nw_bins_add(scores->bins, nw_verdict_probability(&tally->verdict, best), correct);
	for (int i = 0; i < tally->heaviest.n; i++)
	{
		scores->heaviest++;
		if (tally->heaviest.item[i].class == answer->truth_class)
			scores->matches++;
	}
}

/*
 * nw_evaluate(support text, queries text, bins int, leave_one_out boolean)
 * returns (support, queries, tau, n, unlabelled, unseen, error_rate, nll,
 * brier, ece, mce, label_match, temper)
 */
Datum
nw_evaluate(PG_FUNCTION_ARGS)
{
	int bins = nw_bins_argument(fcinfo, 2);
	NwSetPair pair;
	NwBatch batch;
	Scores scores = {0};
	TupleDesc desc;
	Datum values[NW_SET_PAIR_COLUMNS + 10];
	bool nulls[NW_SET_PAIR_COLUMNS + 10] = {false};
	int v = NW_SET_PAIR_COLUMNS;

	nw_check_argument(fcinfo, 1, "queries");
	desc = nw_row_type(fcinfo);
	nw_set_pair_init_any(&pair, fcinfo, 0, 1, 3);
	scores.bins = palloc(nw_bins_size(bins));
	nw_bins_init(scores.bins, bins);
	nw_sum_clear(&scores.loss);
	nw_sum_clear(&scores.brier);
	nw_set_pair_batch(&pair, &batch, add_scores, &scores);
	batch.top = MATCH_SUPPORTS;
	batch.unnamed = true; /* equal ones are ordered by class first */
	nw_batch_run(&batch, pair.queries);

	nw_set_pair_values(&pair, pair.support->set->tau, values);
	nw_set_pair_nulls(&pair, nulls);
	values[v++] = Int64GetDatum(scores.n);
	values[v++] = Int64GetDatum(scores.unlabelled);
	values[v++] = Int64GetDatum(scores.unseen);
	nulls[v] = scores.n == 0;
	values[v++] = Float8GetDatum((double) scores.wrong / Max(scores.n, 1));
	nulls[v] = scores.n == scores.unseen;
	values[v++] = Float8GetDatum(nw_sum_value(&scores.loss) / Max(scores.n - scores.unseen, 1));
	nulls[v] = scores.n == 0;
	values[v++] = Float8GetDatum(nw_sum_value(&scores.brier) / Max(scores.n, 1));
	nulls[v] = scores.n == 0;
	values[v++] = Float8GetDatum(nw_bins_ece(scores.bins));
	nulls[v] = scores.n == 0;
	values[v++] = Float8GetDatum(nw_bins_mce(scores.bins));

	/* a class of fewer supports could not reach 1 */
	nulls[v] = scores.heaviest == 0 ||
	           nw_batch_smallest_class(&batch) < MATCH_SUPPORTS + (pair.leave_one_out ? 1 : 0);
	values[v++] = Float8GetDatum((double) scores.matches / Max(scores.heaviest, 1));
	values[v++] = Float8GetDatum(pair.support->set->temper);
	return nw_row_datum(desc, values, nulls);
}

/* Put one answer in its bin. */
static void
add_reliability(const NwAnswer *answer, void *arg)
{
	NwBins *bins = arg;
	int best = nw_verdict_winner(&answer->tally.verdict);

	if (answer->labelled)
		nw_bins_add(bins, nw_verdict_probability(&answer->tally.verdict, best),
		            answer->tally.verdict.class[best] == answer->truth_class);
}

/*
 * nw_reliability(support text, queries text, bins int, leave_one_out boolean)
 * returns table (bin, lower, upper, n, confidence, accuracy, gap, support,
 * queries, tau)
 */
Datum
nw_reliability(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rows;
	int nbins = nw_bins_argument(fcinfo, 2);
	NwSetPair pair;
	NwBatch batch;
	NwBins *bins;

	nw_check_argument(fcinfo, 1, "queries");
	nw_set_pair_init_any(&pair, fcinfo, 0, 1, 3);
	rows = nw_rows_begin(fcinfo);
	bins = palloc(nw_bins_size(nbins));
	nw_bins_init(bins, nbins);
	nw_set_pair_batch(&pair, &batch, add_reliability, bins);
	nw_batch_run(&batch, pair.queries);

	for (int i = 0; i < nbins; i++)
	{
		const NwCalibrationBin *bin = &bins->bin[i];
		Datum values[7 + NW_SET_PAIR_COLUMNS] = {Int32GetDatum(i + 1),
		                                         Float8GetDatum(nw_bins_border(nbins, i)),
		                                         Float8GetDatum(nw_bins_border(nbins, i + 1)),
		                                         Int64GetDatum(bin->count),
		                                         Float8GetDatum(nw_bin_confidence(bin)),
		                                         Float8GetDatum(nw_bin_accuracy(bin)),
		                                         Float8GetDatum(nw_bin_gap(bin))};
		bool nulls[7 + NW_SET_PAIR_COLUMNS] = {false};

		nulls[4] = nulls[5] = nulls[6] = bin->count == 0;
		nw_set_pair_values(&pair, pair.support->set->tau, values + 7);
		nw_set_pair_nulls(&pair, nulls + 7);
		nw_rows_put(rows, values, nulls);
	}
	return (Datum) 0;
}
