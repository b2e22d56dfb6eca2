/*
 * predict/call.h
 *		One query, asked of one set.
 */
#ifndef NW_PREDICT_CALL_H
#define NW_PREDICT_CALL_H

#include "postgres.h"

#include "index/search.h"
#include "predict/tally.h"

extern NwBytes nw_call_label(const NwCall *call);
extern NwTally *nw_call_tally(const NwCall *call);
extern NwBytes nw_call_index_work(const NwCall *call, NwSearchWork *work, const char **reason);

#endif /* NW_PREDICT_CALL_H */
