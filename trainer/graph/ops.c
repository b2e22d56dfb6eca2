/*
 * graph/ops.c: operators on single tensors, shapes and matrices.
 */
#include <string.h>

#include "base/memory.h"
#include "base/message.h"
#include "graph/graph.h"
#include "graph/ops.h"
#include "graph/shape.h"

/* Add a node with one float output and put it onto the tape. */
static NwT
emit(NwGraph *g, NwNode *node, NwShape shape)
{
	NwT t = nw_node_out(g, node, NW_FLOAT, shape);

	nw_record(g, node);
	return t;
}

NwT
nw_unary(NwGraph *g, const char *type, NwT x)
{
	return emit(g, nw_node(g, type, 1, &x), nw_shape_of(g, x));
}

NwT
nw_leaky_relu(NwGraph *g, NwT x, float alpha)
{
	NwNode *node = nw_node(g, "LeakyRelu", 1, &x);

	nw_node_attr(node, nw_attr_float("alpha", alpha));
	return emit(g, node, nw_shape_of(g, x));
}

/* Add HardSigmoid: max(0, min(1, alpha x + beta)). */
NwT
nw_hard_sigmoid(NwGraph *g, NwT x, float alpha, float beta)
{
	NwNode *node = nw_node(g, "HardSigmoid", 1, &x);

	nw_node_attr(node, nw_attr_float("alpha", alpha));
	nw_node_attr(node, nw_attr_float("beta", beta));
	return emit(g, node, nw_shape_of(g, x));
}

NwT
nw_clip(NwGraph *g, NwT x, float low, float high)
{
	NwT in[3] = {x, nw_scalar(g, low), nw_scalar(g, high)};

	return emit(g, nw_node(g, "Clip", 3, in), nw_shape_of(g, x));
}

NwT
nw_pow(NwGraph *g, NwT x, float exponent)
{
	NwT in[2] = {x, nw_scalar(g, exponent)};

	return emit(g, nw_node(g, "Pow", 2, in), nw_shape_of(g, x));
}

/* Turn booleans into 0 and 1. */
NwT
nw_cast_float(NwGraph *g, NwT x)
{
	NwNode *node = nw_node(g, "Cast", 1, &x);

	nw_node_attr(node, nw_attr_int("to", NW_FLOAT));
	return emit(g, node, nw_shape_of(g, x));
}

NwT
nw_binary(NwGraph *g, const char *type, NwT a, NwT b)
{
	NwT in[2] = {a, b};
	NwShape shape = nw_shape_broadcast(&g->tensor[a].shape, &g->tensor[b].shape, type);

	return emit(g, nw_node(g, type, 2, in), shape);
}

NwT
nw_add(NwGraph *g, NwT a, NwT b)
{
	return nw_binary(g, "Add", a, b);
}

NwT
nw_sub(NwGraph *g, NwT a, NwT b)
{
	return nw_binary(g, "Sub", a, b);
}

NwT
nw_mul(NwGraph *g, NwT a, NwT b)
{
	return nw_binary(g, "Mul", a, b);
}

NwT
nw_div(NwGraph *g, NwT a, NwT b)
{
	return nw_binary(g, "Div", a, b);
}

NwT
nw_scale(NwGraph *g, NwT a, double factor)
{
	return nw_mul(g, a, nw_scalar(g, factor));
}

static NwT
compare(NwGraph *g, const char *type, NwT a, NwT b)
{
	NwT in[2] = {a, b};
	NwShape shape = nw_shape_broadcast(&g->tensor[a].shape, &g->tensor[b].shape, type);

	return nw_node_out(g, nw_node(g, type, 2, in), NW_BOOL, shape);
}

/* Compare element by element, with 0.0 and 1.0 for the answer. */
NwT
nw_mask(NwGraph *g, const char *type, NwT a, NwT b)
{
	return nw_cast_float(g, compare(g, type, a, b));
}

/*
 * Change the shape.  A first dimension that stays is written as 0, ONNX's sign
 * for "as in the input", and one that changes as -1, "whatever fits", so that an
 * exported graph takes batches of any size.
 */
NwT
nw_reshape(NwGraph *g, NwT x, NwShape to)
{
	const NwShape *from = &g->tensor[x].shape;
	int64_t spec[NW_MAX_RANK];
	NwT in[2] = {x, NW_NONE};

	if (nw_shape_equal(from, &to))
		return x;
	if (nw_shape_size(from) != nw_shape_size(&to))
		nw_fatal("operator Reshape: shapes %s and %s differ in size", nw_shape_text(from),
		         nw_shape_text(&to));
	memcpy(spec, to.dim, sizeof(spec));
	if (to.rank > 0)
		spec[0] = from->rank > 0 && to.dim[0] == from->dim[0] ? 0 : -1;
	in[1] = nw_int64s(g, to.rank, spec);
	return emit(g, nw_node(g, "Reshape", 2, in), to);
}

