/*
 * graph/onnx_read.c: what the bytes of an ONNX file hold.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/message.h"
#include "base/text.h"
#include "graph/meta.h"
#include "graph/onnx_read.h"
#include "graph/protobuf.h"
#include "graph/shape.h"
#include "graph/states.h"
#include "onnx.pb-c.h"

static bool graph_needs_files(const Onnx__GraphProto *g);

/* Put an empty text where a file has none; freed with the message, by protobuf-c's free(). */
static void
complete(char **text)
{
	if (*text == NULL)
		*text = nw_strdup("");
}

/* Complete the texts that are read: all are optional in the format. */
static void
complete_model(Onnx__ModelProto *m)
{
	Onnx__GraphProto *g = m->graph;

	for (size_t i = 0; i < m->n_metadata_props; i++)
	{
		complete(&m->metadata_props[i]->key);
		complete(&m->metadata_props[i]->value);
	}
	for (size_t i = 0; i < g->n_initializer; i++)
		complete(&g->initializer[i]->name);
	for (size_t i = 0; i < g->n_input; i++)
		complete(&g->input[i]->name);
	for (size_t i = 0; i < g->n_output; i++)
		complete(&g->output[i]->name);
	for (size_t i = 0; i < g->n_node; i++)
	{
		complete(&g->node[i]->op_type);
		for (size_t j = 0; j < g->node[i]->n_attribute; j++)
			complete(&g->node[i]->attribute[j]->name);
	}
}

/* Read a model; NULL where the bytes are none. */
Onnx__ModelProto *
nw_model_try_parse(const NwBuf *bytes)
{
	const uint8_t *data = (const uint8_t *) bytes->data;
	Onnx__ModelProto *m = NULL;

	if (nw_protobuf_is_shallow(&onnx__model_proto__descriptor, data, bytes->len))
		m = onnx__model_proto__unpack(NULL, bytes->len, data);
	if (m != NULL && m->graph == NULL)
	{
		onnx__model_proto__free_unpacked(m, NULL);
		m = NULL;
	}
	if (m != NULL)
		complete_model(m);
	return m;
}

static bool
is_elsewhere(const Onnx__TensorProto *t)
{
	return t != NULL && t->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
}

/* Say whether a node has numbers that another file holds. */
static bool
node_needs_files(const Onnx__NodeProto *node)
{
	for (size_t i = 0; i < node->n_attribute; i++)
	{
		const Onnx__AttributeProto *a = node->attribute[i];

		if (is_elsewhere(a->t) || (a->g != NULL && graph_needs_files(a->g)))
			return true;
		for (size_t k = 0; k < a->n_tensors; k++)
			if (is_elsewhere(a->tensors[k]))
				return true;
		for (size_t k = 0; k < a->n_graphs; k++)
			if (graph_needs_files(a->graphs[k]))
				return true;
	}
	return false;
}

/* Say whether a graph has; how deep graphs lie in graphs is bounded. */
static bool
graph_needs_files(const Onnx__GraphProto *g)
{
	for (size_t i = 0; i < g->n_initializer; i++)
		if (is_elsewhere(g->initializer[i]))
			return true;
	for (size_t i = 0; i < g->n_sparse_initializer; i++)
		if (is_elsewhere(g->sparse_initializer[i]->values) ||
		    is_elsewhere(g->sparse_initializer[i]->indices))
			return true;
	for (size_t i = 0; i < g->n_node; i++)
		if (node_needs_files(g->node[i]))
			return true;
	return false;
}

/* Say whether a model has: its bytes are not all of it then. */
static bool
needs_files(const Onnx__ModelProto *m)
{
	for (size_t i = 0; i < m->n_functions; i++)
		for (size_t k = 0; k < m->functions[i]->n_node; k++)
			if (node_needs_files(m->functions[i]->node[k]))
				return true;
	return graph_needs_files(m->graph);
}

static int
compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *) a, *(char *const *) b);
}

/* Refuse a tensor that two nodes make, or a node and the file: which one is meant is not said. */
static void
check_names(const char *path, const Onnx__GraphProto *g)
{
	char **made = NULL;
	size_t n = 0;
	size_t cap = 0;
	const char *twice = NULL;

	for (size_t i = 0; i < g->n_node; i++)
		for (size_t j = 0; j < g->node[i]->n_output; j++)
			if (g->node[i]->output[j][0] != 0)
			{
				NW_GROW(made, n, cap);
				made[n++] = g->node[i]->output[j];
			}
	if (n > 0)
		qsort(made, n, sizeof(char *), compare_names);
	for (size_t i = 1; i < n && twice == NULL; i++)
		twice = strcmp(made[i - 1], made[i]) == 0 ? made[i] : NULL;
	for (size_t i = 0; n > 0 && i < g->n_initializer && twice == NULL; i++)
		if (bsearch(&g->initializer[i]->name, made, n, sizeof(char *), compare_names))
			twice = g->initializer[i]->name;
	for (size_t i = 0; n > 0 && i < g->n_input && twice == NULL; i++)
		if (bsearch(&g->input[i]->name, made, n, sizeof(char *), compare_names))
			twice = g->input[i]->name;
	if (twice != NULL)
		nw_fatal("\"%s\" has tensor \"%s\" twice, so it is no model to run: export it anew", path,
		         twice);
	free(made);
}

