/*
 * graph/graph.c: tensors, constants and nodes of a graph under construction.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/message.h"
#include "base/random.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/shape.h"
#include "graph/states.h"
#include "math/gemm.h"

NwGraph *
nw_graph_new(NwPurpose purpose, bool gpu, NwStates *states, uint64_t seed)
{
	NwGraph *g = nw_alloc0(sizeof(NwGraph));

	g->purpose = purpose;
	g->gpu = gpu;
	g->native = purpose == NW_FOR_TRAINING && !gpu && nw_gemm_best() != NULL;
	g->states = states;
	g->seed = seed;
	g->recording = purpose == NW_FOR_TRAINING;
	return g;
}

/* Free a graph; its states belong to the caller. */
void
nw_graph_free(NwGraph *g)
{
	for (int i = 0; i < g->n_tensors; i++)
	{
		free(g->tensor[i].name);
		free(g->tensor[i].data);
	}
	for (int i = 0; i < g->n_nodes; i++)
		free(g->node[i].in);
	for (int i = 0; i < g->n_tape; i++)
		free(g->tape[i].in);
	for (int i = 0; i < g->n_outputs; i++)
		free(g->output[i].name);
	for (int i = 0; i < g->n_updates; i++)
		free(g->update[i].state);
	free(g->tensor);
	free(g->node);
	free(g->tape);
	free(g->input);
	free(g->output);
	free(g->param);
	free(g->update);
	free(g->constant_slot);
	free(g);
}

NwShape
nw_shape_of(const NwGraph *g, NwT t)
{
	return g->tensor[t].shape;
}

/* Say whether a tensor's gradient is wanted. */
bool
nw_needs_grad(const NwGraph *g, NwT t)
{
	return t != NW_NONE && g->tensor[t].needs_grad;
}

/* Add a tensor; without a name it gets a number. */
static NwT
add_tensor(NwGraph *g, const char *name, NwDtype type, NwShape shape)
{
	NwTensor *t;

	NW_GROW(g->tensor, g->n_tensors, g->cap_tensors);
	t = &g->tensor[g->n_tensors];
	*t = (NwTensor) {.name = name ? nw_strdup(name) : nw_printf("t%d", g->n_tensors),
	                 .type = type,
	                 .shape = shape,
	                 .grad = NW_NONE,
	                 .cnhw = NW_NONE};
	return g->n_tensors++;
}

NwT
nw_input(NwGraph *g, const char *name, NwDtype type, NwShape shape)
{
	NwT t = add_tensor(g, name, type, shape);

	g->tensor[t].named = true;
	NW_GROW(g->input, g->n_inputs, g->cap_inputs);
	g->input[g->n_inputs++] = t;
	return t;
}

/* Make a tensor an output of the graph under a name. */
void
nw_output(NwGraph *g, const char *name, NwT t)
{
	if (g->tensor[t].named || g->tensor[t].data != NULL)
	{
		NwNode *node = nw_node(g, "Identity", 1, &t);

		t = nw_node_out(g, node, g->tensor[t].type, g->tensor[t].shape);
	}
	free(g->tensor[t].name);
	g->tensor[t].name = nw_strdup(name);
	g->tensor[t].named = true;
	NW_GROW(g->output, g->n_outputs, g->cap_outputs);
	g->output[g->n_outputs++] = (NwOutput) {nw_strdup(name), t};
}

/* Hash what makes two constants the same. */
static uint64_t
constant_hash(NwDtype type, const NwShape *shape, const void *data)
{
	uint64_t h = nw_hash(data, nw_shape_bytes(shape, type));

	h ^= nw_hash(shape->dim, sizeof(int64_t) * (size_t) shape->rank) * 31;
	return h + (uint64_t) type + (uint64_t) shape->rank * 7;
}

/* Double the hash table over constants. */
static void
grow_constants(NwGraph *g)
{
	int *old = g->constant_slot;
	int old_cap = g->cap_constants;

	g->cap_constants = old_cap ? old_cap * 2 : 64;
	g->constant_slot = nw_alloc((size_t) g->cap_constants * sizeof(int));
	for (int i = 0; i < g->cap_constants; i++)
		g->constant_slot[i] = NW_NONE;
	for (int i = 0; i < old_cap; i++)
		if (old[i] != NW_NONE)
		{
			const NwTensor *t = &g->tensor[old[i]];
			uint64_t h = constant_hash(t->type, &t->shape, t->data);
			uint64_t mask = (uint64_t) g->cap_constants - 1;

			while (g->constant_slot[h & mask] != NW_NONE)
				h++;
			g->constant_slot[h & mask] = old[i];
		}
	free(old);
}

/* Add a constant, or find the equal one that is there already. */
NwT
nw_constant(NwGraph *g, NwDtype type, NwShape shape, const void *data)
{
	size_t bytes = nw_shape_bytes(&shape, type);
	uint64_t h = constant_hash(type, &shape, data);
	uint64_t mask;
	NwT t;

	if (g->n_constants * 2 >= g->cap_constants)
		grow_constants(g);
	mask = (uint64_t) g->cap_constants - 1;
	for (; (t = g->constant_slot[h & mask]) != NW_NONE; h++)
		if (g->tensor[t].type == type && nw_shape_equal(&g->tensor[t].shape, &shape) &&
		    memcmp(g->tensor[t].data, data, bytes) == 0)
			return t;
	t = add_tensor(g, NULL, type, shape);
	g->tensor[t].data = memcpy(nw_alloc(bytes), data, bytes);
	g->constant_slot[h & mask] = t;
	g->n_constants++;
	return t;
}

