/*
 * sql/score.c
 *		The aggregate nw_score: how good predictions are, for whatever rows a query
 *		brings together.
 *
 * Counts are integers and sums do not depend on the order of their terms, so serial
 * and parallel plans give the same digits, and those of nw_evaluate.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"

#include "bytes/aggregate_state.h"
#include "compat.h"
#include "grow.h"
#include "math/calibration_bins.h"
#include "math/sum.h"
#include "rows.h"
#include "sets/labels.h"
#include "sql/args.h"

/* Rows of one truth. */
typedef struct ClassScore
{
	int64 n;
	int64 correct;
} ClassScore;

/* What is known of the rows so far. */
typedef struct ScoreState
{
	MemoryContext mcxt;
	NwLabels *truths;
	ClassScore *class; /* [truths->n] */
	int allocated;
	NwTextOut label_out; /* of predicted labels, where rows are added */
	int64 unlabelled;    /* rows without a truth */
	int64 unanswered;    /* rows without a label */
	int64 unseen;        /* rows of infinite loss */
	int64 losses;        /* terms in loss */
	int64 briers;        /* terms in brier */
	NwSum loss;
	NwSum brier;
	NwBins *bins;
} ScoreState;

PG_FUNCTION_INFO_V1(nw_score_accum);
PG_FUNCTION_INFO_V1(nw_score_combine);
PG_FUNCTION_INFO_V1(nw_score_serialize);
PG_FUNCTION_INFO_V1(nw_score_deserialize);
PG_FUNCTION_INFO_V1(nw_score_final);

/* Make a state of no rows, for truths of a type and so many bins. */
static ScoreState *
make_state(MemoryContext mcxt, Oid truth_type, int bins)
{
	ScoreState *state;

	nw_check_bins(bins);
	state = MemoryContextAllocZero(mcxt, sizeof(ScoreState));
	state->mcxt = mcxt;
	state->truths = nw_labels_create(mcxt, truth_type);
	nw_sum_clear(&state->loss);
	nw_sum_clear(&state->brier);
	state->bins = MemoryContextAlloc(mcxt, nw_bins_size(bins));
	nw_bins_init(state->bins, bins);
	return state;
}

/* The counts of a class, 0 where it is new. */
static ClassScore *
class_score(ScoreState *state, int class)
{
	int old = state->allocated;

	NW_RESERVE(state->mcxt, state->class, state->allocated, class + 1);
	if (state->allocated > old)
		memset(state->class + old, 0, (state->allocated - old) * sizeof(ClassScore));
	return &state->class[class];
}

/* Add a number that cannot be negative to a sum; false where it is null or infinite. */
static bool
add_number(NwSum *sum, int64 *terms, FunctionCallInfo fcinfo, int arg, const char *name)
{
	double number;

	if (PG_ARGISNULL(arg))
		return false;
	number = PG_GETARG_FLOAT8(arg);
	if (!(number >= 0))
		ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
		                errmsg("%s must not be negative, or NaN, but is %g", name, number)));
	if (isinf(number))
		return false;
	nw_sum_add(sum, number);
	(*terms)++;
	return true;
}

/* Add the numbers of a row that has truth and label. */
static void
add_row(ScoreState *state, FunctionCallInfo fcinfo, bool correct)
{
	if (!PG_ARGISNULL(3))
	{
		double confidence = PG_GETARG_FLOAT8(3);

		nw_check_confidence(confidence);
		nw_bins_add(state->bins, confidence, correct);
	}
	if (!add_number(&state->loss, &state->losses, fcinfo, 4, "loss") && !PG_ARGISNULL(4))
		state->unseen++;
	if (!add_number(&state->brier, &state->briers, fcinfo, 5, "brier") && !PG_ARGISNULL(5))
		ereport(ERROR,
		        (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("brier must be finite")));
}

/*
 * nw_score_accum(internal, truth, label, confidence float8, loss float8, brier float8
 * [, bins int])
 */
