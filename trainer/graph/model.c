/*
 * graph/model.c: ONNX files: writing graphs and states, reading models and metadata.
 *
 * Everything that packs a message builds it out of memory that one NwPool owns.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/model.h"
#include "graph/protobuf.h"

#define ONNX_OPSET 17
#define ONNX_IR_VERSION 8

/* Memory that is given back in one go. */
typedef struct NwPool
{
	void **block;
	int n;
	int cap;
} NwPool;

static void *
pool_alloc(NwPool *p, size_t bytes)
{
	NW_GROW(p->block, p->n, p->cap);
	return p->block[p->n++] = nw_alloc0(bytes);
}

static void
pool_free(NwPool *p)
{
	for (int i = 0; i < p->n; i++)
		free(p->block[i]);
	free(p->block);
}

/* Allocate a message in its initial state. */
#define NEW(pool, type, init) memcpy(pool_alloc(pool, sizeof(type)), &(type) init, sizeof(type))

/* Set a metadata entry. */
void
nw_meta_set(NwMetas *m, const char *key, const char *fmt, ...)
{
	va_list ap;
	char *value;

	va_start(ap, fmt);
	value = nw_vprintf(fmt, ap);
	va_end(ap);
	NW_GROW(m->item, m->n, m->cap);
	m->item[m->n++] = (NwMeta) {nw_strdup(key), value};
}

/* Find a metadata entry; NULL where there is none. */
const char *
nw_meta_get(const NwMetas *m, const char *key)
{
	for (int i = 0; i < m->n; i++)
		if (strcmp(m->item[i].key, key) == 0)
			return m->item[i].value;
	return NULL;
}

/* Give the metadata's memory back. */
void
nw_metas_free(NwMetas *m)
{
	for (int i = 0; i < m->n; i++)
	{
		free(m->item[i].key);
		free(m->item[i].value);
	}
	free(m->item);
	*m = (NwMetas) {0};
}

/* Describe an input or output. */
static Onnx__ValueInfoProto *
value_info(NwPool *p, const char *name, NwDtype type, const NwShape *shape, bool any_batch)
{
	Onnx__ValueInfoProto *v = NEW(p, Onnx__ValueInfoProto, ONNX__VALUE_INFO_PROTO__INIT);
	Onnx__TypeProto *t = NEW(p, Onnx__TypeProto, ONNX__TYPE_PROTO__INIT);
	Onnx__TypeProto__Tensor *tensor =
		NEW(p, Onnx__TypeProto__Tensor, ONNX__TYPE_PROTO__TENSOR__INIT);
	Onnx__TensorShapeProto *s = NEW(p, Onnx__TensorShapeProto, ONNX__TENSOR_SHAPE_PROTO__INIT);

	v->name = (char *) name;
	v->type = t;
	t->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
	t->tensor_type = tensor;
	tensor->has_elem_type = 1;
	tensor->elem_type = type;
	tensor->shape = s;
	s->n_dim = (size_t) shape->rank;
	s->dim = pool_alloc(p, s->n_dim * sizeof(*s->dim));
	for (int i = 0; i < shape->rank; i++)
	{
		s->dim[i] =
			NEW(p, Onnx__TensorShapeProto__Dimension, ONNX__TENSOR_SHAPE_PROTO__DIMENSION__INIT);
		if (i == 0 && any_batch)
		{
			s->dim[i]->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
			s->dim[i]->dim_param = "N";
		}
		else
		{
			s->dim[i]->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
			s->dim[i]->dim_value = shape->dim[i];
		}
	}
	return v;
}

/* Describe a constant or a weight; the bytes stay where they are. */
static Onnx__TensorProto *
tensor_proto(NwPool *p, const char *name, NwDtype type, const NwShape *shape, const void *data)
{
	Onnx__TensorProto *t = NEW(p, Onnx__TensorProto, ONNX__TENSOR_PROTO__INIT);
	size_t width = type == NW_INT64 ? 8 : type == NW_BOOL ? 1 : 4;

	t->name = (char *) name;
	t->has_data_type = 1;
	t->data_type = type;
	t->n_dims = (size_t) shape->rank;
	t->dims = pool_alloc(p, t->n_dims * sizeof(int64_t));
	memcpy(t->dims, shape->dim, t->n_dims * sizeof(int64_t));
	t->has_raw_data = 1;
	t->raw_data.data = (uint8_t *) data;
	t->raw_data.len = (size_t) nw_shape_size(shape) * width;
	return t;
}

