/*
 * net/step_graph.c: the graph of one training step: a model and its loss.
 *
 * Inputs:  images [N,C,H,W]: the queries, then the supports (query by query where
 *          each has its own);
 *          targets [Nb,S]: the probability each query shall give to each slot;
 *          member [Nb or 1,Ns,S]: 0 where a support is of that slot, else
 *          NW_NOT_A_MEMBER;
 *          and every weight and running statistic under its name; what the update
 *          needs, optimizer.c adds.
 * Outputs: loss [], log_p [Nb,S]; after the update each state's new value, as "o." and
 *          its name.
 *
 * A slot is a class.  Where each query has its own supports, slots are numbered
 * within the query's support set, so that S is small however many classes there are.
 */
#include <stdint.h>

#include "base/message.h"
#include "data/batch_spec.h"
#include "graph/graph.h"
#include "graph/ops.h"
#include "graph/shape.h"
#include "graph/states.h"
#include "net/kernel.h"
#include "net/model.h"
#include "net/step_graph.h"

/*
 * log sum exp in two parts.  The maximum may be so large that the logarithm would be lost
 * in their sum: maxima are subtracted from each other alone.
 */
typedef struct LogSum
{
	NwT top;  /* the maximum */
	NwT rest; /* log sum exp (x - top) */
} LogSum;

/* Emit log sum exp along an axis, kept with size 1. */
static LogSum
log_sum_exp(NwGraph *g, NwT x, int axis)
{
	bool recording = g->recording;
	LogSum r;

	g->recording = false; /* the shift cancels: no gradient through the maximum */
	r.top = nw_reduce(g, "ReduceMax", x, 1u << axis, true);
	g->recording = recording;
	r.rest = nw_unary(
		g, "Log",
		nw_reduce(g, "ReduceSum", nw_unary(g, "Exp", nw_sub(g, x, r.top)), 1u << axis, true));
	return r;
}

/* Emit the cross-entropy of log-probabilities [Nb,S] against the targets. */
static NwT
cross_entropy(NwGraph *g, const NwBatchSpec *b, NwT log_p)
{
	NwT targets = nw_input(g, "targets", NW_FLOAT, NW_SHAPE(b->queries, b->slots));
	NwT sum = nw_reduce(g, "ReduceSum", nw_mul(g, targets, log_p), 0x3, false);

	return nw_scale(g, sum, -1.0 / b->queries);
}

/* Emit the Nadaraya-Watson loss of embeddings z [N,d], in log space throughout. */
static NwT
loss_of_nw(NwGraph *g, const NwModelSpec *spec, const NwBatchSpec *b, NwT z, NwT *log_p)
{
	int64_t nb = b->queries;
	int64_t ns = b->supports;
	int64_t sets = b->shared ? 1 : nb;
	NwT member = nw_input(g, "member", NW_FLOAT, NW_SHAPE(sets, ns, b->slots));
	NwT score = nw_kernel_scores(g, spec->kernel, spec->tau, b, z);
	NwT by_slot = nw_add(g, nw_reshape(g, score, NW_SHAPE(nb, ns, 1)), member);
	LogSum slot = log_sum_exp(g, by_slot, 1);
	LogSum all = log_sum_exp(g, score, 1);
	NwShape shape = NW_SHAPE(nb, b->slots);

	*log_p = nw_add(g, nw_sub(g, nw_reshape(g, slot.top, shape), all.top),
	                nw_sub(g, nw_reshape(g, slot.rest, shape), all.rest));
	return cross_entropy(g, b, *log_p);
}

/* Emit the loss of a fully connected head over embeddings z [N,d]. */
static NwT
loss_of_fc(NwGraph *g, const NwBatchSpec *b, NwT z, NwT *log_p)
{
	NwT logits = nw_linear(g, "head", z, b->slots);
	LogSum all = log_sum_exp(g, logits, 1);

	*log_p = nw_sub(g, nw_sub(g, logits, all.top), all.rest);
	return cross_entropy(g, b, *log_p);
}

/* Emit the loss of embeddings z [N,d], and with it log_p [Nb,S]. */
NwT
nw_step_head(NwGraph *g, const NwModelSpec *spec, const NwBatchSpec *b, NwT z, NwT *log_p)
{
	return spec->head == NW_HEAD_NW ? loss_of_nw(g, spec, b, z, log_p) : loss_of_fc(g, b, z, log_p);
}

/*
 * Refuse a network that no checkpoint can hold, before its weights are drawn, which takes long: a
 * checkpoint has at least two numbers for each.
 */
static void
check_size(const NwGraph *g, const NwModelSpec *spec, const NwBatchSpec *b)
{
	NwStates shapes = {.bare = true};
	NwGraph *dry = nw_graph_new(NW_FOR_TRAINING, g->gpu, &shapes, g->seed);
	int64_t numbers = 0;

	nw_step_loss(dry, spec, b);
	for (int i = 0; i < dry->n_params; i++)
		numbers += 2 * nw_shape_size(&dry->tensor[dry->param[i]].shape);
	if (numbers > INT32_MAX / (int64_t) sizeof(float))
		nw_fatal("this network is too large: its checkpoint would have more than 2 GiB, which an "
		         "ONNX file cannot; give a smaller --width or --size");
	nw_graph_free(dry);
	nw_states_free(&shapes);
}

/* Emit a model and its loss; loss and log_p become outputs. */
NwT
nw_step_loss(NwGraph *g, const NwModelSpec *spec, const NwBatchSpec *b)
{
	NwT images;
	NwT z;
	NwT log_p;
	NwT loss;

	if (spec->backbone == NULL && !g->states->bare) /* a backbone's weights are in a file */
		check_size(g, spec, b);
	images = nw_input(g, "images", NW_FLOAT,
	                  NW_SHAPE(nw_batch_images(b), spec->channels, spec->height, spec->width));
	z = nw_model_embedding(g, spec, images);
	loss = nw_step_head(g, spec, b, z, &log_p);
	nw_output(g, "loss", loss);
	nw_output(g, "log_p", log_p);
	return loss;
}