Datum
nw_score_accum(PG_FUNCTION_ARGS)
{
	MemoryContext mcxt = nw_aggregate_context(fcinfo);
	int bins = PG_NARGS() > 6 ? nw_bins_argument(fcinfo, 6) : NW_DEFAULT_BINS;
	ScoreState *state;
	ClassScore *score;
	NwBytes truth;
	bool correct;
	int class;

	if (PG_ARGISNULL(0))
	{
		state = make_state(mcxt, nw_type_of_argument(fcinfo, 1), bins);
		nw_text_out_init(&state->label_out, nw_type_of_argument(fcinfo, 2), mcxt);
	}
	else
		state = (ScoreState *) PG_GETARG_POINTER(0);
	nw_check_same_bins(state->bins->n, bins);
	if (PG_ARGISNULL(1))
	{
		state->unlabelled++;
		PG_RETURN_POINTER(state);
	}
	if (PG_ARGISNULL(2))
	{
		state->unanswered++;
		PG_RETURN_POINTER(state);
	}
	class = nw_labels_add(state->truths, PG_GETARG_DATUM(1));
	truth = state->truths->text[class];
	correct = nw_bytes_compare(truth, nw_text_out(&state->label_out, PG_GETARG_DATUM(2))) == 0;
	add_row(state, fcinfo, correct);
	score = class_score(state, class);
	score->n++;
	score->correct += correct;
	PG_RETURN_POINTER(state);
}

/* nw_score_combine(internal, internal) */
Datum
nw_score_combine(PG_FUNCTION_ARGS)
{
	MemoryContext mcxt = nw_aggregate_context(fcinfo);
	ScoreState *state;
	ScoreState *other;

	if (PG_ARGISNULL(1))
	{
		if (PG_ARGISNULL(0))
			PG_RETURN_NULL();
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	}
	other = (ScoreState *) PG_GETARG_POINTER(1);
	state = PG_ARGISNULL(0) ? make_state(mcxt, TEXTOID, (int) other->bins->n)
	                        : (ScoreState *) PG_GETARG_POINTER(0);
	nw_check_same_bins(state->bins->n, other->bins->n);
	for (int i = 0; i < other->truths->n; i++)
	{
		ClassScore *score =
			class_score(state, nw_labels_add_text(state->truths, other->truths->text[i]));

		score->n += other->class[i].n;
		score->correct += other->class[i].correct;
	}
	state->unlabelled += other->unlabelled;
	state->unanswered += other->unanswered;
	state->unseen += other->unseen;
	state->losses += other->losses;
	state->briers += other->briers;
	nw_sum_merge(&state->loss, &other->loss);
	nw_sum_merge(&state->brier, &other->brier);
	nw_bins_merge(state->bins, other->bins);
	PG_RETURN_POINTER(state);
}

/* Send a sum whose terms are all finite. */
static void
send_sum(StringInfo buf, const NwSum *sum)
{
	pq_sendfloat8(buf, sum->mass.top);
	for (int b = 0; b < NW_BINS; b++)
	{
		pq_sendint64(buf, (uint64) (sum->mass.bin[b] >> 64));
		pq_sendint64(buf, (uint64) sum->mass.bin[b]);
	}
}

/* nw_score_serialize(internal) returns bytea */
Datum
nw_score_serialize(PG_FUNCTION_ARGS)
{
	ScoreState *state = (ScoreState *) PG_GETARG_POINTER(0);
	Size bins_size = nw_bins_size((int) state->bins->n);
	StringInfoData buf;

	(void) nw_aggregate_context(fcinfo);
	pq_begintypsend(&buf);
	pq_sendint64(&buf, state->unlabelled);
	pq_sendint64(&buf, state->unanswered);
	pq_sendint64(&buf, state->unseen);
	pq_sendint64(&buf, state->losses);
	pq_sendint64(&buf, state->briers);
	send_sum(&buf, &state->loss);
	send_sum(&buf, &state->brier);
	pq_sendint32(&buf, (int32) bins_size);

	/* both ends are processes of one server: no byte order to mind */
	pq_sendbytes(&buf, (const char *) state->bins, (int) bins_size);
	pq_sendint32(&buf, state->truths->n);
	for (int i = 0; i < state->truths->n; i++)
	{
		NwBytes truth = state->truths->text[i];

		pq_sendint32(&buf, truth.len);
		pq_sendbytes(&buf, truth.data, truth.len);
		pq_sendint64(&buf, state->class[i].n);
		pq_sendint64(&buf, state->class[i].correct);
	}
	PG_RETURN_BYTEA_P(pq_endtypsend(&buf));
}

