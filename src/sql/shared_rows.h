/*
 * sql/shared_rows.h
 *		Find out whether queries are rows of the support, too.
 */
#ifndef NW_SQL_SHARED_ROWS_H
#define NW_SQL_SHARED_ROWS_H

#include "postgres.h"

#include "fmgr.h"

#include "predict/tally.h"
#include "sets/source.h"

/* What a sample of queries has in common with a support. */
typedef struct NwShared
{
	int sampled; /* queries looked at */
	int rows;    /* of these, with id and vector of a support */
	int vectors; /* with the vector of a support */
} NwShared;

extern NwShared nw_shared_rows(const NwSource *support, const NwSource *queries);
extern bool nw_shared_are_copies(const NwShared *shared);
extern void nw_warn_of_shared_rows(const NwSource *support, const NwSource *queries,
                                   const NwShared *shared);
extern void nw_warn_of_own_row(FunctionCallInfo fcinfo, const NwCall *call, const NwTally *tally);

#endif /* NW_SQL_SHARED_ROWS_H */
