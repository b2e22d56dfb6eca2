/*
 * net/optimizer.h: what a training step makes of gradients.
 */
#ifndef NW_OPTIMIZER_H
#define NW_OPTIMIZER_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/graph.h"

typedef enum NwOptimizerKind
{
	NW_SGD,
	NW_ADAMW
} NwOptimizerKind;

typedef struct NwOptimizer
{
	NwOptimizerKind kind;
	double momentum; /* of SGD */
	bool nesterov;
	double beta[2]; /* of AdamW */
	double weight_decay;
	double clip; /* the longest gradient; 0: any */
} NwOptimizer;

const char *nw_optimizer_name(int i); /* NULL past the last one */
void nw_optimizer_update(NwGraph *g, const NwOptimizer *o);
void nw_optimizer_corrections(const NwOptimizer *o, int64_t step, float *into); /* [2] */

#endif
