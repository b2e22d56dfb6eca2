/*
 * predict/mixed_batch.h
 *		Compare many queries with the members of a mixture.
 */
#ifndef NW_PREDICT_MIXED_BATCH_H
#define NW_PREDICT_MIXED_BATCH_H

#include "postgres.h"

#include "predict/batch.h"

extern void nw_mixed_open(NwBatch *batch, Size bound);
extern void nw_mixed_ask(NwBatch *batch, NwVectorData vector, const char *id, NwBytes truth);
extern void nw_mixed_finish(NwBatch *batch);

#endif /* NW_PREDICT_MIXED_BATCH_H */
