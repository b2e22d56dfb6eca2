/*
 * sql/conformal.c
 *		Score labelled queries, for what comes later to be compared with:
 *		nw_conformal.
 */
#include "postgres.h"

#include <math.h>

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

#include "grow.h"
#include "math/conformal.h"
#include "predict/batch.h"
#include "rows.h"
#include "sets/labels.h"
#include "sets/origin.h"
#include "sets/reference.h"
#include "sql/args.h"
#include "sql/regress.h"
#include "sql/set_pair.h"
#include "sql/shared_rows.h"

PG_FUNCTION_INFO_V1(nw_conformal);

/* The score of one query, and the class of its label. */
typedef struct Scored
{
	double score;
	int class;
} Scored;

/* All labelled queries of a set. */
typedef struct Scores
{
	MemoryContext mcxt;
	NwReferenceKind kind;
	bool by_class;
	const char *queries; /* name of their set */
	NwNumbers numbers;   /* of the support's labels, where numbers are predicted */
	NwLabels *classes;   /* of the queries, numbered as they are met */
	Scored *item;        /* [n] */
	int n;
	int allocated;
	int64 unlabelled;
	int64 unseen; /* of a label that has no support */
} Scores;

/* Score the truth of an answer. */
static double
score_truth(Scores *scores, NwTally *tally, NwBytes truth, int place)
{
	if (scores->kind == NW_REFERENCE_RESIDUAL)
		return fabs(nw_label_number(truth, scores->queries) -
		            nw_regress_mean(tally, &scores->numbers));
	if (place < 0)
		return NW_WORST_SCORE;
	if (scores->kind == NW_REFERENCE_ADAPTIVE)
	{
		int *ranking = nw_tally_ranking(tally);
		double *score = palloc_extended(tally->verdict.n * sizeof(double), MCXT_ALLOC_HUGE);
		double result;

		nw_conformal_adaptive(&tally->verdict, ranking, score);
		result = score[place];
		pfree(ranking);
		pfree(score);
		return result;
	}
	return nw_conformal_score(&tally->verdict, place);
}

/* Note the score of one answer. */
static void
add_score(const NwAnswer *answer, void *arg)
{
	Scores *scores = arg;
	NwTally tally = answer->tally;
	int place = nw_verdict_find(&tally.verdict, answer->truth_class);
	Scored *scored;

	if (!answer->labelled)
	{
		scores->unlabelled++;
		return;
	}
	if (scores->kind != NW_REFERENCE_RESIDUAL && place < 0)
		scores->unseen++;

	/* no set of labels has a class without supports, so nothing is asked of its scores */
	if (scores->by_class && place < 0)
		return;
	if (scores->n == PG_INT32_MAX)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("too many queries")));
	NW_RESERVE(scores->mcxt, scores->item, scores->allocated, (int64) scores->n + 1);
	scored = &scores->item[scores->n++];
	scored->score = score_truth(scores, &tally, answer->truth, place);
	scored->class = scores->by_class ? nw_labels_add_text(scores->classes, answer->truth) : 0;
}

/* Put the smallest score of the first class in front, for qsort. */
static int
compare_scored(const void *a, const void *b)
{
	const Scored *x = a;
	const Scored *y = b;

	if (x->class != y->class)
		return (x->class > y->class) - (x->class < y->class);
	return (x->score > y->score) - (x->score < y->score);
}

/* Make a row of scores of each class, or one of all; returns how many. */
static int
make_rows(Scores *scores, const char *queries, NwReference **rows)
{
	double *score = palloc_extended(scores->n * sizeof(double), MCXT_ALLOC_HUGE);
	int n = 0;

	qsort(scores->item, scores->n, sizeof(Scored), compare_scored);
	*rows = palloc0(sizeof(NwReference) * (scores->by_class ? scores->classes->n : 1));
	for (int i = 0; i < scores->n; i++)
	{
		score[i] = scores->item[i].score;
		if (i == 0 || scores->item[i].class != scores->item[i - 1].class)
		{
			NwReference *row = &(*rows)[n++];

			if (scores->by_class)
				row->class = scores->classes->text[scores->item[i].class];
			row->queries = queries;
			row->at = GetCurrentTransactionStartTimestamp();
			row->score = score + i;
		}
		(*rows)[n - 1].n++;
	}
	return n;
}

/* Read the name of a method. */
static NwReferenceKind
method_argument(FunctionCallInfo fcinfo, int arg)
{
	char *name = nw_text_argument(fcinfo, arg, "method");
	NwReferenceKind kind;

	if (!nw_reference_parse(name, &kind) || kind > NW_REFERENCE_RESIDUAL)
		ereport(ERROR,
		        (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("unknown method \"%s\"", name),
		         errhint("The methods are threshold, adaptive and residual.")));
	return kind;
}