NwT
nw_scalar(NwGraph *g, double value)
{
	float f = (float) value;

	return nw_constant(g, NW_FLOAT, NW_NO_DIMS, &f);
}

NwT
nw_int64s(NwGraph *g, int n, const int64_t *values)
{
	return nw_constant(g, NW_INT64, NW_SHAPE(n), values);
}

/* Bring a state into the graph: as an input to train, as a constant to export. */
static NwT
add_state(NwGraph *g, const char *name, NwShape shape, NwInit init)
{
	NwState *st = nw_state_find(g->states, name);
	NwT t;

	if (st == NULL)
	{
		st = nw_state_add(g->states, name, shape, NULL);
		if (!g->states->bare)
			nw_state_init(st, init, g->seed);
	}
	if (!nw_shape_equal(&st->shape, &shape))
		nw_fatal("\"%s\" has shape %s, and the network wants %s", name, nw_shape_text(&st->shape),
		         nw_shape_text(&shape));
	if (g->purpose == NW_FOR_TRAINING)
		return nw_input(g, name, NW_FLOAT, shape);
	t = add_tensor(g, name, NW_FLOAT, shape);
	g->tensor[t].data = memcpy(nw_alloc((size_t) nw_shape_size(&shape) * 4), st->data,
	                           (size_t) nw_shape_size(&shape) * 4);
	return t;
}

NwT
nw_param(NwGraph *g, const char *name, NwShape shape, NwInit init)
{
	NwT t = add_state(g, name, shape, init);

	g->tensor[t].needs_grad = g->recording;
	NW_GROW(g->param, g->n_params, g->cap_params);
	g->param[g->n_params++] = t;
	return t;
}

/* Add a state that is kept but not trained: a running mean, a frozen weight. */
NwT
nw_buffer(NwGraph *g, const char *name, NwShape shape, NwInit init)
{
	return add_state(g, name, shape, init);
}

/* Say what a state becomes at the end of a step. */
void
nw_update(NwGraph *g, NwT state, NwT value)
{
	NW_GROW(g->update, g->n_updates, g->cap_updates);
	g->update[g->n_updates++] = (NwUpdate) {nw_strdup(g->tensor[state].name), value};
}

NwAttr
nw_attr_int(const char *name, int64_t v)
{
	return (NwAttr) {.name = name, .type = NW_ATTR_INT, .i = v};
}

NwAttr
nw_attr_float(const char *name, float v)
{
	return (NwAttr) {.name = name, .type = NW_ATTR_FLOAT, .f = v};
}

NwAttr
nw_attr_string(const char *name, const char *v)
{
	return (NwAttr) {.name = name, .type = NW_ATTR_STRING, .s = v};
}

NwAttr
nw_attr_ints(const char *name, int n, const int64_t *v)
{
	NwAttr a = {.name = name, .type = NW_ATTR_INTS, .n = n};

	memcpy(a.ints, v, (size_t) n * sizeof(int64_t));
	return a;
}

static void
set_node(NwNode *node, const char *type, int n_in, const NwT *in)
{
	*node = (NwNode) {.type = type, .n_in = n_in};
	node->in = nw_alloc((size_t) n_in * sizeof(NwT));
	memcpy(node->in, in, (size_t) n_in * sizeof(NwT));
}

/* Add a node; the pointer holds until the next one is added. */
NwNode *
nw_node(NwGraph *g, const char *type, int n_in, const NwT *in)
{
	NW_GROW(g->node, g->n_nodes, g->cap_nodes);
	set_node(&g->node[g->n_nodes], type, n_in, in);
	return &g->node[g->n_nodes++];
}

/* Add a node of the program's own operators. */
NwNode *
nw_own_node(NwGraph *g, const char *type, int n_in, const NwT *in)
{
	NwNode *node = nw_node(g, type, n_in, in);

	node->own = true;
	return node;
}

/* Add a tape entry that stands for several nodes. */
NwNode *
nw_tape_entry(NwGraph *g, const char *type, int n_in, const NwT *in)
{
	NW_GROW(g->tape, g->n_tape, g->cap_tape);
	set_node(&g->tape[g->n_tape], type, n_in, in);
	return &g->tape[g->n_tape++];
}

void
nw_node_attr(NwNode *node, NwAttr attr)
{
	node->attr[node->n_attr++] = attr;
}

/* Add an output to a node; it needs a gradient if an input does. */
NwT
nw_node_out(NwGraph *g, NwNode *node, NwDtype type, NwShape shape)
{
	NwT t = add_tensor(g, NULL, type, shape);

	if (g->recording && type == NW_FLOAT)
		for (int i = 0; i < node->n_in; i++)
			if (node->in[i] != NW_NONE && g->tensor[node->in[i]].needs_grad)
				g->tensor[t].needs_grad = true;
	node->out[node->n_out++] = t;
	return t;
}

/* Put a finished node onto the tape, if anything trainable depends on it. */
void
nw_record(NwGraph *g, const NwNode *node)
{
	NwNode copy;
	NwNode *entry;

	if (!g->recording || !g->tensor[node->out[0]].needs_grad)
		return;
	copy = *node;
	entry = nw_tape_entry(g, copy.type, copy.n_in, copy.in);
	copy.in = entry->in;
	*entry = copy;
}
