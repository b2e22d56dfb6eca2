/*
 * net/backbone.c: a network loaded from an ONNX file, to be trained further.
 *
 * The batch's size is written into a copy of the model, ONNX Runtime folds the
 * constant parts, and what remains is added node by node through ops.h, so that
 * it is recorded and differentiated like a built-in network.
 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/message.h"
#include "base/random.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/onnx_read.h"
#include "graph/onnx_write.h"
#include "graph/ops.h"
#include "graph/shape.h"
#include "graph/states.h"
#include "net/backbone.h"
#include "net/buffers.h"
#include "net/import.h"
#include "net/import_images.h"
#include "net/import_node.h"
#include "net/separate.h"
#include "onnx.pb-c.h"
#include "ort/runtime.h"

#define MAX_FEATURES (1 << 20)

/* so many convolutions in a row are seldom trained without normalisation between them */
#define MANY_CONVOLUTIONS 8

struct NwBackbone
{
	NwRuntime *rt;
	char *path;
	char *output; /* NULL: the model's first */
	bool freeze_norm;
	int separated; /* weights that the file holds merged with others */
	uint64_t hash; /* of the file */
	Onnx__ModelProto *model;
	Onnx__ValueInfoProto *input;
};

/* Say so where an exporter seems to have folded batch normalisation into convolutions. */
static void
notice_folded(const NwBackbone *b)
{
	static const char *const norms[] = {"BatchNormalization", "LayerNormalization", "Sqrt"};
	int convolutions = 0;

	for (size_t i = 0; i < b->model->graph->n_node; i++)
	{
		const Onnx__NodeProto *node = b->model->graph->node[i];

		for (int j = 0; j < NW_LENGTH(norms); j++) /* any of them, or one made of parts */
			if (strcmp(node->op_type, norms[j]) == 0)
				return;
		convolutions += strcmp(node->op_type, "Conv") == 0 && node->n_input == 3;
	}
	if (convolutions >= MANY_CONVOLUTIONS)
		nw_info(
			"\"%s\" has %d convolutions with a bias, and no batch normalisation: it may have been "
			"folded into them, and then trains worse (docs/trainer.md says how to keep it)",
			b->path, convolutions);
}

/* Return the name of the tensor to take features from, which must be there. */
static char *
output_name(const NwBackbone *b)
{
	const Onnx__GraphProto *g = b->model->graph;

	if (b->output && !nw_model_computes(b->model, b->output))
		nw_fatal("\"%s\" has no output \"%s\"", b->path, b->output);
	if (!b->output && g->n_output == 0)
		nw_fatal("\"%s\" has no output: name a tensor by --output", b->path);
	return b->output ? b->output : g->output[0]->name;
}

/* Find the node that computes a value; as many as there are where none does. */
static size_t
find_producer(const Onnx__GraphProto *g, const char *name)
{
	for (size_t i = 0; i < g->n_node; i++)
		for (size_t j = 0; j < g->node[i]->n_output; j++)
			if (name[0] != 0 && strcmp(g->node[i]->output[j], name) == 0)
				return i;
	return g->n_node;
}

/* Say whether a node reads a value. */
static bool
is_read(const Onnx__GraphProto *g, const char *name)
{
	for (size_t i = 0; i < g->n_node; i++)
		for (size_t j = 0; j < g->node[i]->n_input; j++)
			if (strcmp(g->node[i]->input[j], name) == 0)
				return true;
	return false;
}

/* Mark the nodes that a value needs, the last of them first. */
static void
mark_needed(const Onnx__GraphProto *g, const char *name, bool *needed)
{
	size_t *todo = nw_alloc((g->n_node + 1) * sizeof(size_t));
	size_t i = find_producer(g, name);
	size_t n = 0;

	if (i < g->n_node)
	{
		needed[i] = true;
		todo[n++] = i;
	}
	while (n > 0)
	{
		const Onnx__NodeProto *node = g->node[todo[--n]];

		for (size_t j = 0; j < node->n_input; j++)
			if ((i = find_producer(g, node->input[j])) < g->n_node && !needed[i])
			{
				needed[i] = true;
				todo[n++] = i;
			}
	}
	free(todo);
}