/* Insist on a set whose own rows can stand for queries, and have it asked about them. */
static void
ask_own_rows(NwSetPair *pair)
{
	const NwSet *set = pair->support->set;

	if (nw_set_is_distilled(set))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("prototypes of set \"%s\" cannot stand for queries", set->name),
		                errdetail("They were made of many rows, or chosen among them."),
		                errhint("Name a set of labelled queries.")));
	pair->queries = pair->support;
	pair->leave_one_out = true;
}

/* Say whether queries are rows of a set, or made it, and do not leave themselves out. */
static bool
has_part_in(const NwSetPair *pair, bool asked)
{
	NwShared shared;

	for (int i = 0; pair->member && i < pair->support->set->nmembers; i++)
	{
		if (has_part_in(&pair->member[i], asked))
			return true;
	}
	if (pair->member)
		return false;
	if (!pair->leave_one_out)
	{
		shared =
			pair->shared.sampled > 0 ? pair->shared : nw_shared_rows(pair->support, pair->queries);
		if (shared.rows > 0 || nw_shared_are_copies(&shared))
			return true;
	}
	return pair->took_part ||
	       (asked && pair->support->set->centroids &&
	        nw_set_kinship(pair->support->set, pair->queries->set) != NW_STRANGERS);
}

/*
 * What these scores promise: coverage among all queries, or of each class; an estimate,
 * where a query was a row of the set and left itself out; or nothing, where it did not.
 */
static const char *
guarantee(const NwSetPair *pair, const NwBatch *batch, bool own, bool asked, bool by_class)
{
	if (has_part_in(pair, asked))
		return "none";
	if (own || nw_batch_left_out(batch))
		return "estimate";
	return by_class ? "by class" : "marginal";
}

/*
 * nw_conformal(support text, queries text, method text, by_class boolean,
 *				leave_one_out boolean)
 * returns (support, queries, tau, method, by_class, n, unlabelled, unseen, classes,
 * guarantee)
 */
Datum
nw_conformal(PG_FUNCTION_ARGS)
{
	NwSetPair pair;
	NwBatch batch;
	NwSet *set;
	Scores scores = {.mcxt = CurrentMemoryContext, .numbers.mcxt = CurrentMemoryContext};
	bool own = PG_ARGISNULL(1);
	NwReference *rows;
	TupleDesc desc;
	Datum values[NW_SET_PAIR_COLUMNS + 7];
	bool nulls[NW_SET_PAIR_COLUMNS + 7] = {false};
	int v = NW_SET_PAIR_COLUMNS;
	int nrows;

	scores.kind = method_argument(fcinfo, 2);
	scores.by_class = !PG_ARGISNULL(3) && PG_GETARG_BOOL(3);
	if (scores.by_class && scores.kind == NW_REFERENCE_RESIDUAL)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("method \"residual\" does not score by class"),
		                errdetail("It predicts numbers.")));
	desc = nw_row_type(fcinfo);

	nw_push_fresh_snapshot();
	nw_set_pair_init_any(&pair, fcinfo, 0, 1, 4);
	set = pair.support->set;
	nw_set_check_owner(pair.schema, set);
	if (own)
		ask_own_rows(&pair);
	nw_source_check_labelled(pair.queries);
	scores.queries = pair.queries->set->name;
	scores.numbers.set = set->name;
	scores.classes = nw_labels_create(CurrentMemoryContext, TEXTOID);
	nw_set_pair_batch(&pair, &batch, add_score, &scores);
	batch.shares = scores.kind == NW_REFERENCE_RESIDUAL;
	nw_batch_run(&batch, pair.queries);
	if (scores.n == 0)
		ereport(ERROR,
		        (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		         errmsg("set \"%s\" has no labels to score", scores.queries),
		         errdetail("%s", scores.unseen > 0 ? "None of its labels has a support."
		                                           : "It has no rows, or all labels are null.")));
	nrows = make_rows(&scores, own ? NULL : scores.queries, &rows);

	/* a set has labels scored by one method */
	nw_set_hold_unchanged(pair.schema, set);
	if (scores.kind == NW_REFERENCE_THRESHOLD)
		nw_reference_remove(pair.schema, set, NW_REFERENCE_ADAPTIVE);
	if (scores.kind == NW_REFERENCE_ADAPTIVE)
		nw_reference_remove(pair.schema, set, NW_REFERENCE_THRESHOLD);
	nw_reference_replace(pair.schema, set, scores.kind, rows, nrows);

	nw_set_pair_values(&pair, set->tau, values);
	nw_set_pair_nulls(&pair, nulls);
	values[v++] = CStringGetTextDatum(nw_reference_name(scores.kind));
	values[v++] = BoolGetDatum(scores.by_class);
	values[v++] = Int64GetDatum(scores.n);
	values[v++] = Int64GetDatum(scores.unlabelled);
	values[v++] = Int64GetDatum(scores.unseen);
	nulls[v] = !scores.by_class;
	values[v++] = Int64GetDatum(nrows);
	values[v++] =
		CStringGetTextDatum(guarantee(&pair, &batch, own, !PG_ARGISNULL(4), scores.by_class));
	PopActiveSnapshot();
	return nw_row_datum(desc, values, nulls);
}
