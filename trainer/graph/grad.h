/*
 * graph/grad.h: the gradient of a graph, as further nodes of it.
 */
#ifndef NW_GRAD_H
#define NW_GRAD_H

#include "graph/graph.h"

void nw_backward(NwGraph *g, NwT loss);
void nw_backward_from(NwGraph *g, NwT y, NwT dy);

#endif
