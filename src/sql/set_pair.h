/*
 * sql/set_pair.h
 *		A support set and a set of queries, as the whole-set functions take
 *		them.
 */
#ifndef NW_SQL_SET_PAIR_H
#define NW_SQL_SET_PAIR_H

#include "postgres.h"

#include "fmgr.h"

#include "predict/batch.h"
#include "sets/source.h"
#include "sql/shared_rows.h"

/* Both sets, and how a query is treated that is itself a support. */
typedef struct NwSetPair
{
	Oid schema; /* the extension's */
	NwSource *support;
	NwSource *queries;        /* NULL where the caller named none */
	bool leave_one_out;       /* such a query does without itself */
	bool same_vector;         /* and is one only where its vector is the support's, too */
	bool took_part;           /* queries are among the rows that centroids were made of */
	NwShared shared;          /* of a sample of queries; none are sampled where nobody looked */
	struct NwSetPair *member; /* [set->nmembers] each member of a mixture, with the queries */
} NwSetPair;

extern void nw_set_pair_init(NwSetPair *pair, FunctionCallInfo fcinfo, int support_arg,
                             int queries_arg, int leave_one_out_arg);
extern void nw_set_pair_init_any(NwSetPair *pair, FunctionCallInfo fcinfo, int support_arg,
                                 int queries_arg, int leave_one_out_arg);
extern void nw_set_pair_batch(const NwSetPair *pair, NwBatch *batch, NwAnswerCallback callback,
                              void *arg);

/*
 * The values that every whole-set function returns with its results, so that
 * a call with support and queries exchanged shows: names and temperature.
 */
#define NW_SET_PAIR_COLUMNS 3

extern void nw_set_pair_values(const NwSetPair *pair, double tau, Datum *values);
extern void nw_warn_of_models(const NwSet *support, const NwSet *queries);
extern void nw_set_pair_nulls(const NwSetPair *pair, bool *nulls);

#endif /* NW_SQL_SET_PAIR_H */
