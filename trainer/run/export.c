/*
 * run/export.c: a trained model as one ONNX file with all that is needed to use it.
 */
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "data/dataset.h"
#include "data/image.h"
#include "graph/graph.h"
#include "graph/meta.h"
#include "graph/onnx_write.h"
#include "graph/ops.h"
#include "graph/shape.h"
#include "graph/states.h"
#include "net/kernel.h"
#include "net/model.h"
#include "run/export.h"

/* any number that is no dimension of a network, to tell the batch apart */
#define PLACEHOLDER_BATCH 3

/* Say whether a graph has its batch's size written into a node. */
static bool
batch_is_fixed(const NwGraph *g)
{
	for (int i = 0; i < g->n_nodes; i++)
		if (strcmp(g->node[i].type, "Expand") == 0)
			return true;
	return false;
}

/* Emit a model for use: images -> embedding, and logits where it has an FC head. */
static NwGraph *
inference_graph(const NwModelSpec *spec, NwStates *states, int64_t batch)
{
	NwGraph *g = nw_graph_new(NW_FOR_EXPORT, false, states, 0);
	NwT images =
		nw_input(g, "images", NW_FLOAT, NW_SHAPE(batch, spec->channels, spec->height, spec->width));
	NwT z = nw_model_embedding(g, spec, images);

	if (spec->head == NW_HEAD_FC)
	{
		NwT logits = nw_linear(g, "head", z, spec->classes);

		/* a trailing 1 meets each class's bias: (z, 1) . (W_c, b_c) */
		nw_output(g, "embedding", nw_pad(g, z, (int64_t[]) {0, 0, 0, 1}, 1));
		nw_output(g, "logits", logits);
	}
	else
		nw_output(g, "embedding", z);
	return g;
}

/* List what a user of the model has to know. */
static void
describe(NwMetas *m, const NwModelSpec *spec, int64_t dim, const NwPreprocess *pre,
         const NwDataset *dataset, const NwMetas *settings)
{
	NwBuf classes = {0};
	NwBuf mean = {0};
	NwBuf std = {0};

	nw_buf_add(&classes, "[", 1);
	for (int i = 0; i < dataset->n_classes; i++)
	{
		if (i > 0)
			nw_buf_add(&classes, ",", 1);
		nw_buf_json(&classes, dataset->classes[i]);
	}
	nw_buf_add(&classes, "]", 1);
	nw_buf_numbers(&mean, pre->channels, pre->mean, 9);
	nw_buf_numbers(&std, pre->channels, pre->std, 9);
	nw_meta_set(m, "nwhead.format", "1");
	nw_meta_set(m, "nwhead.head", "%s", nw_head_name((int) spec->head));
	nw_meta_set(m, "nwhead.kernel", "%s",
	            nw_kernel_name((int) (spec->head == NW_HEAD_FC ? NW_DOT : spec->kernel)));
	nw_meta_set(m, "nwhead.tau", "%.9g", spec->head == NW_HEAD_FC ? 1.0 : spec->tau);
	nw_meta_set(m, "nwhead.dim", "%lld", (long long) dim);
	nw_meta_set(m, "nwhead.channels", "%d", pre->channels);
	nw_meta_set(m, "nwhead.height", "%d", pre->height);
	nw_meta_set(m, "nwhead.width", "%d", pre->width);
	nw_meta_set(m, "nwhead.zoom", "%.9g", pre->zoom);
	nw_meta_set(m, "nwhead.mean", "%s", mean.data);
	nw_meta_set(m, "nwhead.std", "%s", std.data);
	nw_meta_set(m, "nwhead.classes", "%s", classes.data);
	nw_metas_add(m, settings);
	nw_buf_free(&classes);
	nw_buf_free(&mean);
	nw_buf_free(&std);
}

/* Write a model as it is used, for batches of one size and without metadata. */
void
nw_export_bytes(const NwModelSpec *spec, NwStates *states, int64_t batch, NwBuf *out)
{
	NwGraph *g = inference_graph(spec, states, batch);

	nw_graph_pack(g, NULL, false, out);
	nw_graph_free(g);
}

/* Copy the states that an exported model is made of. */
void
nw_export_states(const NwModelSpec *spec, NwStates *states, NwStates *into)
{
	NwGraph *g = inference_graph(spec, states, 1);

	for (int i = 0; i < g->n_tensors; i++)
	{
		const NwTensor *t = &g->tensor[i];

		if (t->data != NULL && nw_state_find(states, t->name) != NULL)
			nw_state_add(into, t->name, t->shape, t->data);
	}
	nw_graph_free(g);
}

/* Write a model with all that is needed to use it; why not (to be freed), else NULL. */
char *
nw_export(const char *path, const NwModelSpec *spec, NwStates *states, const NwPreprocess *pre,
          const NwDataset *dataset, const NwMetas *settings)
{
	NwGraph *g = inference_graph(spec, states, PLACEHOLDER_BATCH);
	bool fixed = batch_is_fixed(g);
	NwMetas meta = {0};
	NwBuf b;
	char *why;

	if (fixed)
	{
		nw_graph_free(g);
		g = inference_graph(spec, states, 1);
	}
	describe(&meta, spec, NW_DIM(g, g->output[0].t, 1), pre, dataset, settings);
	nw_graph_pack(g, &meta, !fixed, &b);
	why = nw_try_write_file(path, b.data, b.len);
	nw_buf_free(&b);
	nw_metas_free(&meta);
	nw_graph_free(g);
	return why;
}
