/*
 * sql/plausible.h
 *		What scores of earlier queries say of a new one.
 */
#ifndef NW_SQL_PLAUSIBLE_H
#define NW_SQL_PLAUSIBLE_H

#include "postgres.h"

#include "fmgr.h"

#include "sets/reference.h"

extern double nw_coverage_argument(FunctionCallInfo fcinfo, int arg);
extern NwReferences *nw_reference_get(Oid schema, const NwSet *set, bool numeric);
extern double nw_reference_bound(const NwReference *reference, double coverage);

#endif /* NW_SQL_PLAUSIBLE_H */
