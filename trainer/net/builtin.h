/*
 * net/builtin.h: the built-in feature extractors.
 */
#ifndef NW_BUILTIN_H
#define NW_BUILTIN_H

#include "graph/graph.h"

typedef struct NwArch
{
	const char *name;
	const char *about;
	int size;  /* usual side of an image; 0: as the data has it */
	int width; /* usual channels of the first layer */
	int least; /* smallest side that leaves something to pool */
} NwArch;

extern const NwArch nw_archs[];
extern const int nw_n_archs;

typedef struct NwNet
{
	const NwArch *arch;
	int width;
	bool smooth; /* Softplus for ReLU: a network without kinks, for tests */
} NwNet;

const NwArch *nw_arch_find(const char *name);
NwT nw_net_features(NwGraph *g, const NwNet *net, NwT images);    /* [N,C,H,W] -> [N,F] */
NwT nw_linear(NwGraph *g, const char *name, NwT x, int64_t outs); /* [N,F] -> [N,outs] */

#endif
