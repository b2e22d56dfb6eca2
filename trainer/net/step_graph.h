/*
 * net/step_graph.h: the graph of one training step: a model and its loss.
 */
#ifndef NW_STEP_GRAPH_H
#define NW_STEP_GRAPH_H

#include "data/batch_spec.h"
#include "graph/graph.h"
#include "net/model.h"

NwT nw_step_head(NwGraph *g, const NwModelSpec *spec, const NwBatchSpec *b, NwT z, NwT *log_p);
NwT nw_step_loss(NwGraph *g, const NwModelSpec *spec, const NwBatchSpec *b);

#endif
