/*
 * net/kernel.h: how a query and a support are compared.
 */
#ifndef NW_NET_KERNEL_H
#define NW_NET_KERNEL_H

#include "data/batch_spec.h"
#include "graph/graph.h"
#include "math/kernel.h"

const char *nw_kernel_name(int i); /* NULL past the last one */
double nw_kernel_tau(NwKernel kernel);
NwT nw_kernel_scores(NwGraph *g, NwKernel kernel, double tau, const NwBatchSpec *b,
                     NwT z); /* [N,d] -> [Nb,Ns] */

#endif
