/*
 * predict/mixed_batch.c
 *		Compare many queries with the members of a mixture.
 *
 * Each member has a batch of its own.  All are asked about the same block of queries,
 * which is as long as the shortest of theirs, and answer it one after the other; what
 * they say of a query is put together then.  The members share the memory that a single
 * set may take, the first ones first: those that find none left are streamed.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "predict/mixed_batch.h"
#include "predict/mixture.h"

/* What is kept from one block of queries to the next. */
typedef struct MixedState
{
	NwMixture *mixture;
	MemoryContext mcxt; /* of the answer at hand */
	NwAnswer **answer;  /* [nmembers] blocks of answers */
	int capacity;       /* queries in a block, at most */
	int n;              /* queries in the block at hand */
} MixedState;

/* Read the supports of all members. */
void
nw_mixed_open(NwBatch *batch, Size bound)
{
	const NwSet *set = batch->mixture;
	MixedState *state = palloc0(sizeof(MixedState));

	state->mixture = nw_mixture_create(CurrentMemoryContext, set);
	state->mcxt =
		AllocSetContextCreate(CurrentMemoryContext, "nwhead mixed answer", ALLOCSET_DEFAULT_SIZES);
	state->answer = palloc(set->nmembers * sizeof(NwAnswer *));
	state->capacity = PG_INT32_MAX;
	for (int i = 0; i < set->nmembers; i++)
	{
		NwBatch *member = &batch->member[i];

		member->sharers = set->nmembers;
		nw_batch_open(member, bound);
		if (member->support)
			bound -= Min(bound, nw_support_memory(member->support));
		state->capacity = Min(state->capacity, nw_batch_capacity(member));
	}
	batch->mixed = state;
}

/* Put together what the members say of one query of the block, and hand it out. */
static void
answer_query(NwBatch *batch, int query)
{
	const NwSet *set = batch->mixture;
	MixedState *state = batch->mixed;
	MemoryContext caller = MemoryContextSwitchTo(state->mcxt);
	NwAnswer answer = state->answer[0][query];
	bool left_out = false;

	nw_mixture_begin(state->mixture, &answer.tally, state->mcxt);
	for (int i = 0; i < set->nmembers; i++)
	{
		nw_mixture_take(state->mixture, &answer.tally, i, &state->answer[i][query].tally,
		                state->mcxt);
		left_out |= batch->member[i].leave_one_out;
	}
	if (!nw_mixture_close(state->mixture, &answer.tally, batch->shares, state->mcxt))
		nw_report_no_support(set->name, left_out);
	answer.truth_class =
		answer.labelled ? nw_labels_find_text(answer.tally.labels, answer.truth) : -1;
	batch->callback(&answer, batch->arg);
	MemoryContextSwitchTo(caller);
	MemoryContextReset(state->mcxt);
}

/* Answer the queries of the block, and empty it. */
static void
flush_queries(NwBatch *batch)
{
	MixedState *state = batch->mixed;
	int nmembers = batch->mixture->nmembers;

	for (int i = 0; i < nmembers; i++)
		state->answer[i] = nw_batch_answer(&batch->member[i], &state->n);
	for (int i = 0; i < state->n; i++)
	{
		answer_query(batch, i);
		CHECK_FOR_INTERRUPTS();
	}
	for (int i = 0; i < nmembers; i++)
		nw_batch_clear(&batch->member[i]);
	state->n = 0;
}

/* Ask all members about a vector: see nw_batch_ask(). */
void
nw_mixed_ask(NwBatch *batch, NwVectorData vector, const char *id, NwBytes truth)
{
	MixedState *state = batch->mixed;

	for (int i = 0; i < batch->mixture->nmembers; i++)
		nw_batch_ask(&batch->member[i], vector, id, truth);
	if (++state->n == state->capacity)
		flush_queries(batch);
}

/* Answer what is still open. */
void
nw_mixed_finish(NwBatch *batch)
{
	bool left_out = false;

	flush_queries(batch);
	for (int i = 0; i < batch->mixture->nmembers; i++)
		left_out |= nw_batch_left_as_asked(&batch->member[i]);
	if (!left_out)
		nw_batch_report_nothing_left_out(batch->mixture->name);
}