/* Describe an attribute. */
static Onnx__AttributeProto *
attribute(NwPool *p, const NwAttr *a)
{
	Onnx__AttributeProto *m = NEW(p, Onnx__AttributeProto, ONNX__ATTRIBUTE_PROTO__INIT);

	m->name = (char *) a->name;
	m->has_type = 1;
	switch (a->type)
	{
		case NW_ATTR_INT:
			m->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
			m->has_i = 1;
			m->i = a->i;
			break;
		case NW_ATTR_FLOAT:
			m->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
			m->has_f = 1;
			m->f = a->f;
			break;
		case NW_ATTR_STRING:
			m->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING;
			m->has_s = 1;
			m->s.data = (uint8_t *) a->s;
			m->s.len = strlen(a->s);
			break;
		case NW_ATTR_INTS:
			m->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
			m->n_ints = (size_t) a->n;
			m->ints = pool_alloc(p, m->n_ints * sizeof(int64_t));
			memcpy(m->ints, a->ints, m->n_ints * sizeof(int64_t));
			break;
	}
	return m;
}

/* Describe a node. */
static Onnx__NodeProto *
node_proto(NwPool *p, const NwGraph *g, const NwNode *node)
{
	Onnx__NodeProto *m = NEW(p, Onnx__NodeProto, ONNX__NODE_PROTO__INIT);

	m->op_type = (char *) node->type;
	m->domain = node->own ? NW_OWN_DOMAIN : "";
	m->name = g->tensor[node->out[0]].name;
	m->n_input = (size_t) node->n_in;
	m->input = pool_alloc(p, m->n_input * sizeof(char *));
	for (int i = 0; i < node->n_in; i++)
		m->input[i] = node->in[i] == NW_NONE ? "" : g->tensor[node->in[i]].name;
	m->n_output = (size_t) node->n_out;
	m->output = pool_alloc(p, m->n_output * sizeof(char *));
	for (int i = 0; i < node->n_out; i++)
		m->output[i] = g->tensor[node->out[i]].name;
	m->n_attribute = (size_t) node->n_attr;
	m->attribute = pool_alloc(p, m->n_attribute * sizeof(*m->attribute));
	for (int i = 0; i < node->n_attr; i++)
		m->attribute[i] = attribute(p, &node->attr[i]);
	return m;
}

/* Wrap a graph into a model, with metadata, and write it out as bytes. */
static void
pack_model(NwPool *p, Onnx__GraphProto *graph, const NwMetas *meta, NwBuf *out)
{
	Onnx__ModelProto model = ONNX__MODEL_PROTO__INIT;
	Onnx__OperatorSetIdProto opset = ONNX__OPERATOR_SET_ID_PROTO__INIT;
	Onnx__OperatorSetIdProto own = ONNX__OPERATOR_SET_ID_PROTO__INIT;
	Onnx__OperatorSetIdProto *opsets[2] = {&opset, &own};

	opset.domain = "";
	opset.has_version = 1;
	opset.version = ONNX_OPSET;
	own.domain = NW_OWN_DOMAIN;
	own.has_version = 1;
	own.version = 1;
	model.has_ir_version = 1;
	model.ir_version = ONNX_IR_VERSION;
	model.producer_name = "nwhead";
	model.n_opset_import = 1;
	for (size_t i = 0; i < graph->n_node; i++)
		if (graph->node[i]->domain[0] != 0)
			model.n_opset_import = 2;
	model.opset_import = opsets;
	model.graph = graph;
	if (meta != NULL)
	{
		model.n_metadata_props = (size_t) meta->n;
		model.metadata_props =
			pool_alloc(p, model.n_metadata_props * sizeof(*model.metadata_props));
		for (int i = 0; i < meta->n; i++)
		{
			Onnx__StringStringEntryProto *e =
				NEW(p, Onnx__StringStringEntryProto, ONNX__STRING_STRING_ENTRY_PROTO__INIT);

			e->key = meta->item[i].key;
			e->value = meta->item[i].value;
			model.metadata_props[i] = e;
		}
	}
	*out = (NwBuf) {0};
	out->len = onnx__model_proto__get_packed_size(&model);
	out->cap = out->len + 1;
	out->data = nw_alloc(out->cap);
	onnx__model_proto__pack(&model, (uint8_t *) out->data);
	pool_free(p);
}

/* Tell the shapes that the runtime cannot work out: with them it plans its memory ahead. */
static void
own_shapes(NwPool *p, const NwGraph *g, Onnx__GraphProto *graph)
{
	graph->value_info =
		pool_alloc(p, (size_t) (g->n_nodes * NW_MAX_OUTPUTS) * sizeof(*graph->value_info));
	for (int i = 0; i < g->n_nodes; i++)
		for (int j = 0; g->node[i].own && j < g->node[i].n_out; j++)
		{
			const NwTensor *t = &g->tensor[g->node[i].out[j]];

			if (!t->named)
				graph->value_info[graph->n_value_info++] =
					value_info(p, t->name, t->type, &t->shape, false);
		}
}

