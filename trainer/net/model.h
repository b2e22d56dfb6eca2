/*
 * net/model.h: a network, its embedding and its head.
 */
#ifndef NW_MODEL_H
#define NW_MODEL_H

#include <stdint.h>

#include "graph/graph.h"
#include "net/backbone.h"
#include "net/builtin.h"
#include "net/kernel.h"

typedef enum NwHead
{
	NW_HEAD_NW,
	NW_HEAD_FC
} NwHead;

/* what a model computes, whatever it is trained on */
typedef struct NwModelSpec
{
	NwBackbone *backbone; /* a loaded network, or NULL */
	NwBuiltin builtin;    /* otherwise */
	int channels;
	int height;
	int width;
	int dim; /* of the embedding; 0 takes the features as they are */
	NwHead head;
	int classes; /* outputs of the FC head */
	NwKernel kernel;
	double tau;
} NwModelSpec;

const char *nw_head_name(int i);
NwT nw_model_embedding(NwGraph *g, const NwModelSpec *spec, NwT images); /* -> [N,dim] */
NwT nw_linear(NwGraph *g, const char *name, NwT x, int64_t outs);        /* [N,F] -> [N,outs] */

#endif