/* Drop what the output does not need: nodes that lead elsewhere, and the values they read. */
static void
drop_unneeded(Onnx__GraphProto *g, const char *output)
{
	bool *needed = nw_alloc0(g->n_node * sizeof(bool));
	size_t kept = 0;

	mark_needed(g, output, needed);
	for (size_t i = 0; i < g->n_node; i++)
		if (needed[i])
			g->node[kept++] = g->node[i];
		else
			onnx__node_proto__free_unpacked(g->node[i], NULL);
	g->n_node = kept;
	free(needed);
	kept = 0;
	for (size_t i = 0; i < g->n_initializer; i++)
		if (is_read(g, g->initializer[i]->name))
			g->initializer[kept++] = g->initializer[i];
		else
			onnx__tensor_proto__free_unpacked(g->initializer[i], NULL);
	g->n_initializer = kept;
}

/* Load a model, look at its input, and keep what its output needs. */
NwBackbone *
nw_backbone_load(NwRuntime *rt, const char *path, const char *output, bool freeze_norm)
{
	NwBackbone *b = nw_alloc0(sizeof(NwBackbone));
	NwBuf bytes;

	nw_read_file(path, &bytes);
	b->rt = rt;
	b->path = nw_strdup(path);
	b->output = output ? nw_strdup(output) : NULL;
	b->freeze_norm = freeze_norm;
	b->model = nw_model_parse(path, &bytes);
	b->hash = nw_hash(bytes.data, bytes.len);
	nw_buf_free(&bytes);
	for (size_t i = 0; i < b->model->graph->n_input; i++)
	{
		Onnx__ValueInfoProto *v = b->model->graph->input[i];

		if (nw_model_initializer(b->model, v->name) != NULL)
			continue;
		if (b->input != NULL)
			nw_fatal("\"%s\" has more than one input: \"%s\" and \"%s\"", path, b->input->name,
			         v->name);
		b->input = v;
	}
	if (b->input == NULL || b->input->type == NULL ||
	    b->input->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ||
	    b->input->type->tensor_type->shape == NULL ||
	    b->input->type->tensor_type->shape->n_dim != 4)
		nw_fatal("\"%s\" has no input of images [N,C,H,W]", path);
	drop_unneeded(b->model->graph, output_name(b));
	nw_fix_buffers(b->model, path);
	notice_folded(b);
	b->separated = nw_separate_weights(b->model, path, freeze_norm);
	return b;
}

void
nw_backbone_free(NwBackbone *b)
{
	onnx__model_proto__free_unpacked(b->model, NULL);
	free(b->path);
	free(b->output);
	free(b);
}

/* Count the weights that the file holds merged with others. */
int
nw_backbone_separated(const NwBackbone *b)
{
	return b->separated;
}

/* Tell one file from another. */
uint64_t
nw_backbone_hash(const NwBackbone *b)
{
	return b->hash;
}

/* Tell the size of image a model wants; 0 where it takes any. */
void
nw_backbone_input(const NwBackbone *b, int *channels, int *height, int *width)
{
	Onnx__TensorShapeProto__Dimension **dim = b->input->type->tensor_type->shape->dim;
	int *into[3] = {channels, height, width};

	for (int i = 0; i < 3; i++)
	{
		int64_t size =
			dim[i + 1]->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE
				? dim[i + 1]->dim_value
				: 0;

		if (size < 0 || size > INT32_MAX)
			nw_fatal("\"%s\" has an input of an impossible size", b->path);
		*into[i] = (int) size;
	}
}

/* Write the shape of a batch into a model's input. */
static void
set_input_shape(NwBackbone *b, const NwShape *images)
{
	Onnx__TensorShapeProto *shape = b->input->type->tensor_type->shape;

	for (int i = 0; i < 4; i++)
	{
		if (shape->dim[i]->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM)
			free(shape->dim[i]->dim_param);
		shape->dim[i]->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
		shape->dim[i]->dim_value = images->dim[i];
	}
}

