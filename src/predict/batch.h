/*
 * predict/batch.h
 *		Compare many queries with a support set in one pass.
 */
#ifndef NW_PREDICT_BATCH_H
#define NW_PREDICT_BATCH_H

#include "postgres.h"

#include "predict/support.h"
#include "predict/tally.h"
#include "sets/source.h"

/* What was found out about one query; it lives until the callback returns. */
typedef struct NwAnswer
{
	const char *query_id; /* output text; NULL for a null id */
	bool labelled;
	NwBytes truth;         /* the query's label, where labelled */
	int truth_class;       /* among the support's labels, or -1 */
	NwTally tally;         /* of no class where own_row was all there is */
	const double *measure; /* [support->n] in the support's order */
	int64 own_row;         /* row of the support that the query is, or -1 */
	int64 *left_out;       /* [nleft_out] rows of a packed support that do not count */
	int nleft_out;
	int left_out_allocated;
	const float *vector; /* [dim] of the query; only where same_vector */
} NwAnswer;

/* Gets each answer. */
typedef void (*NwAnswerCallback)(const NwAnswer *answer, void *arg);

/* Many queries, asked of one set. */
typedef struct NwBatch
{
	/* what is asked */
	const NwSource *source; /* of the support */
	bool leave_one_out;     /* a query does without the support that it is: of the same id */
	bool same_vector; /* and of the same vector, to half precision; there must be one such query */
	int top;          /* how many heaviest supports to keep */
	bool unnamed;     /* the heaviest do without their ids */
	bool by_truth;    /* as many of the truth's class are kept as of others */
	bool measures;    /* keep every measure of a query */
	bool shares;      /* the tempers of a mixture's members play no part */
	int sharers;      /* members of the mixture that this is one of, which has the answers; or 0 */
	const NwTypical *typical; /* what the nearest supports are compared with; NULL for nothing */
	NwAnswerCallback callback;
	void *arg;

	/* what is kept in the meantime */
	NwSupport *support; /* NULL where it streams */
	struct BatchState *state;

	/* of a mixture, which has no source and state itself */
	const NwSet *mixture;   /* NULL for any other set */
	struct NwBatch *member; /* [mixture->nmembers] */
	struct MixedState *mixed;
} NwBatch;

extern void nw_batch_open_support(NwBatch *batch, NwSupport *support);
extern void nw_batch_open(NwBatch *batch, Size bound);
extern int nw_batch_capacity(const NwBatch *batch);
extern void nw_batch_ask(NwBatch *batch, NwVectorData vector, const char *id, NwBytes truth);
extern NwAnswer *nw_batch_answer(NwBatch *batch, int *n);
extern void nw_batch_clear(NwBatch *batch);
extern bool nw_batch_left_as_asked(const NwBatch *batch);
extern void nw_batch_report_nothing_left_out(const char *set);
extern void nw_batch_ask_row(NwBatch *batch, const NwSupport *queries, int64 row);
extern void nw_batch_ask_own(NwBatch *batch, int64 row);
extern void nw_batch_ask_set(NwBatch *batch, const NwSource *queries);
extern void nw_batch_finish(NwBatch *batch);
extern void nw_batch_run(NwBatch *batch, const NwSource *queries);
extern int64 nw_batch_smallest_class(const NwBatch *batch);
extern bool nw_batch_left_out(const NwBatch *batch);
extern void nw_answer_scores(const NwBatch *batch, const NwAnswer *answer, double tau,
                             bool weighted, double none, double *score);

#endif /* NW_PREDICT_BATCH_H */