/* Write a graph as the bytes of an ONNX file; any_batch leaves the first dimension open. */
void
nw_graph_pack(const NwGraph *g, const NwMetas *meta, bool any_batch, NwBuf *out)
{
	NwPool pool = {0};
	Onnx__GraphProto graph = ONNX__GRAPH_PROTO__INIT;

	graph.name = "nwhead";
	graph.n_node = (size_t) g->n_nodes;
	graph.node = pool_alloc(&pool, graph.n_node * sizeof(*graph.node));
	for (int i = 0; i < g->n_nodes; i++)
		graph.node[i] = node_proto(&pool, g, &g->node[i]);
	own_shapes(&pool, g, &graph);
	graph.input = pool_alloc(&pool, (size_t) g->n_inputs * sizeof(*graph.input));
	for (int i = 0; i < g->n_inputs; i++)
	{
		const NwTensor *t = &g->tensor[g->input[i]];

		graph.input[graph.n_input++] = value_info(&pool, t->name, t->type, &t->shape, any_batch);
	}
	graph.output = pool_alloc(&pool, (size_t) g->n_outputs * sizeof(*graph.output));
	for (int i = 0; i < g->n_outputs; i++)
	{
		const NwTensor *t = &g->tensor[g->output[i].t];

		graph.output[graph.n_output++] = value_info(&pool, t->name, t->type, &t->shape, any_batch);
	}
	graph.initializer = pool_alloc(&pool, (size_t) g->n_tensors * sizeof(*graph.initializer));
	for (int i = 0; i < g->n_tensors; i++)
	{
		const NwTensor *t = &g->tensor[i];

		if (t->data != NULL)
			graph.initializer[graph.n_initializer++] =
				tensor_proto(&pool, t->name, t->type, &t->shape, t->data);
	}
	pack_model(&pool, &graph, meta, out);
}

/* Write states and metadata as the bytes of an ONNX file without nodes. */
void
nw_states_pack(const NwStates *s, const NwMetas *meta, NwBuf *out)
{
	NwPool pool = {0};
	Onnx__GraphProto graph = ONNX__GRAPH_PROTO__INIT;

	graph.name = "checkpoint";
	graph.n_initializer = (size_t) s->n;
	graph.initializer = pool_alloc(&pool, graph.n_initializer * sizeof(*graph.initializer));
	for (int i = 0; i < s->n; i++)
		graph.initializer[i] =
			tensor_proto(&pool, s->item[i].name, NW_FLOAT, &s->item[i].shape, s->item[i].data);
	pack_model(&pool, &graph, meta, out);
}

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

/* Read an ONNX file's bytes. */
Onnx__ModelProto *
nw_model_parse(const char *path, const NwBuf *bytes)
{
	const uint8_t *data = (const uint8_t *) bytes->data;
	Onnx__ModelProto *m = NULL;

	if (nw_wire_is_shallow(&onnx__model_proto__descriptor, data, bytes->len))
		m = onnx__model_proto__unpack(NULL, bytes->len, data);
	if (m == NULL || m->graph == NULL)
		nw_fatal("\"%s\" is not an ONNX model", path);
	complete_model(m);
	return m;
}

/* Copy a model's metadata. */
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

/* Copy a tensor's floats, however the file holds them. */
float *
nw_tensor_floats(const Onnx__TensorProto *t, const char *path, NwShape *shape)
{
	size_t n = tensor_size(t, path, shape);
	float *v;

	if (t->data_type != NW_FLOAT)
		nw_fatal("\"%s\": tensor \"%s\" is not of type float", path, t->name);
	if (t->has_raw_data ? t->raw_data.len != n * 4 : t->n_float_data != n)
		nw_fatal("\"%s\": tensor \"%s\" does not hold its %zu values", path, t->name, n);
	v = nw_alloc(n * sizeof(float));
	if (n > 0)
		memcpy(v, t->has_raw_data ? (const void *) t->raw_data.data : t->float_data,
		       n * sizeof(float));
	return v;
}

/* Copy a tensor's 64-bit integers. */
int64_t *
nw_tensor_ints(const Onnx__TensorProto *t, const char *path, NwShape *shape)
{
	size_t n = tensor_size(t, path, shape);
	int64_t *v;

	if (t->data_type != NW_INT64)
		nw_fatal("\"%s\": tensor \"%s\" is not of type int64", path, t->name);
	if (t->has_raw_data ? t->raw_data.len != n * 8 : t->n_int64_data != n)
		nw_fatal("\"%s\": tensor \"%s\" does not hold its %zu values", path, t->name, n);
	v = nw_alloc(n * sizeof(int64_t));
	if (n > 0)
		memcpy(v, t->has_raw_data ? (const void *) t->raw_data.data : t->int64_data,
		       n * sizeof(int64_t));
	return v;
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
