/*
 * sql/plausible.c
 *		Labels that cover the truth: nw_plausible and nw_conformal_evaluate.
 *
 * A label is plausible where it scores no more than a certain share of earlier
 * queries' labels did: math/conformal.c.  Their scores are in a table; nothing of
 * them comes out here but which labels of the caller's own prediction are plausible.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/lsyscache.h"

#include "math/conformal.h"
#include "predict/batch.h"
#include "rows.h"
#include "sql/args.h"
#include "sql/plausible.h"
#include "sql/set_pair.h"

PG_FUNCTION_INFO_V1(nw_plausible);
PG_FUNCTION_INFO_V1(nw_conformal_evaluate);

/* Read a coverage. */
double
nw_coverage_argument(FunctionCallInfo fcinfo, int arg)
{
	double coverage;

	nw_check_argument(fcinfo, arg, "coverage");
	coverage = PG_GETARG_FLOAT8(arg);
	if (!(coverage > 0 && coverage <= 1))
		ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
		                errmsg("coverage must be above 0 and at most 1, not %s",
		                       float8out_internal(coverage))));
	return coverage;
}

/* Read the scores of a set's labels, or of its numbers, or say how to get some. */
NwReferences *
nw_reference_get(Oid schema, const NwSet *set, bool numeric)
{
	NwReferences *references;

	if (numeric)
		references = nw_reference_read(schema, set, NW_REFERENCE_RESIDUAL);
	else
	{
		references = nw_reference_read(schema, set, NW_REFERENCE_THRESHOLD);
		if (references == NULL)
			references = nw_reference_read(schema, set, NW_REFERENCE_ADAPTIVE);
	}
	if (references == NULL)
		ereport(ERROR,
		        (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
		         numeric ? errmsg("set \"%s\" has no reference scores of numbers", set->name)
		                 : errmsg("set \"%s\" has no reference scores of labels", set->name),
		         errdetail("What is plausible is told from what labelled queries scored."),
		         numeric ? errhint("Its owner can run nw_conformal(%s, queries => ..., method =>"
		                           " 'residual').",
		                           quote_literal_cstr(set->name))
		                 : errhint("Its owner can run nw_conformal(%s, queries => ...).",
		                           quote_literal_cstr(set->name))));
	return references;
}

/* What scores of that coverage are bound by; infinity where they are too few, or none. */
double
nw_reference_bound(const NwReference *reference, double coverage)
{
	int64 rank = reference ? nw_conformal_rank(reference->n, coverage) : 1;

	return reference && rank <= reference->n ? reference->score[rank - 1] : get_float8_infinity();
}

/* Score all classes of an answer [n] by their places. */
static void
score_classes(const NwTally *tally, NwReferenceKind kind, const int *ranking, double *score)
{
	if (kind == NW_REFERENCE_ADAPTIVE)
		nw_conformal_adaptive(&tally->verdict, ranking, score);
	else
	{
		for (int i = 0; i < tally->verdict.n; i++)
			score[i] = nw_conformal_score(&tally->verdict, i);
	}
}

/*
 * nw_plausible(query, support text, coverage float8, classes, exclude, empty_ok boolean)
 * returns text[]
 *
 * Probabilities are those among all classes, as the scores are; classes says which of
 * the plausible ones to return.
 */
Datum
nw_plausible(PG_FUNCTION_ARGS)
{
	NwCall call;
	NwTally *tally;
	NwFilter wanted;
	const NwReferences *references;
	double coverage;
	int *ranking;
	double *score;
	Datum *labels;
	int n = 0;

	if (!nw_call_arguments(&call, fcinfo, 1))
		PG_RETURN_NULL();
	coverage = nw_coverage_argument(fcinfo, 2);
	nw_classes_argument(&call, fcinfo, 3);
	wanted = call.filter;
	memset(&call.filter, 0, sizeof(NwFilter));
	nw_exclude_argument(&call, fcinfo, 4);
	nw_empty_argument(&call, fcinfo, 5);

	tally = nw_call_tally(&call);
	if (tally == NULL)
		PG_RETURN_NULL();
	if (!call.empty_ok)
		nw_tally_check_classes(tally, &wanted, call.support);
	references = nw_reference_get(call.schema, nw_set_get(call.schema, call.support), false);
	ranking = nw_tally_ranking(tally);
	score = palloc_extended(tally->verdict.n * sizeof(double), MCXT_ALLOC_HUGE);
	labels = palloc_extended(tally->verdict.n * sizeof(Datum), MCXT_ALLOC_HUGE);
	score_classes(tally, references->kind, ranking, score);
	for (int i = 0; i < tally->verdict.n; i++)
	{
		NwBytes label = nw_tally_label(tally, ranking[i]);

		if (wanted.classes && !nw_byteset_has(wanted.admitted, label))
			continue;
		if (score[ranking[i]] <= nw_reference_bound(nw_reference_find(references, label), coverage))
			labels[n++] = nw_bytes_datum(label);
	}
	PG_RETURN_ARRAYTYPE_P(construct_array(labels, n, TEXTOID, -1, false, TYPALIGN_INT));
}