NwT
nw_transpose(NwGraph *g, NwT x, const int64_t *perm)
{
	NwShape from = nw_shape_of(g, x);
	NwShape to = {.rank = from.rank};
	NwNode *node = nw_node(g, "Transpose", 1, &x);

	for (int i = 0; i < from.rank; i++)
		to.dim[i] = from.dim[perm[i]];
	nw_node_attr(node, nw_attr_ints("perm", from.rank, perm));
	return emit(g, node, to);
}

/* Swap the first two axes; the same transpose serves every caller. */
NwT
nw_cnhw(NwGraph *g, NwT x)
{
	if (g->tensor[x].cnhw == NW_NONE)
	{
		NwT t = nw_transpose(g, x, (int64_t[]) {1, 0, 2, 3});

		g->tensor[x].cnhw = t;
	}
	return g->tensor[x].cnhw;
}

NwT
nw_expand(NwGraph *g, NwT x, NwShape to)
{
	NwT in[2] = {x, NW_NONE};
	NwShape shape = nw_shape_broadcast(&g->tensor[x].shape, &to, "Expand");

	if (nw_shape_equal(&g->tensor[x].shape, &shape))
		return x;
	in[1] = nw_int64s(g, shape.rank, shape.dim);
	return emit(g, nw_node(g, "Expand", 2, in), shape);
}

/* Cut a range of some axes; starts and ends within the axis, steps positive. */
NwT
nw_slice(NwGraph *g, NwT x, int n, const int64_t *axes, const int64_t *starts, const int64_t *ends,
         const int64_t *steps)
{
	NwShape to = nw_shape_of(g, x);
	NwT in[5] = {x, nw_int64s(g, n, starts), nw_int64s(g, n, ends), nw_int64s(g, n, axes), NW_NONE};
	int n_in = 4;
	bool strided = false;
	NwNode *node;

	for (int i = 0; i < n; i++)
	{
		int64_t step = steps ? steps[i] : 1;

		to.dim[axes[i]] = (ends[i] - starts[i] + step - 1) / step;
		strided |= step != 1;
	}
	if (nw_shape_equal(&to, &g->tensor[x].shape))
		return x;
	if (strided)
		in[n_in++] = nw_int64s(g, n, steps);
	node = nw_node(g, "Slice", n_in, in);
	for (int i = 0; i < NW_MAX_RANK; i++)
		node->spec[NW_MAX_RANK + i] = 1;
	for (int i = 0; i < n; i++)
	{
		node->spec[axes[i]] = starts[i];
		node->spec[NW_MAX_RANK + axes[i]] = steps ? steps[i] : 1;
	}
	return emit(g, node, to);
}

NwT
nw_slice1(NwGraph *g, NwT x, int64_t axis, int64_t start, int64_t end)
{
	return nw_slice(g, x, 1, &axis, &start, &end, NULL);
}

/* Add a border of a constant value; pads hold all befores, then all afters. */
NwT
nw_pad(NwGraph *g, NwT x, const int64_t *pads, float value)
{
	NwShape to = nw_shape_of(g, x);
	NwT in[3] = {x, nw_int64s(g, 2 * to.rank, pads), NW_NONE};
	int n_in = 2;
	NwNode *node;
	int64_t total = 0;

	for (int i = 0; i < to.rank; i++)
	{
		to.dim[i] += pads[i] + pads[i + to.rank];
		total += pads[i] + pads[i + to.rank];
	}
	if (total == 0)
		return x;
	if (value != 0)
		in[n_in++] = nw_scalar(g, value);
	node = nw_node(g, "Pad", n_in, in);
	memcpy(node->spec, pads, (size_t) (2 * to.rank) * sizeof(int64_t));
	return emit(g, node, to);
}

NwT
nw_concat(NwGraph *g, int n, const NwT *x, int64_t axis)
{
	NwShape to = nw_shape_of(g, x[0]);
	NwNode *node;

	if (n == 1)
		return x[0];
	for (int i = 1; i < n; i++)
		to.dim[axis] += NW_DIM(g, x[i], axis);
	node = nw_node(g, "Concat", n, x);
	nw_node_attr(node, nw_attr_int("axis", axis));
	return emit(g, node, to);
}

/* Pick constant positions of an axis. */
NwT
nw_gather(NwGraph *g, NwT x, int64_t axis, int n, const int64_t *index)
{
	NwShape to = nw_shape_of(g, x);
	NwT in[2] = {x, nw_int64s(g, n, index)};
	NwNode *node = nw_node(g, "Gather", 2, in);

	to.dim[axis] = n;
	nw_node_attr(node, nw_attr_int("axis", axis));
	return emit(g, node, to);
}

