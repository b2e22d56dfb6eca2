/*
 * sql/confusion.c
 *		Count which labels are taken for which: nw_confusion, and for each label
 *		nw_class_report.
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "grow.h"
#include "math/calibration_bins.h"
#include "predict/batch.h"
#include "rows.h"
#include "sql/args.h"
#include "sql/set_pair.h"

PG_FUNCTION_INFO_V1(nw_confusion);
PG_FUNCTION_INFO_V1(nw_class_report);

/* Queries of one label that were given another (or the same). */
typedef struct Cell
{
	int truth;
	int predicted;
	NwCalibrationBin bin; /* of all of them */
} Cell;

/* All of them. */
typedef struct Confusion
{
	MemoryContext mcxt;
	NwLabels *labels; /* truths and predictions, numbered */
	NwLabels *pairs;  /* (truth, predicted), numbered */
	Cell *cell;       /* [pairs->n] */
	int allocated;
} Confusion;

/* Count one answer in its cell. */
static void
add_confusion(const NwAnswer *answer, void *arg)
{
	Confusion *confusion = arg;
	const NwTally *tally = &answer->tally;
	int best = nw_verdict_winner(&tally->verdict);
	int key[2];
	int known = confusion->pairs->n;
	int i;

	if (!answer->labelled)
		return;
	key[0] = nw_labels_add_text(confusion->labels, answer->truth);
	key[1] = nw_labels_add_text(confusion->labels, nw_tally_label(tally, best));
	i = nw_labels_add_text(confusion->pairs, (NwBytes) {(const char *) key, sizeof(key)});
	NW_RESERVE(confusion->mcxt, confusion->cell, confusion->allocated, i + 1);
	if (i == known)
		confusion->cell[i] = (Cell) {.truth = key[0], .predicted = key[1]};
	nw_bin_add(&confusion->cell[i].bin, nw_verdict_probability(&tally->verdict, best),
	           key[0] == key[1]);
}

/* Order cells by truth, then prediction, in byte order, for qsort_arg. */
static int
compare_cells(const void *a, const void *b, void *arg)
{
	const Cell *x = a;
	const Cell *y = b;
	const NwLabels *labels = arg;
	int cmp = nw_bytes_compare(labels->text[x->truth], labels->text[y->truth]);

	return cmp != 0 ? cmp
	                : nw_bytes_compare(labels->text[x->predicted], labels->text[y->predicted]);
}

/* Ask the support about all queries of a pair of sets, and count. */
static void
count_confusion(Confusion *confusion, const NwSetPair *pair)
{
	NwBatch batch;

	memset(confusion, 0, sizeof(Confusion));
	confusion->mcxt = CurrentMemoryContext;
	confusion->labels = nw_labels_create(CurrentMemoryContext, TEXTOID);
	confusion->pairs = nw_labels_create(CurrentMemoryContext, TEXTOID);
	nw_set_pair_batch(pair, &batch, add_confusion, confusion);
	nw_batch_run(&batch, pair->queries);
}

/*
 * nw_confusion(support text, queries text, leave_one_out boolean)
 * returns table (truth, predicted, n, mean_confidence, support, queries, tau)
 */
Datum
nw_confusion(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rows;
	NwSetPair pair;
	Confusion confusion;

	nw_check_argument(fcinfo, 1, "queries");
	nw_set_pair_init_any(&pair, fcinfo, 0, 1, 2);
	rows = nw_rows_begin(fcinfo);
	count_confusion(&confusion, &pair);
	qsort_arg(confusion.cell, confusion.pairs->n, sizeof(Cell), compare_cells, confusion.labels);
	for (int i = 0; i < confusion.pairs->n; i++)
	{
		const Cell *cell = &confusion.cell[i];
		Datum values[4 + NW_SET_PAIR_COLUMNS] = {
			nw_bytes_datum(confusion.labels->text[cell->truth]),
			nw_bytes_datum(confusion.labels->text[cell->predicted]), Int64GetDatum(cell->bin.count),
			Float8GetDatum(nw_bin_confidence(&cell->bin))};
		bool nulls[4 + NW_SET_PAIR_COLUMNS] = {false};

		nw_set_pair_values(&pair, pair.support->set->tau, values + 4);
		nw_set_pair_nulls(&pair, nulls + 4);
		nw_rows_put(rows, values, nulls);
	}
	return (Datum) 0;
}

/* What became of one label. */
typedef struct ClassCount
{
	int64 n;         /* queries that have it */
	int64 predicted; /* queries that were given it */
	int64 correct;   /* both */
} ClassCount;

/* Add up the cells, by truth and by prediction: [labels->n]. */
static ClassCount *
count_classes(const Confusion *confusion)
{
	ClassCount *count = palloc_extended(Max(confusion->labels->n, 1) * sizeof(ClassCount),
	                                    MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	for (int i = 0; i < confusion->pairs->n; i++)
	{
		const Cell *cell = &confusion->cell[i];

		count[cell->truth].n += cell->bin.count;
		count[cell->predicted].predicted += cell->bin.count;
		count[cell->truth].correct += cell->bin.correct;
	}
	return count;
}

/*
 * nw_class_report(support text, queries text, leave_one_out boolean)
 * returns table (label, n, predicted, correct, precision, recall, f1, support,
 * queries, tau)
 */
Datum
nw_class_report(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rows;
	NwSetPair pair;
	Confusion confusion;
	ClassCount *counts;
	const int *order;

	nw_check_argument(fcinfo, 1, "queries");
	nw_set_pair_init_any(&pair, fcinfo, 0, 1, 2);
	rows = nw_rows_begin(fcinfo);
	count_confusion(&confusion, &pair);
	counts = count_classes(&confusion);
	order = nw_labels_order(confusion.labels);
	for (int i = 0; i < confusion.labels->n; i++)
	{
		const ClassCount *count = &counts[order[i]];
		Datum values[7 + NW_SET_PAIR_COLUMNS];
		bool nulls[7 + NW_SET_PAIR_COLUMNS] = {false};

		values[0] = nw_bytes_datum(confusion.labels->text[order[i]]);
		values[1] = Int64GetDatum(count->n);
		values[2] = Int64GetDatum(count->predicted);
		values[3] = Int64GetDatum(count->correct);
		values[4] = nw_share_or_null(count->correct, count->predicted, &nulls[4]);
		values[5] = nw_share_or_null(count->correct, count->n, &nulls[5]);
		values[6] = nw_share_or_null(2 * count->correct, count->n + count->predicted, &nulls[6]);
		nw_set_pair_values(&pair, pair.support->set->tau, values + 7);
		nw_set_pair_nulls(&pair, nulls + 7);
		nw_rows_put(rows, values, nulls);
	}
	return (Datum) 0;
}
