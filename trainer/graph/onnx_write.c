/*
 * graph/onnx_write.c: graphs and states as the bytes of ONNX files.
 *
 * Messages are built out of memory that a pool owns.
 */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/meta.h"
#include "graph/onnx_write.h"
#include "graph/shape.h"
#include "graph/states.h"
#include "onnx.pb-c.h"

#define ONNX_OPSET 17
#define ONNX_IR_VERSION 8

/* Allocate a message in its initial state. */
#define NEW(pool, type, init) memcpy(nw_pool_alloc0(pool, sizeof(type)), &(type) init, sizeof(type))

/* Describe an input or output; any_batch leaves the first dimension open. */
Onnx__ValueInfoProto *
nw_value_info(NwPool *p, const char *name, NwDtype type, size_t rank, const int64_t *dim,
              bool any_batch)
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
	s->n_dim = rank;
	s->dim = nw_pool_alloc0(p, s->n_dim * sizeof(*s->dim));
	for (size_t i = 0; i < rank; i++)
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
			s->dim[i]->dim_value = dim[i];
		}
	}
	return v;
}

/* Describe a tensor of the graph as an input or output. */
static Onnx__ValueInfoProto *
tensor_info(NwPool *p, const NwTensor *t, bool any_batch)
{
	return nw_value_info(p, t->name, t->type, (size_t) t->shape.rank, t->shape.dim, any_batch);
}

/* Describe a constant or a weight; the bytes stay where they are. */
static Onnx__TensorProto *
tensor_proto(NwPool *p, const char *name, NwDtype type, const NwShape *shape, const void *data)
{
	Onnx__TensorProto *t = NEW(p, Onnx__TensorProto, ONNX__TENSOR_PROTO__INIT);

	t->name = (char *) name;
	t->has_data_type = 1;
	t->data_type = type;
	t->n_dims = (size_t) shape->rank;
	t->dims = nw_pool_alloc0(p, t->n_dims * sizeof(int64_t));
	memcpy(t->dims, shape->dim, t->n_dims * sizeof(int64_t));
	t->has_raw_data = 1;
	t->raw_data.data = (uint8_t *) data;
	t->raw_data.len = nw_shape_bytes(shape, type);
	return t;
}

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
			m->ints = nw_pool_alloc0(p, m->n_ints * sizeof(int64_t));
			memcpy(m->ints, a->ints, m->n_ints * sizeof(int64_t));
			break;
	}
	return m;
}

static Onnx__NodeProto *
node_proto(NwPool *p, const NwGraph *g, const NwNode *node)
{
	Onnx__NodeProto *m = NEW(p, Onnx__NodeProto, ONNX__NODE_PROTO__INIT);

	m->op_type = (char *) node->type;
	m->domain = node->own ? NW_OWN_DOMAIN : "";
	m->name = g->tensor[node->out[0]].name;
	m->n_input = (size_t) node->n_in;
	m->input = nw_pool_alloc0(p, m->n_input * sizeof(char *));
	for (int i = 0; i < node->n_in; i++)
		m->input[i] = node->in[i] == NW_NONE ? "" : g->tensor[node->in[i]].name;
	m->n_output = (size_t) node->n_out;
	m->output = nw_pool_alloc0(p, m->n_output * sizeof(char *));
	for (int i = 0; i < node->n_out; i++)
		m->output[i] = g->tensor[node->out[i]].name;
	m->n_attribute = (size_t) node->n_attr;
	m->attribute = nw_pool_alloc0(p, m->n_attribute * sizeof(*m->attribute));
	for (int i = 0; i < node->n_attr; i++)
		m->attribute[i] = attribute(p, &node->attr[i]);
	return m;
}

void
nw_model_pack(const Onnx__ModelProto *m, NwBuf *out)
{
	*out = (NwBuf) {.len = onnx__model_proto__get_packed_size(m)};
	out->cap = out->len + 1;
	out->data = nw_alloc(out->cap);
	onnx__model_proto__pack(m, (uint8_t *) out->data);
	out->data[out->len] = 0;
}

/* Wrap a graph into a model, with metadata; the pool of its messages is given back. */
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
			nw_pool_alloc0(p, model.n_metadata_props * sizeof(*model.metadata_props));
		for (int i = 0; i < meta->n; i++)
		{
			Onnx__StringStringEntryProto *e =
				NEW(p, Onnx__StringStringEntryProto, ONNX__STRING_STRING_ENTRY_PROTO__INIT);

			e->key = meta->item[i].key;
			e->value = meta->item[i].value;
			model.metadata_props[i] = e;
		}
	}
	nw_model_pack(&model, out);
	nw_pool_free(p);
}

/* Tell the shapes that the runtime cannot work out: with them it plans its memory ahead. */
static void
own_shapes(NwPool *p, const NwGraph *g, Onnx__GraphProto *graph)
{
	graph->value_info =
		nw_pool_alloc0(p, (size_t) (g->n_nodes * NW_MAX_OUTPUTS) * sizeof(*graph->value_info));
	for (int i = 0; i < g->n_nodes; i++)
		for (int j = 0; g->node[i].own && j < g->node[i].n_out; j++)
		{
			const NwTensor *t = &g->tensor[g->node[i].out[j]];

			if (!t->named)
				graph->value_info[graph->n_value_info++] = tensor_info(p, t, false);
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
	graph.node = nw_pool_alloc0(&pool, graph.n_node * sizeof(*graph.node));
	for (int i = 0; i < g->n_nodes; i++)
		graph.node[i] = node_proto(&pool, g, &g->node[i]);
	own_shapes(&pool, g, &graph);
	graph.input = nw_pool_alloc0(&pool, (size_t) g->n_inputs * sizeof(*graph.input));
	for (int i = 0; i < g->n_inputs; i++)
	{
		const NwTensor *t = &g->tensor[g->input[i]];

		graph.input[graph.n_input++] = tensor_info(&pool, t, any_batch);
	}
	graph.output = nw_pool_alloc0(&pool, (size_t) g->n_outputs * sizeof(*graph.output));
	for (int i = 0; i < g->n_outputs; i++)
	{
		const NwTensor *t = &g->tensor[g->output[i].t];

		graph.output[graph.n_output++] = tensor_info(&pool, t, any_batch);
	}
	graph.initializer = nw_pool_alloc0(&pool, (size_t) g->n_tensors * sizeof(*graph.initializer));
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
	graph.initializer = nw_pool_alloc0(&pool, graph.n_initializer * sizeof(*graph.initializer));
	for (int i = 0; i < s->n; i++)
		graph.initializer[i] =
			tensor_proto(&pool, s->item[i].name, NW_FLOAT, &s->item[i].shape, s->item[i].data);
	pack_model(&pool, &graph, meta, out);
}
