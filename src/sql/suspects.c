/*
 * sql/suspects.c
 *		Find supports that are probably mislabelled: nw_suspects.
 */
#include "postgres.h"

#include "predict/batch.h"
#include "predict/statement_cache.h"
#include "rows.h"
#include "sets/extension.h"
#include "sql/args.h"
#include "sql/progress.h"
#include "sql/suspects.h"

PG_FUNCTION_INFO_V1(nw_suspects);

/* Read all rows of a set in an order of their own, with ids and weights. */
NwSupport *
nw_suspects_read(const NwSource *source)
{
	return nw_support_read_sorted(source, NW_SCAN_LABEL | NW_SCAN_ID | NW_SCAN_WEIGHT,
	                              nw_cache_bound());
}

/* Note what the other supports say of one. */
static void
add_suspect(const NwAnswer *answer, void *arg)
{
	NwSuspects *suspects = arg;
	const NwTally *tally = &answer->tally;
	int own = nw_verdict_find(&tally->verdict, answer->truth_class);
	int other;
	NwSuspect *suspect;

	if (++suspects->asked % 64 == 0)
		nw_progress("checking support", suspects->asked, suspects->support->n);

	/* the only row of its class, or a support of one class, tells nothing */
	if (own < 0 || tally->verdict.n < 2)
		return;
	other = nw_verdict_rival(&tally->verdict, own);
	suspect = &suspects->item[suspects->n++];
	suspect->row = answer->own_row;
	suspect->suggested = tally->verdict.class[other];
	suspect->probability = nw_verdict_share(&tally->verdict, own);
	suspect->log_margin =
		nw_scaled_log_ratio(tally->verdict.value[own], tally->verdict.value[other]);
	suspect->margin = suspect->probability - nw_verdict_share(&tally->verdict, other);
}

/* Put the most suspect first, equals by id, for qsort_arg. */
static int
compare_suspects(const void *a, const void *b, void *arg)
{
	const NwSuspect *x = a;
	const NwSuspect *y = b;

	if (x->log_margin != y->log_margin)
		return x->log_margin < y->log_margin ? -1 : 1;
	if (x->row != y->row)
	{
		const char *id_x = nw_support_id(arg, x->row);
		const char *id_y = nw_support_id(arg, y->row);
		int cmp = id_x && id_y ? strcmp(id_x, id_y) : 0;

		return cmp != 0 ? cmp : (x->row < y->row ? -1 : 1);
	}
	return 0;
}

/* Ask all other supports about each support, and rank the answers. */
void
nw_suspects_find(NwSuspects *suspects, NwSupport *support)
{
	NwBatch batch = {.leave_one_out = true, .callback = add_suspect, .arg = suspects};

	suspects->support = support;
	suspects->item = palloc_extended(sizeof(NwSuspect) * Max(support->n, 1), MCXT_ALLOC_HUGE);
	nw_batch_open_support(&batch, support);
	for (int64 i = 0; i < support->n; i++)
		nw_batch_ask_own(&batch, i);
	nw_batch_finish(&batch);
	qsort_arg(suspects->item, suspects->n, sizeof(NwSuspect), compare_suspects, support);
}

/*
 * nw_suspects(support text, top int)
 * returns table (support_id, label, suggested_label, probability, log_margin,
 *				  margin, support, tau, rank)
 */
Datum
nw_suspects(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rows;
	Oid schema = nw_extension_schema(fcinfo);
	char *name = nw_text_argument(fcinfo, 0, "support");
	int top = nw_top_argument(fcinfo, 1);
	NwSource *source;
	NwSupport *support;
	NwSuspects suspects = {0};

	source = nw_source_resolve(schema, nw_set_get(schema, name));
	nw_source_check_labelled(source);
	rows = nw_rows_begin(fcinfo);
	support = nw_suspects_read(source);
	nw_suspects_find(&suspects, support);
	for (int64 i = 0; i < suspects.n && i < top; i++)
	{
		const NwSuspect *suspect = &suspects.item[i];
		int class = nw_support_class(support, suspect->row);
		bool nulls[9] = {false};
		Datum values[9] = {nw_text_or_null(nw_support_id(support, suspect->row), &nulls[0]),
		                   nw_bytes_datum(support->labels->text[class]),
		                   nw_bytes_datum(support->labels->text[suspect->suggested]),
		                   Float8GetDatum(suspect->probability),
		                   Float8GetDatum(suspect->log_margin),
		                   Float8GetDatum(suspect->margin),
		                   CStringGetTextDatum(name),
		                   Float8GetDatum(support->tau),
		                   Int32GetDatum((int32) i + 1)};

		nw_rows_put(rows, values, nulls);
	}
	nw_progress_done();
	return (Datum) 0;
}
