/*
 * net/builtin.h: the built-in networks.
 */
#ifndef NW_BUILTIN_H
#define NW_BUILTIN_H

#include <stdbool.h>

#include "graph/graph.h"

typedef struct NwBuiltin NwBuiltin;

typedef struct NwArch
{
	const char *name;
	int size;  /* usual side of an image; 0: as the data has it */
	int width; /* usual channels of the first layer; of a DenseNet, the growth rate */
	int least; /* smallest side that leaves something to pool */
	NwT (*features)(NwGraph *g, const NwBuiltin *net, NwT images);
} NwArch;

struct NwBuiltin
{
	const NwArch *arch;
	int width;
	bool smooth; /* Softplus for ReLU: a network without kinks, for tests */
};

const char *nw_arch_name(int i);
const NwArch *nw_arch_find(const char *name);
NwT nw_builtin_features(NwGraph *g, const NwBuiltin *net, NwT images); /* [N,C,H,W] -> [N,F] */

#endif
