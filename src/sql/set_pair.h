/*
 * sql/set_pair.h
 *		A support set and a set of queries, as the whole-set functions take
 *		them.
 */
#ifndef NW_SQL_SET_PAIR_H
#define NW_SQL_SET_PAIR_H

#include "postgres.h"

#include "fmgr.h"

#include "sets/source.h"

typedef struct NwPair
{
	Oid schema; /* the extension's */
	NwSource *support;
	NwSource *queries;
	bool leave_one_out;
} NwPair;

/*
 * Read and check the names of support and queries and the leave_one_out
 * argument.  A null leave_one_out means: where both come from one relation.
 * A null name of queries leaves queries NULL.
 */
extern void nw_pair_init(NwPair *pair, FunctionCallInfo fcinfo, int support_arg, int queries_arg,
                         int leave_one_out_arg);

/*
 * The values that every whole-set function returns with its results, so that
 * a call with support and queries exchanged shows: names and temperature.
 */
#define NW_PAIR_COLUMNS 3

extern void nw_pair_values(const NwPair *pair, double tau, Datum *values);

#endif /* NW_SQL_SET_PAIR_H */