/*
 * Write the batch's shape into the model, pick the output, and fold constants.
 * Weights are listed as inputs too, which makes them variables: the runtime then
 * folds nothing that depends on them.
 */
static Onnx__ModelProto *
fold(NwBackbone *b, const NwShape *images)
{
	NwPool pool = {0};
	Onnx__ModelProto model = *b->model;
	Onnx__GraphProto graph = *b->model->graph;
	Onnx__ValueInfoProto wanted = ONNX__VALUE_INFO_PROTO__INIT;
	Onnx__ValueInfoProto *only[1] = {&wanted};
	NwBuf packed;
	NwBuf folded;
	Onnx__ModelProto *m;

	set_input_shape(b, images);
	wanted.name = output_name(b);
	graph.output = only;
	graph.n_output = 1;
	graph.n_value_info = 0; /* shapes for another batch size */
	graph.input = nw_pool_alloc0(&pool, (graph.n_initializer + 1) * sizeof(*graph.input));
	graph.n_input = 0;
	graph.input[graph.n_input++] = b->input;
	for (size_t i = 0; i < graph.n_initializer; i++)
	{
		const Onnx__TensorProto *t = graph.initializer[i];

		if (nw_import_is_weight(t))
			graph.input[graph.n_input++] =
				nw_value_info(&pool, t->name, NW_FLOAT, t->n_dims, t->dims, false);
	}
	model.graph = &graph;
	model.has_ir_version = 1;
	if (model.ir_version < 4) /* before, every value of the file was a constant */
		model.ir_version = 4;
	nw_model_pack(&model, &packed);
	nw_pool_free(&pool);
	nw_fold_constants(b->rt, &packed, b->path, &folded);
	nw_buf_free(&packed);
	m = nw_model_parse(b->path, &folded);
	nw_buf_free(&folded);
	return m;
}

/* See with a larger batch whether a network keeps images apart, which one image does not tell. */
static void
check_apart(NwBackbone *b, NwShape images)
{
	NwStates states = {0};
	NwGraph *g = nw_graph_new(NW_FOR_EXPORT, false, &states, 0);

	images.dim[0] = 3;
	nw_backbone_features(g, b, nw_input(g, "images", NW_FLOAT, images));
	nw_graph_free(g);
	nw_states_free(&states);
}

/* Emit a loaded network: images [N,C,H,W] -> features [N,F]. */
NwT
nw_backbone_features(NwGraph *g, NwBackbone *b, NwT images)
{
	NwShape shape = nw_shape_of(g, images);
	NwImport im = {.g = g, .path = b->path, .freeze_norm = b->freeze_norm, .file = b->model};
	Onnx__ModelProto *m;
	bool apart;
	NwT y;

	if (shape.dim[0] == 1)
		check_apart(b, shape);
	nw_import_check(b->path, b->model);
	im.model = m = fold(b, &shape);
	for (size_t i = 0; i < m->n_opset_import; i++)
		if (m->opset_import[i]->domain == NULL || m->opset_import[i]->domain[0] == 0)
			im.opset = m->opset_import[i]->version;
	nw_import_bind(&im, b->input->name, images);
	nw_images_begin(&im, images);
	for (size_t i = 0; i < m->graph->n_node; i++)
	{
		im.node = m->graph->node[i];
		nw_import_node(&im);
	}
	y = m->graph->n_output > 0 ? nw_import_lookup(&im, m->graph->output[0]->name) : NW_NONE;
	if (y == NW_NONE)
		nw_fatal("\"%s\" does not compute its output", b->path);
	apart = nw_images_are_first(&im, y);
	free(im.bound);
	free(im.along);
	onnx__model_proto__free_unpacked(m, NULL);
	if (NW_RANK(g, y) == 4)
		y = nw_reduce(g, "ReduceMean", y, 0xc, false);
	if (!apart || NW_RANK(g, y) != 2 || NW_DIM(g, y, 0) != shape.dim[0] ||
	    NW_DIM(g, y, 1) > MAX_FEATURES)
		nw_fatal("\"%s\": output of shape %s is neither features [N,F] nor images [N,C,H,W]",
		         b->path, nw_shape_text(&g->tensor[y].shape));
	return y;
}