/* Read a model, which has to be one file: what identifies it is the file's bytes. */
Onnx__ModelProto *
nw_model_parse(const char *path, const NwBuf *bytes)
{
	Onnx__ModelProto *m = nw_model_try_parse(bytes);

	if (m == NULL)
		nw_fatal("\"%s\" is not an ONNX model", path);
	if (needs_files(m))
		nw_fatal("\"%s\" keeps weights in other files: save the model as one file", path);
	check_names(path, m->graph);
	return m;
}

void
nw_model_metas(const Onnx__ModelProto *m, NwMetas *into)
{
	for (size_t i = 0; i < m->n_metadata_props; i++)
		nw_meta_set(into, m->metadata_props[i]->key, "%s", m->metadata_props[i]->value);
}

/* Find a model's weight by name; NULL where there is none. */
const Onnx__TensorProto *
nw_model_initializer(const Onnx__ModelProto *m, const char *name)
{
	for (size_t i = 0; i < m->graph->n_initializer; i++)
		if (strcmp(m->graph->initializer[i]->name, name) == 0)
			return m->graph->initializer[i];
	return NULL;
}

/* Say whether a node of a model has such an output. */
bool
nw_model_computes(const Onnx__ModelProto *m, const char *name)
{
	for (size_t i = 0; i < m->graph->n_node; i++)
		for (size_t j = 0; j < m->graph->node[i]->n_output; j++)
			if (strcmp(m->graph->node[i]->output[j], name) == 0)
				return true;
	return false;
}

/* Read a tensor's shape and count its elements. */
static size_t
tensor_size(const Onnx__TensorProto *t, const char *path, NwShape *shape)
{
	if (t->n_dims > NW_MAX_RANK)
		nw_fatal("\"%s\": tensor \"%s\" has more than %d dimensions", path, t->name, NW_MAX_RANK);
	*shape = nw_shape((int) t->n_dims, t->dims);
	if (!nw_shape_is_possible(shape))
		nw_fatal("\"%s\": tensor \"%s\" has an impossible dimension", path, t->name);
	return (size_t) nw_shape_size(shape);
}

/* Copy a tensor's elements, however the file holds them. */
static void *
copy_elements(const Onnx__TensorProto *t, const char *path, NwDtype type, NwShape *shape)
{
	size_t n = tensor_size(t, path, shape);
	size_t bytes = nw_shape_bytes(shape, type);
	bool floats = type == NW_FLOAT;
	void *v;

	if (t->data_type != (int) type)
		nw_fatal("\"%s\": tensor \"%s\" is not of type %s", path, t->name,
		         floats ? "float" : "int64");
	if (t->has_raw_data ? t->raw_data.len != bytes
	                    : (floats ? t->n_float_data : t->n_int64_data) != n)
		nw_fatal("\"%s\": tensor \"%s\" does not hold its %zu values", path, t->name, n);
	v = nw_alloc(bytes);
	if (n > 0)
		memcpy(v,
		       t->has_raw_data ? (const void *) t->raw_data.data
		       : floats        ? (const void *) t->float_data
		                       : (const void *) t->int64_data,
		       bytes);
	return v;
}

float *
nw_tensor_floats(const Onnx__TensorProto *t, const char *path, NwShape *shape)
{
	return copy_elements(t, path, NW_FLOAT, shape);
}

int64_t *
nw_tensor_ints(const Onnx__TensorProto *t, const char *path, NwShape *shape)
{
	return copy_elements(t, path, NW_INT64, shape);
}

/* Read the states of a checkpoint. */
void
nw_states_unpack(const Onnx__ModelProto *m, const char *path, NwStates *into)
{
	for (size_t i = 0; i < m->graph->n_initializer; i++)
	{
		const Onnx__TensorProto *t = m->graph->initializer[i];
		NwShape shape;
		float *v = nw_tensor_floats(t, path, &shape);

		nw_state_add(into, t->name, shape, v);
		free(v);
	}
}
