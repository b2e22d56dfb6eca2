/*
 * sql/diagnose.c
 *		Find supports that help, harm, or are probably mislabelled, and keep
 *		what was found in tables: nw_diagnose.
 *
 * A support's influence on a query grows with its weight: among supports of
 * the query's label the heaviest helps most, among all others the heaviest
 * harms most.  So the extremes come from two short lists for each query, and
 * only totals need every pair: one array over the supports, no table of
 * pairs.
 */
#include "postgres.h"

#include <math.h>

#include "access/table.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "math/elementary.h"
#include "math/sum.h"
#include "predict/batch.h"
#include "rows.h"
#include "sets/own_tables.h"
#include "sql/args.h"
#include "sql/influence.h"
#include "sql/progress.h"
#include "sql/set_pair.h"
#include "sql/suspects.h"

PG_FUNCTION_INFO_V1(nw_diagnose);

/* A diagnosis under way. */
typedef struct Diagnosis
{
	const NwSetPair *pair;
	const NwBatch *batch;
	Relation influences; /* table of helpful and harmful supports */
	Relation suspects;   /* table of probable mislabels */
	NwSum *total;        /* [support->n] influence over all queries */
	int64 *harmful;      /* [support->n] queries it harmed most */
	NwLabels *ids;       /* support ids, numbered */
	int64 *row_of_id;    /* [ids->n] first row of that id */
	int64 written;       /* rows of both tables */
	int64 asked;         /* queries so far */
} Diagnosis;

/* Store one line of a query's most helpful or most harmful supports. */
static void
store_influence(Diagnosis *diagnosis, const NwAnswer *answer, NwBytes predicted, bool helpful,
                int rank, const NwHeavy *item, double influence)
{
	const NwTally *tally = &answer->tally;
	double weight = nw_scaled_ratio(nw_scaled_exp(item->score), tally->verdict.total);
	bool nulls[11] = {false};
	Datum values[lengthof(nulls)] = {Int64GetDatum(diagnosis->pair->support->set->set_id),
	                                 Int64GetDatum(diagnosis->pair->queries->set->set_id),
	                                 BoolGetDatum(helpful),
	                                 nw_text_or_null(answer->query_id, &nulls[3]),
	                                 nw_bytes_datum(answer->truth),
	                                 nw_bytes_datum(predicted),
	                                 Int32GetDatum(rank),
	                                 nw_text_or_null(item->id, &nulls[7]),
	                                 nw_bytes_datum(tally->labels->text[item->class]),
	                                 Float8GetDatum(weight),
	                                 Float8GetDatum(influence)};

	nw_own_insert(diagnosis->influences, values, nulls);
	diagnosis->written++;
}

/* Scores of one query's supports, split as masses want them. */
typedef struct Terms
{
	double *score; /* [support->n], -HUGE_VAL where left out */
	double *bin;   /* [support->n], see nw_mass_split() */
	uint64_t *hi;  /* [support->n] */
	uint64_t *lo;  /* [support->n] */
} Terms;

/* Turn the measures of an answer into terms. */
static void
make_terms(Terms *terms, const NwAnswer *answer, const NwBatch *batch)
{
	const NwSupport *support = batch->support;
	int64 base = 0;

	terms->score = palloc_extended(sizeof(double) * support->n, MCXT_ALLOC_HUGE);
	terms->bin = palloc_extended(sizeof(double) * support->n, MCXT_ALLOC_HUGE);
	terms->hi = palloc_extended(sizeof(uint64_t) * support->n, MCXT_ALLOC_HUGE);
	terms->lo = palloc_extended(sizeof(uint64_t) * support->n, MCXT_ALLOC_HUGE);
	nw_answer_scores(batch, answer, 0, true, -HUGE_VAL, terms->score);
	for (int c = 0; c < support->nchunks; c++)
	{
		nw_mass_split(terms->score + base, support->chunk[c].n, terms->bin + base, terms->hi + base,
		              terms->lo + base);
		base += support->chunk[c].n;
	}
}

