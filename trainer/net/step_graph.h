/*
 * net/step_graph.h: the graph of one training step: forward, backward, update.
 */
#ifndef NW_STEP_GRAPH_H
#define NW_STEP_GRAPH_H

#include "net/backbone.h"
#include "net/builtin.h"

typedef enum NwHead
{
	NW_HEAD_NW,
	NW_HEAD_FC
} NwHead;

/* what a model computes, whatever it is trained on */
typedef struct NwModelSpec
{
	NwNet net;            /* a built-in network ... */
	NwBackbone *backbone; /* ... or a loaded one */
	int channels;
	int height;
	int width;
	int dim; /* of the embedding; 0 takes the features as they are */
	NwHead head;
	int classes; /* outputs of the FC head */
	double tau;
} NwModelSpec;

/* the batch of a step */
typedef struct NwBatchSpec
{
	int queries;  /* N_b */
	int supports; /* N_s; 0 for the FC head */
	bool shared;  /* one support set for all queries */
	int slots;    /* classes a query can tell apart in its supports */
} NwBatchSpec;

int nw_batch_images(const NwBatchSpec *b);
NwT nw_model_embedding(NwGraph *g, const NwModelSpec *spec, NwT images); /* -> [N,dim] */
NwT nw_loss_nw(NwGraph *g, const NwBatchSpec *b, double tau, NwT z, NwT *log_p);
NwT nw_loss_fc(NwGraph *g, const NwBatchSpec *b, NwT z, NwT *log_p);
NwT nw_step_loss(NwGraph *g, const NwModelSpec *spec, const NwBatchSpec *b);
void nw_step_update(NwGraph *g, double momentum, double weight_decay);

#endif
