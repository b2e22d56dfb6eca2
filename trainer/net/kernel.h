/*
 * net/kernel.h: how a query and a support are compared.
 */
#ifndef NW_KERNEL_H
#define NW_KERNEL_H

#include <stdbool.h>

#include "data/batch_spec.h"
#include "graph/graph.h"

/* those of the extension */
typedef enum NwKernel
{
	NW_EUCLIDEAN,
	NW_GAUSSIAN,
	NW_HYPERSPHERE,
	NW_COSINE,
	NW_DOT
} NwKernel;

const char *nw_kernel_name(int i); /* NULL past the last one */
double nw_kernel_tau(NwKernel kernel);
NwT nw_kernel_mask(NwGraph *g, NwKernel kernel, NwT member);
NwT nw_kernel_scores(NwGraph *g, NwKernel kernel, double tau, const NwBatchSpec *b,
                     NwT z); /* [N,d] -> [Nb,Ns] */

#endif
