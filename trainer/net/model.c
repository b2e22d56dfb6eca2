/*
 * net/model.c: a network, its embedding and its head.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/ops.h"
#include "graph/shape.h"
#include "graph/states.h"
#include "net/backbone.h"
#include "net/builtin.h"
#include "net/model.h"

/* The names of heads, indexed by NwHead; NULL past the last one. */
const char *
nw_head_name(int i)
{
	static const char *const names[] = {"nw", "fc", NULL};

	return names[i];
}

NwT
nw_model_embedding(NwGraph *g, const NwModelSpec *spec, NwT images)
{
	NwT z = spec->backbone ? nw_backbone_features(g, spec->backbone, images)
	                       : nw_builtin_features(g, &spec->builtin, images);

	return spec->dim > 0 ? nw_linear(g, "embedding", z, spec->dim) : z;
}

/* Emit a fully connected layer. */
NwT
nw_linear(NwGraph *g, const char *name, NwT x, int64_t outs)
{
	char *weight = nw_printf("%s.weight", name);
	char *bias = nw_printf("%s.bias", name);
	NwT w = nw_param(g, weight, NW_SHAPE(outs, NW_DIM(g, x, 1)), NW_INIT_UNIFORM);
	NwT b = nw_param(g, bias, NW_SHAPE(outs), NW_INIT_ZERO);

	free(weight);
	free(bias);
	return nw_gemm(g, x, w, b, false, true, 1, 1);
}
