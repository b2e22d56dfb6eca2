/*
 * sql/tags.c
 *		Labels of several values: how probable each tag is, nw_predict_tags, and
 *		how often that is right, nw_evaluate_tags.
 *
 * The probability of a tag is the share of the mass that the classes have
 * which contain it.  Masses are merged before they are rounded, so the sums do
 * not depend on the order of classes, and a tag that all supports have is
 * certain.  A set's temper is for classes, of which one is right; it plays no
 * part here.
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "grow.h"
#include "math/sum.h"
#include "predict/batch.h"
#include "rows.h"
#include "sets/tags.h"
#include "sql/args.h"
#include "sql/set_pair.h"

PG_FUNCTION_INFO_V1(nw_predict_tags);
PG_FUNCTION_INFO_V1(nw_evaluate_tags);

/* A tag and its mass. */
typedef struct Ranked
{
	NwBytes name;
	NwScaled value;
} Ranked;

/* Put the more probable tag first, equals in byte order, for qsort. */
static int
compare_ranked(const void *a, const void *b)
{
	const Ranked *x = a;
	const Ranked *y = b;
	int cmp = nw_scaled_compare(y->value, x->value);

	return cmp != 0 ? cmp : nw_bytes_compare(x->name, y->name);
}

/* The tags that have mass, [n], the most probable first. */
static Ranked *
rank_tags(const NwTags *tags, const NwTally *tally, int *n, NwScaled *total)
{
	int all = tags->names->n;
	NwMass *mass = palloc_extended(Max(all, 1) * sizeof(NwMass), MCXT_ALLOC_HUGE);
	Ranked *ranked = palloc_extended(Max(all, 1) * sizeof(Ranked), MCXT_ALLOC_HUGE);
	NwMass sum;

	nw_mass_clear(&sum);
	for (int i = 0; i < all; i++)
		nw_mass_clear(&mass[i]);
	for (int i = 0; i < tally->verdict.n; i++)
	{
		int class = tally->verdict.class[i];

		nw_mass_merge(&sum, &tally->mass[class]);
		for (int j = tags->start[class]; j < tags->start[class + 1]; j++)
			nw_mass_merge(&mass[tags->tag[j]], &tally->mass[class]);
	}
	*n = 0;
	for (int i = 0; i < all; i++)
	{
		if (!nw_mass_is_empty(&mass[i]))
			ranked[(*n)++] = (Ranked) {tags->names->text[i], nw_mass_value(&mass[i])};
	}
	*total = nw_mass_value(&sum);
	qsort(ranked, *n, sizeof(Ranked), compare_ranked);
	return ranked;
}

/*
 * nw_predict_tags(query, support text, exclude, top int, min_probability float8,
 *				   empty_ok boolean)
 * returns table (tag text, probability float8, rank int)
 */
Datum
nw_predict_tags(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rows;
	NwCall call;
	const NwSet *set;
	NwTally *tally;
	NwTags tags;
	NwScaled total;
	const Ranked *ranked;
	int top = nw_top_argument(fcinfo, 3);
	double min_probability;
	int n;

	nw_check_argument(fcinfo, 4, "min_probability");
	min_probability = nw_bound_argument(fcinfo, 4, "min_probability");
	rows = nw_rows_begin(fcinfo);
	if (!nw_call_arguments(&call, fcinfo, 1))
		return (Datum) 0;
	nw_exclude_argument(&call, fcinfo, 2);
	nw_empty_argument(&call, fcinfo, 5);

	set = nw_set_get(call.schema, call.support);
	nw_tags_check_set(set);
	tally = nw_call_tally(&call);
	if (tally == NULL)
		return (Datum) 0;
	if (!nw_set_is_distilled(set))
		nw_tags_check_type(set, tally->labels->out.type);
	nw_tags_init(&tags, set, nw_labels_create(CurrentMemoryContext, TEXTOID));
	nw_tags_learn(&tags, tally->labels);
	ranked = rank_tags(&tags, tally, &n, &total);
	for (int i = 0; i < n && i < top; i++)
	{
		double probability = nw_scaled_ratio(ranked[i].value, total);
		Datum values[3] = {nw_bytes_datum(ranked[i].name), Float8GetDatum(probability),
		                   Int32GetDatum(i + 1)};
		bool nulls[3] = {false};

		if (probability < min_probability)
			break;
		nw_rows_put(rows, values, nulls);
	}
	return (Datum) 0;
}

/* What became of one tag. */
typedef struct TagCount
{
	int64 n;         /* queries that have it */
	int64 predicted; /* queries that were given it */
	int64 correct;   /* both */
	NwSum squares;   /* of the differences between its probability and the truth */
	NwMass mass;     /* of the query at hand */
	int64 query;     /* the last that has it */
} TagCount;

/* An evaluation under way. */
typedef struct Evaluation
{
	MemoryContext mcxt;
	double min_probability;
	NwLabels *names;   /* all tags, of supports and of queries */
	NwTags of_support; /* by class */
	NwLabels *truths;  /* labels of queries, numbered */
	NwTags of_truth;   /* by truth */
	TagCount *count;   /* [allocated] by tag */
	int allocated;
	int64 n; /* labelled queries so far */
} Evaluation;