/* Give an answer masses that can do without any one support. */
static void
make_removable(NwTally *tally, const Terms *terms, const NwSupport *support)
{
	const int *order = nw_labels_order(support->labels);

	tally->removable = palloc_extended(sizeof(NwRemovable) * support->labels->n, MCXT_ALLOC_HUGE);
	for (int i = 0; i < support->labels->n; i++)
	{
		NwRemovable *sum = &tally->removable[order[i]];
		int64 from = support->class_start[i];

		nw_removable_clear(sum);
		nw_removable_add_run(sum, (int) (support->class_start[i + 1] - from), terms->bin + from,
		                     terms->hi + from, terms->lo + from);
	}
}

/* Add a query's influences to the totals of all supports. */
static void
add_totals(Diagnosis *diagnosis, const NwAnswer *answer, const NwTally *tally, const Terms *terms)
{
	const NwSupport *support = diagnosis->batch->support;
	const int *order = nw_labels_order(support->labels);
	NwShares of_total;

	nw_shares_init(&of_total, tally->verdict.total);
	for (int c = 0; c < support->labels->n; c++)
	{
		bool own = order[c] == answer->truth_class;
		int position = nw_verdict_find(&tally->verdict, order[c]);
		NwShares of_class;

		if (position < 0)
			continue;
		if (own)
			nw_shares_init(&of_class, tally->verdict.value[position]);
		for (int64 i = support->class_start[c]; i < support->class_start[c + 1]; i++)
		{
			double score = terms->score[i];
			double w = nw_share(&of_total, terms->bin[i], terms->hi[i], terms->lo[i]);
			double v = own ? nw_share(&of_class, terms->bin[i], terms->hi[i], terms->lo[i]) : 0;
			double influence;

			if (score == -HUGE_VAL)
				continue;

			/* far from 1 the subtraction loses nothing */
			if (w < 0.5 && v < 0.5)
				influence = own ? nw_log1p(-w) - nw_log1p(-v) : nw_log1p(-w);
			else
			{
				NwHeavy item = {.score = score, .class = order[c]};

				influence = nw_item_influence(tally, &item, answer->truth_class);
			}
			nw_sum_add(&diagnosis->total[i], influence);
		}
	}
	CHECK_FOR_INTERRUPTS();
}

static void
add_diagnosis(const NwAnswer *answer, void *arg)
{
	Diagnosis *diagnosis = arg;
	NwTally tally = answer->tally;
	Terms terms;
	MemoryContext query_mcxt;
	MemoryContext caller;
	NwBytes predicted = nw_tally_label(&tally, nw_verdict_winner(&tally.verdict));

	if (++diagnosis->asked % 16 == 0)
		nw_progress("diagnosing query", diagnosis->asked, -1);
	if (!answer->labelled || nw_verdict_find(&tally.verdict, answer->truth_class) < 0)
		return;

	query_mcxt =
		AllocSetContextCreate(CurrentMemoryContext, "nwhead query", ALLOCSET_DEFAULT_SIZES);
	caller = MemoryContextSwitchTo(query_mcxt);
	make_terms(&terms, answer, diagnosis->batch);
	make_removable(&tally, &terms, diagnosis->batch->support);
	add_totals(diagnosis, answer, &tally, &terms);
	for (int i = 0; i < tally.heaviest.n; i++)
		store_influence(diagnosis, answer, predicted, true, i + 1, &tally.heaviest.item[i],
		                nw_item_influence(&tally, &tally.heaviest.item[i], answer->truth_class));
	for (int i = 0; i < tally.heaviest_others.n; i++)
	{
		const NwHeavy *item = &tally.heaviest_others.item[i];

		store_influence(diagnosis, answer, predicted, false, i + 1, item,
		                nw_item_influence(&tally, item, answer->truth_class));
		if (item->id)
		{
			int id = nw_labels_find_text(diagnosis->ids, nw_bytes_of_string(item->id));

			if (id >= 0)
				diagnosis->harmful[diagnosis->row_of_id[id]]++;
		}
	}
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(query_mcxt);
}

static void
number_ids(Diagnosis *diagnosis, const NwSupport *support)
{
	diagnosis->ids = nw_labels_create(CurrentMemoryContext, TEXTOID);
	diagnosis->row_of_id = palloc_extended(sizeof(int64) * support->n, MCXT_ALLOC_HUGE);
	for (int64 i = 0; i < support->n; i++)
	{
		const char *id = nw_support_id(support, i);
		int known = diagnosis->ids->n;

		if (id && nw_labels_add_text(diagnosis->ids, nw_bytes_of_string(id)) == known)
			diagnosis->row_of_id[known] = i;
	}
}

