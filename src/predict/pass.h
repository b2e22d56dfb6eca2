/*
 * predict/pass.h
 *		Compare a query with all rows of a set, wherever they are.
 */
#ifndef NW_PREDICT_PASS_H
#define NW_PREDICT_PASS_H

#include "postgres.h"

#include "predict/route.h"
#include "predict/support.h"
#include "predict/tally.h"

extern void nw_pass_packed(NwTallying *tallying, const NwSupport *support);
extern double nw_pass_copies(NwTallying *tallying, const NwSupport *support);
extern bool nw_pass_rows(NwTallying *tallying, NwRoute *route, NwSupport *packing);
extern bool nw_pass_index(NwTallying *tallying, NwRoute *route);

#endif /* NW_PREDICT_PASS_H */