/* Give every tag met so far its counts. */
static void
reserve_counts(Evaluation *evaluation)
{
	int old = evaluation->allocated;

	NW_RESERVE(evaluation->mcxt, evaluation->count, evaluation->allocated, evaluation->names->n);
	for (int i = old; i < evaluation->allocated; i++)
	{
		memset(&evaluation->count[i], 0, sizeof(TagCount));
		nw_sum_clear(&evaluation->count[i].squares);
	}
}

/* Add up the masses of all tags for one answer; returns the total of all supports. */
static NwScaled
add_masses(Evaluation *evaluation, const NwTally *tally)
{
	const NwTags *tags = &evaluation->of_support;
	NwMass sum;

	nw_mass_clear(&sum);
	for (int i = 0; i < evaluation->names->n; i++)
		nw_mass_clear(&evaluation->count[i].mass);
	for (int i = 0; i < tally->verdict.n; i++)
	{
		int class = tally->verdict.class[i];

		nw_mass_merge(&sum, &tally->mass[class]);
		for (int j = tags->start[class]; j < tags->start[class + 1]; j++)
			nw_mass_merge(&evaluation->count[tags->tag[j]].mass, &tally->mass[class]);
	}
	return nw_mass_value(&sum);
}

/* Compare the tags of an answer with those that the query has. */
static void
add_answer(const NwAnswer *answer, void *arg)
{
	Evaluation *evaluation = arg;
	NwScaled total;
	int truth;

	if (!answer->labelled)
		return;
	evaluation->n++;
	truth = nw_labels_add_text(evaluation->truths, answer->truth);
	nw_tags_learn(&evaluation->of_truth, evaluation->truths);
	nw_tags_learn(&evaluation->of_support, answer->tally.labels);
	reserve_counts(evaluation);
	total = add_masses(evaluation, &answer->tally);
	for (int j = evaluation->of_truth.start[truth]; j < evaluation->of_truth.start[truth + 1]; j++)
		evaluation->count[evaluation->of_truth.tag[j]].query = evaluation->n;
	for (int i = 0; i < evaluation->names->n; i++)
	{
		TagCount *count = &evaluation->count[i];
		bool given = !nw_mass_is_empty(&count->mass);
		bool right = count->query == evaluation->n;
		double probability = given ? nw_scaled_ratio(nw_mass_value(&count->mass), total) : 0;
		double off = probability - right;

		given &= probability >= evaluation->min_probability;
		count->n += right;
		count->predicted += given;
		count->correct += right && given;
		nw_sum_add(&count->squares, off * off);
	}
}

/*
 * nw_evaluate_tags(support text, queries text, min_probability float8,
 *					leave_one_out boolean)
 * returns table (tag, n, predicted, correct, precision, recall, f1, brier,
 * support_set, query_set, tau)
 */
Datum
nw_evaluate_tags(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rows;
	NwSetPair pair;
	NwBatch batch;
	Evaluation evaluation = {.mcxt = CurrentMemoryContext};
	const NwSource *sources[2];
	const int *order;

	nw_check_argument(fcinfo, 1, "queries");
	nw_check_argument(fcinfo, 2, "min_probability");
	evaluation.min_probability = nw_bound_argument(fcinfo, 2, "min_probability");
	nw_set_pair_init(&pair, fcinfo, 0, 1, 3);
	sources[0] = pair.support;
	sources[1] = pair.queries;
	for (int i = 0; i < 2; i++)
	{
		nw_tags_check_set(sources[i]->set);
		if (!sources[i]->distilled)
			nw_tags_check_type(sources[i]->set, sources[i]->label_type);
	}
	rows = nw_rows_begin(fcinfo);
	evaluation.names = nw_labels_create(CurrentMemoryContext, TEXTOID);
	evaluation.truths = nw_labels_create(CurrentMemoryContext, TEXTOID);
	nw_tags_init(&evaluation.of_support, pair.support->set, evaluation.names);
	nw_tags_init(&evaluation.of_truth, pair.queries->set, evaluation.names);
	nw_set_pair_batch(&pair, &batch, add_answer, &evaluation);
	nw_batch_run(&batch, pair.queries);

	order = nw_labels_order(evaluation.names);
	for (int i = 0; i < evaluation.names->n; i++)
	{
		const TagCount *count = &evaluation.count[order[i]];
		Datum values[8 + NW_SET_PAIR_COLUMNS];
		bool nulls[8 + NW_SET_PAIR_COLUMNS] = {false};

		values[0] = nw_bytes_datum(evaluation.names->text[order[i]]);
		values[1] = Int64GetDatum(count->n);
		values[2] = Int64GetDatum(count->predicted);
		values[3] = Int64GetDatum(count->correct);
		values[4] = nw_share_or_null(count->correct, count->predicted, &nulls[4]);
		values[5] = nw_share_or_null(count->correct, count->n, &nulls[5]);
		values[6] = nw_share_or_null(2 * count->correct, count->n + count->predicted, &nulls[6]);
		values[7] = Float8GetDatum(nw_sum_value(&count->squares) / (double) evaluation.n);
		nw_set_pair_values(&pair, pair.support->set->tau, values + 8);
		nw_rows_put(rows, values, nulls);
	}
	return (Datum) 0;
}