/* Store one probable mislabel. */
static void
store_suspect(Diagnosis *diagnosis, const NwSuspect *suspect, const NwSupport *support)
{
	int class = nw_support_class(support, suspect->row);
	bool nulls[10] = {false};
	Datum values[lengthof(nulls)] = {
		Int64GetDatum(diagnosis->pair->support->set->set_id),
		Int64GetDatum(diagnosis->pair->queries->set->set_id),
		nw_text_or_null(nw_support_id(support, suspect->row), &nulls[2]),
		nw_bytes_datum(support->labels->text[class]),
		nw_bytes_datum(support->labels->text[suspect->suggested]),
		Float8GetDatum(suspect->probability),
		Float8GetDatum(suspect->log_margin),
		Float8GetDatum(suspect->margin),
		Float8GetDatum(nw_sum_value(&diagnosis->total[suspect->row])),
		Int64GetDatum(diagnosis->harmful[suspect->row])};

	nw_own_insert(diagnosis->suspects, values, nulls);
	diagnosis->written++;
}

/* Open a table of diagnoses, and remove an earlier one of the pair of sets. */
static Relation
open_table(const NwSetPair *pair, NwOwnTable table)
{
	Relation rel = nw_own_open(pair->schema, table, RowExclusiveLock);
	ScanKeyData keys[2];

	/* of two diagnoses of one pair, the later one is to stay */
	LockDatabaseObject(RelationGetRelid(rel), (Oid) pair->support->set->set_id,
	                   (uint16) pair->queries->set->set_id, ExclusiveLock);
	nw_own_key(&keys[0], Anum_diagnosis_support, pair->support->set->set_id);
	nw_own_key(&keys[1], Anum_diagnosis_queries, pair->queries->set->set_id);
	nw_own_delete(rel, table, keys, 2);
	return rel;
}

/*
 * nw_diagnose(support text, queries text, top int, leave_one_out boolean)
 * returns bigint
 */
Datum
nw_diagnose(PG_FUNCTION_ARGS)
{
	int top = nw_top_argument(fcinfo, 2);
	NwSetPair pair;
	NwBatch batch;
	NwSupport *support;
	Diagnosis diagnosis = {.pair = &pair, .batch = &batch};
	NwSuspects suspects = {0};

	nw_check_argument(fcinfo, 1, "queries");
	nw_push_fresh_snapshot();
	nw_set_pair_init(&pair, fcinfo, 0, 1, 3);
	nw_set_check_owner(pair.schema, pair.support->set);
	nw_set_hold(pair.schema, pair.support->set);
	nw_set_hold(pair.schema, pair.queries->set);
	diagnosis.influences = open_table(&pair, NW_INFLUENCE);
	diagnosis.suspects = open_table(&pair, NW_SUSPECT);

	support = nw_suspects_read(pair.support);
	diagnosis.total = palloc_extended(sizeof(NwSum) * support->n, MCXT_ALLOC_HUGE);
	for (int64 i = 0; i < support->n; i++)
		nw_sum_clear(&diagnosis.total[i]);
	diagnosis.harmful =
		palloc_extended(sizeof(int64) * support->n, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	number_ids(&diagnosis, support);

	nw_set_pair_batch(&pair, &batch, add_diagnosis, &diagnosis);
	batch.top = top;
	batch.by_truth = true;
	batch.measures = true;
	nw_batch_open_support(&batch, support);
	nw_batch_ask_set(&batch, pair.queries);
	nw_batch_finish(&batch);

	nw_suspects_find(&suspects, support);
	for (int64 i = 0; i < suspects.n; i++)
		store_suspect(&diagnosis, &suspects.item[i], support);

	/* a view's function may have removed one of them meanwhile */
	nw_set_hold(pair.schema, pair.support->set);
	nw_set_hold(pair.schema, pair.queries->set);
	table_close(diagnosis.influences, NoLock);
	table_close(diagnosis.suspects, NoLock);
	nw_progress_done();
	PopActiveSnapshot();
	PG_RETURN_INT64(diagnosis.written);
}