/* What nw_conformal_evaluate adds up. */
typedef struct Covered
{
	const NwReferences *references;
	double coverage;
	double *bound; /* [nbounds] of each class, by its number; NaN where not known yet */
	int nbounds;
	MemoryContext mcxt;
	int64 n; /* labelled queries */
	int64 unlabelled;
	int64 unseen;  /* of a label that has no support */
	int64 covered; /* with a set that has their label */
	int64 labels;  /* in all sets */
	int64 empty;   /* sets of no label */
	int64 full;    /* sets of all */
} Covered;

/* The bound of a class, looked up once. */
static double
class_bound(Covered *covered, const NwTally *tally, int place)
{
	int class = tally->verdict.class[place];

	if (class >= covered->nbounds)
	{
		int n = Max(tally->labels->n, 2 * covered->nbounds);

		covered->bound = covered->bound ? repalloc_huge(covered->bound, n * sizeof(double))
		                                : MemoryContextAllocHuge(covered->mcxt, n * sizeof(double));
		while (covered->nbounds < n)
			covered->bound[covered->nbounds++] = get_float8_nan();
	}
	if (isnan(covered->bound[class]))
		covered->bound[class] =
			nw_reference_bound(nw_reference_find(covered->references, nw_tally_label(tally, place)),
		                       covered->coverage);
	return covered->bound[class];
}

/* Add the plausible labels of one answer. */
static void
add_covered(const NwAnswer *answer, void *arg)
{
	Covered *covered = arg;
	NwTally tally = answer->tally;
	int truth = nw_verdict_find(&tally.verdict, answer->truth_class);
	double *score = palloc_extended(tally.verdict.n * sizeof(double), MCXT_ALLOC_HUGE);
	int *ranking =
		covered->references->kind == NW_REFERENCE_ADAPTIVE ? nw_tally_ranking(&tally) : NULL;
	int size = 0;

	if (!answer->labelled)
	{
		covered->unlabelled++;
		return;
	}
	score_classes(&tally, covered->references->kind, ranking, score);
	for (int i = 0; i < tally.verdict.n; i++)
	{
		if (score[i] <= class_bound(covered, &tally, i))
		{
			size++;
			covered->covered += i == truth;
		}
	}
	covered->n++;
	covered->unseen += truth < 0;
	covered->labels += size;
	covered->empty += size == 0;
	covered->full += size == tally.verdict.n;
	pfree(score);
	if (ranking)
		pfree(ranking);
}

/* Point out queries that the scores were found on. */
static void
notice_same_queries(const NwSetPair *pair, const NwReference *reference)
{
	const char *scored = reference->queries ? reference->queries : pair->support->set->name;

	if (strcmp(scored, pair->queries->set->name) == 0)
		ereport(NOTICE,
		        (errmsg("reference scores of set \"%s\" were found on these queries",
		                pair->support->set->name),
		         errdetail("Their coverage is as asked for, and tells nothing of other queries."),
		         errhint("Evaluate on other queries.")));
}

/*
 * nw_conformal_evaluate(support text, queries text, coverage float8,
 *						 leave_one_out boolean)
 * returns (support, queries, tau, method, n, unlabelled, unseen, covered, coverage,
 * mean_size, empty, all_classes, low, high)
 */
Datum
nw_conformal_evaluate(PG_FUNCTION_ARGS)
{
	NwSetPair pair;
	NwBatch batch;
	Covered covered = {.mcxt = CurrentMemoryContext};
	const NwReference *first;
	TupleDesc desc;
	Datum values[NW_SET_PAIR_COLUMNS + 11] = {0};
	bool nulls[NW_SET_PAIR_COLUMNS + 11] = {false};
	int v = NW_SET_PAIR_COLUMNS;
	int64 rank;

	nw_check_argument(fcinfo, 1, "queries");
	covered.coverage = nw_coverage_argument(fcinfo, 2);
	desc = nw_row_type(fcinfo);
	nw_set_pair_init_any(&pair, fcinfo, 0, 1, 3);
	covered.references = nw_reference_get(pair.schema, pair.support->set, false);
	first = &covered.references->row[0];
	notice_same_queries(&pair, first);
	nw_set_pair_batch(&pair, &batch, add_covered, &covered);
	nw_batch_run(&batch, pair.queries);

	nw_set_pair_values(&pair, pair.support->set->tau, values);
	nw_set_pair_nulls(&pair, nulls);
	values[v++] = CStringGetTextDatum(nw_reference_name(covered.references->kind));
	values[v++] = Int64GetDatum(covered.n);
	values[v++] = Int64GetDatum(covered.unlabelled);
	values[v++] = Int64GetDatum(covered.unseen);
	values[v++] = Int64GetDatum(covered.covered);
	nulls[v] = nulls[v + 1] = covered.n == 0;
	values[v++] = Float8GetDatum((double) covered.covered / (double) Max(covered.n, 1));
	values[v++] = Float8GetDatum((double) covered.labels / (double) Max(covered.n, 1));
	values[v++] = Int64GetDatum(covered.empty);
	values[v++] = Int64GetDatum(covered.full);
	rank = nw_conformal_rank(first->n, covered.coverage);
	nulls[v] = nulls[v + 1] = covered.n == 0 || first->class.data || rank > first->n;
	if (!nulls[v])
	{
		int64 low;
		int64 high;

		nw_coverage_limits(first->n, rank, covered.n, &low, &high);
		values[v] = Float8GetDatum((double) low / (double) covered.n);
		values[v + 1] = Float8GetDatum((double) high / (double) covered.n);
	}
	return nw_row_datum(desc, values, nulls);
}