/* Sum a gradient over the axes along which its tensor was repeated. */
NwT
nw_unbroadcast(NwGraph *g, NwT x, NwShape to)
{
	NwShape from = nw_shape_of(g, x);
	unsigned axes = 0;

	for (int i = 0; i < from.rank; i++)
	{
		int j = i - (from.rank - to.rank);

		if ((j < 0 ? 1 : to.dim[j]) != from.dim[i])
			axes |= 1u << i;
	}
	if (axes)
		x = nw_reduce(g, "ReduceSum", x, axes, true);
	return nw_reshape(g, x, to);
}

/* Add a reduction over the axes of a bit mask. */
NwT
nw_reduce(NwGraph *g, const char *type, NwT x, unsigned axes, bool keep)
{
	NwShape from = nw_shape_of(g, x);
	NwShape to = {0};
	int64_t list[NW_MAX_RANK];
	int n = 0;
	NwNode *node;

	for (int i = 0; i < from.rank; i++)
	{
		if (axes & (1u << i))
		{
			list[n++] = i;
			if (keep)
				to.dim[to.rank++] = 1;
		}
		else
			to.dim[to.rank++] = from.dim[i];
	}
	if (strcmp(type, "ReduceSum") == 0) /* the only one whose axes are an input in opset 17 */
	{
		NwT in[2] = {x, nw_int64s(g, n, list)};

		node = nw_node(g, type, 2, in);
	}
	else
	{
		node = nw_node(g, type, 1, &x);
		nw_node_attr(node, nw_attr_ints("axes", n, list));
	}
	nw_node_attr(node, nw_attr_int("keepdims", keep));
	node->spec[0] = axes;
	return emit(g, node, to);
}

/* Sum all but the channels. */
NwT
nw_channel_sum(NwGraph *g, NwT x)
{
	return nw_reduce(g, "ReduceSum", x, NW_RANK(g, x) == 4 ? 0xd : 0x1, false);
}

/* Add alpha * op(a) op(b) + beta * c; c may be absent. */
NwT
nw_gemm(NwGraph *g, NwT a, NwT b, NwT c, bool trans_a, bool trans_b, float alpha, float beta)
{
	NwT in[3] = {a, b, c};
	NwShape to;
	NwNode *node;

	if (NW_RANK(g, a) != 2 || NW_RANK(g, b) != 2)
		nw_fatal("operator Gemm: operands are not matrices");
	if (NW_DIM(g, a, !trans_a) != NW_DIM(g, b, trans_b))
		nw_fatal("operator Gemm: shapes %s and %s do not fit together",
		         nw_shape_text(&g->tensor[a].shape), nw_shape_text(&g->tensor[b].shape));
	to = NW_SHAPE(NW_DIM(g, a, trans_a), NW_DIM(g, b, !trans_b));
	node = nw_node(g, "Gemm", c == NW_NONE ? 2 : 3, in);
	nw_node_attr(node, nw_attr_int("transA", trans_a));
	nw_node_attr(node, nw_attr_int("transB", trans_b));
	nw_node_attr(node, nw_attr_float("alpha", alpha));
	nw_node_attr(node, nw_attr_float("beta", beta));
	return emit(g, node, to);
}

NwT
nw_matmul(NwGraph *g, NwT a, NwT b)
{
	NwT in[2] = {a, b};
	NwShape sa = nw_shape_of(g, a);
	NwShape sb = nw_shape_of(g, b);
	NwShape ba = sa;
	NwShape bb = sb;
	NwShape to;

	if (sa.rank < 2 || sb.rank < 2 || sa.dim[sa.rank - 1] != sb.dim[sb.rank - 2])
		nw_fatal("operator MatMul: shapes %s and %s do not fit together", nw_shape_text(&sa),
		         nw_shape_text(&sb));
	ba.rank -= 2;
	bb.rank -= 2;
	to = nw_shape_broadcast(&ba, &bb, "MatMul");
	to.dim[to.rank] = sa.dim[sa.rank - 2];
	to.dim[to.rank + 1] = sb.dim[sb.rank - 1];
	to.rank += 2;
	return emit(g, nw_node(g, "MatMul", 2, in), to);
}

NwT
nw_softmax(NwGraph *g, NwT x, int64_t axis)
{
	NwNode *node = nw_node(g, "Softmax", 1, &x);

	nw_node_attr(node, nw_attr_int("axis", axis));
	node->spec[0] = axis;
	return emit(g, node, nw_shape_of(g, x));
}

/* Add to a tensor's gradient, if it is wanted. */
void
nw_accumulate(NwGraph *g, NwT t, NwT dt)
{
	NwT sum;

	if (!nw_needs_grad(g, t))
		return;
	sum = g->tensor[t].grad == NW_NONE ? dt : nw_add(g, g->tensor[t].grad, dt);
	g->tensor[t].grad = sum;
}