/* Make a state of what stands before the classes. */
static ScoreState *
state_of_head(const NwScoreHead *head)
{
	int64 bins;
	ScoreState *state;

	memcpy(&bins, head->bins, sizeof(bins));
	state = make_state(CurrentMemoryContext, TEXTOID, (int) bins);
	memcpy(state->bins, head->bins, head->bins_size);
	state->unlabelled = head->unlabelled;
	state->unanswered = head->unanswered;
	state->unseen = head->unseen;
	state->losses = head->losses;
	state->briers = head->briers;
	state->loss.mass = head->loss;
	state->brier.mass = head->brier;
	return state;
}

/* nw_score_deserialize(bytea, internal) returns internal */
Datum
nw_score_deserialize(PG_FUNCTION_ARGS)
{
	bytea *serialized = PG_GETARG_BYTEA_PP(0);
	ScoreState *state = NULL;
	NwStateReader reader;
	NwScoreHead head;
	NwBytes truth;
	ClassScore score;
	bool valid;

	(void) nw_aggregate_context(fcinfo);
	valid =
		nw_score_read_begin(&reader, VARDATA_ANY(serialized), VARSIZE_ANY_EXHDR(serialized), &head);
	if (valid)
		state = state_of_head(&head);
	for (int n = 1; valid && reader.n > 0; n++)
	{
		CHECK_FOR_INTERRUPTS();
		valid = nw_score_read_next(&reader, &truth.data, &truth.len, &score.n, &score.correct) &&
		        pg_verifymbstr(truth.data, truth.len, true);
		if (valid)
			*class_score(state, nw_labels_add_text(state->truths, truth)) = score;
		/* a truth that was there already makes no new class */
		valid = valid && state->truths->n == n;
	}
	if (!valid || !nw_state_read_end(&reader))
		ereport(ERROR, (errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
		                errmsg("invalid state of aggregate")));
	PG_RETURN_POINTER(state);
}

/* The mean of the classes' recalls, added up in their byte order; 0 of none. */
static double
macro_recall(const ScoreState *state)
{
	const int *order = nw_labels_order(state->truths);
	double sum = 0;

	for (int i = 0; i < state->truths->n; i++)
	{
		const ClassScore *score = &state->class[order[i]];

		sum += (double) score->correct / (double) score->n;
	}
	return sum / Max(state->truths->n, 1);
}

/*
 * nw_score_final(internal) returns (n, unlabelled, unanswered, unseen, error_rate,
 * nll, brier, ece, mce, macro_recall)
 */
Datum
nw_score_final(PG_FUNCTION_ARGS)
{
	ScoreState *state;
	Datum values[10];
	bool nulls[10] = {false};
	int64 n = 0;
	int64 correct = 0;

	(void) nw_aggregate_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = (ScoreState *) PG_GETARG_POINTER(0);
	for (int i = 0; i < state->truths->n; i++)
	{
		n += state->class[i].n;
		correct += state->class[i].correct;
	}
	values[0] = Int64GetDatum(n);
	values[1] = Int64GetDatum(state->unlabelled);
	values[2] = Int64GetDatum(state->unanswered);
	values[3] = Int64GetDatum(state->unseen);
	values[4] = Float8GetDatum((double) (n - correct) / (double) Max(n, 1));
	values[5] = Float8GetDatum(nw_sum_value(&state->loss) / (double) Max(state->losses, 1));
	values[6] = Float8GetDatum(nw_sum_value(&state->brier) / (double) Max(state->briers, 1));
	values[7] = Float8GetDatum(nw_bins_ece(state->bins));
	values[8] = Float8GetDatum(nw_bins_mce(state->bins));
	values[9] = Float8GetDatum(macro_recall(state));
	nulls[4] = nulls[9] = n == 0;
	nulls[5] = state->losses == 0;
	nulls[6] = state->briers == 0;
	nulls[7] = nulls[8] = nw_bins_count(state->bins) == 0;
	return nw_row_datum(nw_row_type(fcinfo), values, nulls);
}
