/*
 * net/buffers.c: values of an ONNX file that no network has learned.
 *
 * A file does not say which of its values are weights, and which are tables that were made
 * to compute with, such as masks of attention.  What is certain of some:
 *
 *   - A value with a number that is not finite was not learned.
 *   - Nor was one of exactly two different numbers, one of them 0, with which the network
 *     only adds, subtracts, multiplies, divides or chooses.  It may be moved before that.
 *
 * These become nodes Constant, so that nothing downstream takes them for weights.  Other
 * tables, such as those of fixed positions, look like weights, and are taken for them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "graph/onnx_read.h"
#include "graph/shape.h"
#include "net/buffers.h"
#include "net/import_node.h"
#include "onnx.pb-c.h"

/* what the numbers of a value look like */
typedef enum Numbers
{
	ANY,
	ZERO_OR_ONE_OTHER, /* both there, and more than two numbers in all */
	NOT_FINITE
} Numbers;

static Numbers
look_at(const Onnx__TensorProto *t, const char *path)
{
	NwShape shape;
	float *v = nw_tensor_floats(t, path, &shape);
	int64_t n = nw_shape_size(&shape);
	float other = 0;
	bool zero = false;
	bool more = false;
	bool finite = true;

	for (int64_t i = 0; i < n; i++)
	{
		finite &= isfinite(v[i]) != 0;
		zero |= v[i] == 0;
		if (other == 0)
			other = v[i];
		more |= v[i] != 0 && v[i] != other;
	}
	free(v);
	if (!finite)
		return NOT_FINITE;
	return zero && other != 0 && !more && n > 2 ? ZERO_OR_ONE_OTHER : ANY;
}

static bool
is_among(const char *type, const char *const *types)
{
	while (*types != NULL && strcmp(*types, type) != 0)
		types++;
	return *types != NULL;
}

/* Say whether a value is only computed with, moved or not; nodes come after what they read. */
static bool
is_computed_with(const Onnx__GraphProto *g, const char *name)
{
	static const char *const moving[] = {"Cast",      "Expand",    "Flatten", "Gather",
	                                     "Identity",  "Reshape",   "Slice",   "Squeeze",
	                                     "Transpose", "Unsqueeze", NULL};
	static const char *const computing[] = {"Add", "Sub", "Mul", "Div", "Where", NULL};
	const char **names = NULL; /* the value's, as it is and moved */
	int n = 0;
	int cap = 0;
	bool only = true;

	NW_GROW(names, n, cap);
	names[n++] = name;
	for (size_t i = 0; only && i < g->n_node; i++)
	{
		const Onnx__NodeProto *node = g->node[i];
		bool moves = false;

		for (size_t j = 0; j < node->n_input; j++)
			for (int k = 0; k < n; k++)
				if (strcmp(node->input[j], names[k]) == 0)
				{
					moves |= is_among(node->op_type, moving);
					only &= is_among(node->op_type, moving) || is_among(node->op_type, computing);
				}
		for (size_t j = 0; moves && j < node->n_output; j++)
		{
			NW_GROW(names, n, cap);
			names[n++] = node->output[j];
		}
	}
	free(names);
	return only;
}

static bool
is_buffer(const Onnx__GraphProto *g, const Onnx__TensorProto *t, const char *path)
{
	Numbers numbers = nw_import_is_weight(t) ? look_at(t, path) : ANY;

	return numbers == NOT_FINITE || (numbers == ZERO_OR_ONE_OTHER && is_computed_with(g, t->name));
}

/* Make a node whose output is a value, which becomes the node's. */
static Onnx__NodeProto *
new_constant(Onnx__TensorProto *t)
{
	Onnx__NodeProto *node = nw_alloc(sizeof(*node));
	Onnx__AttributeProto *a = nw_alloc(sizeof(*a));

	*a = (Onnx__AttributeProto) ONNX__ATTRIBUTE_PROTO__INIT;
	a->name = nw_strdup("value");
	a->has_type = 1;
	a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR;
	a->t = t;
	*node = (Onnx__NodeProto) ONNX__NODE_PROTO__INIT;
	node->op_type = nw_strdup("Constant");
	node->n_output = 1;
	node->output = nw_alloc(sizeof(char *));
	node->output[0] = nw_strdup(t->name);
	node->n_attribute = 1;
	node->attribute = nw_alloc(sizeof(*node->attribute));
	node->attribute[0] = a;
	return node;
}

/* Turn what is certainly no weight into constants, before all nodes. */
void
nw_fix_buffers(Onnx__ModelProto *m, const char *path)
{
	Onnx__GraphProto *g = m->graph;
	Onnx__NodeProto **nodes = nw_alloc((g->n_initializer + g->n_node) * sizeof(*nodes));
	size_t found = 0;
	size_t kept = 0;

	for (size_t i = 0; i < g->n_initializer; i++)
	{
		Onnx__TensorProto *t = g->initializer[i];

		if (is_buffer(g, t, path))
			nodes[found++] = new_constant(t);
		else
			g->initializer[kept++] = t;
	}
	g->n_initializer = kept;
	for (size_t i = 0; i < g->n_node; i++)
		nodes[found + i] = g->node[i];
	free(g->node);
	g->node = nodes;
	g->n_node += found;
}
