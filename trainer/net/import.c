/*
 * net/import.c: an ONNX file's nodes, brought into a graph one by one.
 *
 * Operator sets from 11 on differ in where an operator's lists stand (attribute or
 * constant input); here both are read.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "graph/graph.h"
#include "graph/onnx_read.h"
#include "graph/ops.h"
#include "graph/ops_image.h"
#include "graph/shape.h"
#include "math/window.h"
#include "net/import.h"
#include "net/import_images.h"
#include "net/import_node.h"
#include "onnx.pb-c.h"

/* more than any network has: each is an element of a matrix */
#define MAX_PICKS (INT64_C(1) << 24)

static NwT
import_conv(NwImport *im)
{
	NwT x = nw_import_operand(im, 0);
	NwT w = nw_import_operand(im, 1);
	NwT bias = nw_import_has(im, 2) ? nw_import_operand(im, 2) : NW_NONE;
	NwWindow win = nw_import_window(im, x, w);
	int64_t outs = NW_DIM(im->g, w, 0);

	if (win.group < 1 || win.group > outs || outs % win.group != 0)
		nw_import_unsupported(im, "has channels that its groups do not divide");
	if (bias != NW_NONE && (NW_RANK(im->g, bias) != 1 || NW_DIM(im->g, bias, 0) != outs))
		nw_import_unsupported(im, "has a bias of a wrong shape");
	return nw_conv(im->g, x, w, bias, &win);
}

static NwT
import_pool(NwImport *im)
{
	NwT x = nw_import_operand(im, 0);
	NwWindow win = nw_import_window(im, x, NW_NONE);

	if (!nw_import_attr(im, "kernel_shape"))
		nw_import_unsupported(im, "has no kernel_shape");
	if (strcmp(im->node->op_type, "MaxPool") != 0 && (win.dilation[0] != 1 || win.dilation[1] != 1))
		nw_import_unsupported(im, "with dilations is not supported");
	return strcmp(im->node->op_type, "MaxPool") == 0 ? nw_max_pool(im->g, x, &win)
	                                                 : nw_average_pool(im->g, x, &win);
}

static NwT
import_global_average_pool(NwImport *im)
{
	NwT x = nw_import_operand(im, 0);

	if (NW_RANK(im->g, x) != 4)
		nw_import_unsupported(im, "is supported for two-dimensional images only");
	return nw_reduce(im->g, "ReduceMean", x, 0xc, true);
}

static NwT
import_batch_norm(NwImport *im)
{
	bool train = im->g->purpose == NW_FOR_TRAINING && !im->freeze_norm;
	NwT x = nw_import_operand(im, 0);
	NwT v[4];

	if (NW_RANK(im->g, x) != 4)
		nw_import_unsupported(im, "is supported for two-dimensional images only");
	for (size_t i = 0; i < 4; i++)
	{
		const char *name = nw_import_name(im, i + 1);

		v[i] = nw_import_lookup(im, name);
		if (v[i] == NW_NONE)
			v[i] = nw_import_weight(im, name, i < 2 && !im->freeze_norm);
		if (NW_RANK(im->g, v[i]) != 1 || NW_DIM(im->g, v[i], 0) != NW_DIM(im->g, x, 1))
			nw_import_unsupported(im, "has statistics of another number of channels");
	}
	return nw_batch_norm(im->g, x, v[0], v[1], v[2], v[3], nw_import_float(im, "epsilon", 1e-5f),
	                     train);
}

static NwT
import_layer_norm(NwImport *im)
{
	NwT x = nw_import_operand(im, 0);
	int64_t axis = nw_import_axis(im, nw_import_int(im, "axis", -1), NW_RANK(im->g, x));

	return nw_layer_norm(im->g, x, nw_import_operand(im, 1),
	                     nw_import_has(im, 2) ? nw_import_operand(im, 2) : NW_NONE, axis,
	                     nw_import_float(im, "epsilon", 1e-5f));
}

static NwT
import_unary(NwImport *im)
{
	static const char *const types[] = {"Relu", "Sigmoid", "Tanh",       "Softplus", "Erf", "Exp",
	                                    "Log",  "Sqrt",    "Reciprocal", "Neg",      "Abs"};

	for (int i = 0; i < NW_LENGTH(types); i++)
		if (strcmp(types[i], im->node->op_type) == 0)
			return nw_unary(im->g, types[i], nw_import_operand(im, 0));
	nw_import_unsupported(im, "is not supported");
}

static NwT
import_binary(NwImport *im)
{
	static const char *const types[] = {"Add", "Sub", "Mul", "Div"};
	NwT a = nw_import_operand(im, 0);
	NwT b = nw_import_operand(im, 1);

	for (int i = 0; i < NW_LENGTH(types); i++)
		if (strcmp(types[i], im->node->op_type) == 0)
			return nw_binary(im->g, types[i], a, b);
	nw_import_unsupported(im, "is not supported");
}

static NwT
import_sum(NwImport *im)
{
	NwT sum = nw_import_operand(im, 0);

	for (size_t i = 1; i < im->node->n_input; i++)
		sum = nw_add(im->g, sum, nw_import_operand(im, i));
	return sum;
}

static NwT
import_pass(NwImport *im)
{
	return nw_import_operand(im, 0);
}

static NwT
import_cast(NwImport *im)
{
	if (nw_import_int(im, "to", 0) != NW_FLOAT)
		nw_import_unsupported(im, "is supported to float only");
	return nw_import_operand(im, 0);
}

static NwT
import_leaky_relu(NwImport *im)
{
	return nw_leaky_relu(im->g, nw_import_operand(im, 0), nw_import_float(im, "alpha", 0.01f));
}

static NwT
import_hard_sigmoid(NwImport *im)
{
	return nw_hard_sigmoid(im->g, nw_import_operand(im, 0), nw_import_float(im, "alpha", 0.2f),
	                       nw_import_float(im, "beta", 0.5f));
}

static NwT
import_hard_swish(NwImport *im)
{
	NwT x = nw_import_operand(im, 0);

	return nw_mul(im->g, x, nw_hard_sigmoid(im->g, x, 1.0f / 6, 0.5f));
}

static NwT
import_gelu(NwImport *im)
{
	NwGraph *g = im->g;
	NwT x = nw_import_operand(im, 0);
	const Onnx__AttributeProto *a = nw_import_attr(im, "approximate");
	NwT t;

	if (a != NULL && a->s.len == 4 && memcmp(a->s.data, "tanh", 4) == 0)
	{
		t = nw_add(g, x, nw_scale(g, nw_mul(g, x, nw_mul(g, x, x)), 0.044715));
		t = nw_unary(g, "Tanh", nw_scale(g, t, 0.7978845608028654));
	}
	else
		t = nw_unary(g, "Erf", nw_scale(g, x, 0.7071067811865476));
	return nw_mul(g, nw_scale(g, x, 0.5), nw_add(g, t, nw_scalar(g, 1)));
}

static NwT
import_clip(NwImport *im)
{
	float low = nw_import_float(im, "min", -3.4e38f);
	float high = nw_import_float(im, "max", 3.4e38f);

	if (nw_import_has(im, 1))
		low = nw_import_number(im, 1);
	if (nw_import_has(im, 2))
		high = nw_import_number(im, 2);
	return nw_clip(im->g, nw_import_operand(im, 0), low, high);
}

static NwT
import_pow(NwImport *im)
{
	return nw_pow(im->g, nw_import_operand(im, 0), nw_import_number(im, 1));
}

/* Check that a value can be added to another without changing that one's shape. */
static void
check_fits(const NwImport *im, NwT x, NwT y)
{
	NwShape to = nw_shape_of(im->g, y);
	NwShape both = nw_shape_broadcast(&im->g->tensor[x].shape, &to, im->node->op_type);

	if (!nw_shape_equal(&both, &to))
		nw_import_unsupported(im, "has an input of a wrong shape");
}

static NwT
import_gemm(NwImport *im)
{
	NwT a = nw_import_operand(im, 0);
	NwT b = nw_import_operand(im, 1);
	NwT c = nw_import_has(im, 2) ? nw_import_operand(im, 2) : NW_NONE;
	NwT y = nw_gemm(im->g, a, b, c, nw_import_int(im, "transA", 0), nw_import_int(im, "transB", 0),
	                nw_import_float(im, "alpha", 1), nw_import_float(im, "beta", 1));

	if (c != NW_NONE)
		check_fits(im, c, y);
	return y;
}

static NwT
import_matmul(NwImport *im)
{
	NwT a = nw_import_operand(im, 0);

	return nw_matmul(im->g, a, nw_import_operand(im, 1));
}

static NwT
import_softmax(NwImport *im)
{
	NwT x = nw_import_operand(im, 0);
	int rank = NW_RANK(im->g, x);
	int64_t axis = nw_import_axis(im, nw_import_int(im, "axis", im->opset < 13 ? 1 : -1), rank);

	if (im->opset < 13 && axis != rank - 1)
		nw_import_unsupported(im, "over several axes is not supported");
	return nw_softmax(im->g, x, axis);
}

static NwT
import_reduce(NwImport *im)
{
	NwT x = nw_import_operand(im, 0);
	int64_t list[NW_MAX_RANK];
	int n = nw_import_integers(im, "axes", 1, list, NW_MAX_RANK);
	int rank = NW_RANK(im->g, x);
	unsigned axes = n > 0 ? nw_import_axes(im, list, n, rank) : (1u << rank) - 1;

	return nw_reduce(im->g,
	                 strcmp(im->node->op_type, "ReduceMean") == 0 ? "ReduceMean" : "ReduceSum", x,
	                 axes, nw_import_int(im, "keepdims", 1));
}

static NwT
import_reshape(NwImport *im)
{
	NwT x = nw_import_operand(im, 0);
	NwShape from = nw_shape_of(im->g, x);
	NwShape to = {0};
	int open = -1;

	to.rank = nw_import_integers(im, "shape", 1, to.dim, NW_MAX_RANK);
	for (int i = 0; i < to.rank; i++)
	{
		if (to.dim[i] == 0 && !nw_import_int(im, "allowzero", 0))
			to.dim[i] = i < from.rank ? from.dim[i] : 1;
		if (to.dim[i] == -1 && open >= 0)
			nw_import_unsupported(im, "leaves more than one dimension open");
		if (to.dim[i] == -1)
		{
			open = i;
			to.dim[i] = 1;
		}
	}
	nw_import_check_shape(im, &to);
	if (open >= 0)
		to.dim[open] = nw_shape_size(&from) / nw_shape_size(&to);
	nw_import_check_shape(im, &to);
	return nw_reshape(im->g, x, to);
}

static NwT
import_flatten(NwImport *im)
{
	NwT x = nw_import_operand(im, 0);
	NwShape from = nw_shape_of(im->g, x);
	int64_t axis = nw_import_int(im, "axis", 1);
	int64_t rows = 1;

	if (axis != from.rank) /* past the last is an axis, too */
		axis = nw_import_axis(im, axis, from.rank);
	for (int i = 0; i < axis; i++)
		rows *= from.dim[i];
	return nw_reshape(im->g, x, NW_SHAPE(rows, nw_shape_size(&from) / rows));
}

static NwT
import_squeeze(NwImport *im)
{
	NwT x = nw_import_operand(im, 0);
	NwShape from = nw_shape_of(im->g, x);
	NwShape to = {0};
	int64_t list[NW_MAX_RANK];
	int n = nw_import_integers(im, "axes", 1, list, NW_MAX_RANK);
	unsigned axes = n > 0 ? nw_import_axes(im, list, n, from.rank) : 0;

	for (int i = 0; i < from.rank; i++)
		if (n > 0 ? !(axes & (1u << i)) : from.dim[i] != 1)
			to.dim[to.rank++] = from.dim[i];
	return nw_reshape(im->g, x, to);
}

static NwT
import_unsqueeze(NwImport *im)
{
	NwT x = nw_import_operand(im, 0);
	NwShape from = nw_shape_of(im->g, x);
	NwShape to = {0};
	int64_t list[NW_MAX_RANK];
	int n = nw_import_integers(im, "axes", 1, list, NW_MAX_RANK);
	unsigned axes;

	if (n < 1 || from.rank + n > NW_MAX_RANK)
		nw_import_unsupported(im, "has more dimensions than are supported");
	to.rank = from.rank + n;
	axes = nw_import_axes(im, list, n, to.rank);
	for (int i = 0, at = 0; i < to.rank; i++)
		to.dim[i] = axes & (1u << i) ? 1 : from.dim[at++];
	return nw_reshape(im->g, x, to);
}

static NwT
import_transpose(NwImport *im)
{
	NwT x = nw_import_operand(im, 0);
	int rank = NW_RANK(im->g, x);
	int64_t perm[NW_MAX_RANK];

	if (!nw_import_exactly(im, "perm", SIZE_MAX, perm, rank, 0, rank - 1))
		for (int i = 0; i < rank; i++)
			perm[i] = rank - 1 - i;
	nw_import_axes(im, perm, rank, rank);
	return nw_transpose(im->g, x, perm);
}

static NwT
import_slice(NwImport *im)
{
	NwT x = nw_import_operand(im, 0);
	int64_t starts[NW_MAX_RANK];
	int64_t ends[NW_MAX_RANK];
	int64_t axes[NW_MAX_RANK];
	int64_t steps[NW_MAX_RANK];
	int n = nw_import_integers(im, "starts", 1, starts, NW_MAX_RANK);

	if (n < 0 || !nw_import_exactly(im, "ends", 2, ends, n, INT64_MIN, INT64_MAX))
		nw_import_unsupported(im, "lacks an input");
	if (!nw_import_exactly(im, "axes", 3, axes, n, INT64_MIN, INT64_MAX))
		for (int i = 0; i < n; i++)
			axes[i] = i;
	if (!nw_import_exactly(im, "steps", 4, steps, n, INT64_MIN, INT32_MAX))
		for (int i = 0; i < n; i++)
			steps[i] = 1;
	nw_import_axes(im, axes, n, NW_RANK(im->g, x));
	for (int i = 0; i < n; i++)
	{
		int64_t size = NW_DIM(im->g, x, axes[i]);

		if (steps[i] < 1)
			nw_import_unsupported(im, "with a negative step is not supported");
		starts[i] += starts[i] < 0 ? size : 0;
		ends[i] += ends[i] < 0 ? size : 0;
		starts[i] = starts[i] < 0 ? 0 : starts[i] > size ? size : starts[i];
		ends[i] = ends[i] < starts[i] ? starts[i] : ends[i] > size ? size : ends[i];
	}
	return nw_slice(im->g, x, n, axes, starts, ends, steps);
}

static NwT
import_pad(NwImport *im)
{
	NwT x = nw_import_operand(im, 0);
	const Onnx__AttributeProto *mode = nw_import_attr(im, "mode");
	int64_t pads[2 * NW_MAX_RANK];

	if (mode != NULL && (mode->s.len != 8 || memcmp(mode->s.data, "constant", 8) != 0))
		nw_import_unsupported(im, "is supported with mode \"constant\" only");
	if (nw_import_has(im, 3))
		nw_import_unsupported(im, "with axes is not supported");
	if (!nw_import_exactly(im, "pads", 1, pads, 2 * NW_RANK(im->g, x), INT64_MIN, INT32_MAX))
		nw_import_unsupported(im, "lacks an input");
	for (int i = 0; i < 2 * NW_RANK(im->g, x); i++)
		if (pads[i] < 0)
			nw_import_unsupported(im, "with negative pads is not supported");
	return nw_pad(im->g, x, pads,
	              nw_import_has(im, 2) ? nw_import_number(im, 2) : nw_import_float(im, "value", 0));
}

static NwT
import_concat(NwImport *im)
{
	size_t n = im->node->n_input;
	NwT *x = nw_alloc(n * sizeof(NwT));
	NwShape first = nw_shape_of(im->g, nw_import_operand(im, 0));
	int64_t axis = nw_import_axis(im, nw_import_int(im, "axis", 0), first.rank);
	NwT y;

	for (size_t i = 0; i < n; i++)
	{
		NwShape other = nw_shape_of(im->g, x[i] = nw_import_operand(im, i));

		other.dim[axis] = first.dim[axis];
		if (!nw_shape_equal(&other, &first))
			nw_import_unsupported(im, "has inputs that do not fit together");
	}
	y = nw_concat(im->g, (int) n, x, axis);
	free(x);
	return y;
}

static NwT
import_gather(NwImport *im)
{
	NwT x = nw_import_operand(im, 0);
	NwShape to = nw_shape_of(im->g, x);
	int64_t axis = nw_import_axis(im, nw_import_int(im, "axis", 0), to.rank);
	int64_t size = to.dim[axis];
	NwShape shape;
	int64_t *index = nw_tensor_ints(nw_import_constant(im, 1), im->path, &shape);
	NwT y;

	if (shape.rank > 1)
		nw_import_unsupported(im, "with indices of more than one dimension is not supported");
	nw_import_check_shape(im, &shape);
	if (nw_shape_size(&shape) * size > MAX_PICKS)
		nw_import_unsupported(im, "has too many indices");
	for (int64_t i = 0; i < nw_shape_size(&shape); i++)
		if (index[i] < -size || index[i] >= size)
			nw_import_unsupported(im, "has an index out of range");
	y = nw_gather(im->g, x, axis, (int) nw_shape_size(&shape), index);
	free(index);
	if (shape.rank == 1)
		return y;
	to.rank--;
	for (int i = (int) axis; i < to.rank; i++)
		to.dim[i] = to.dim[i + 1];
	return nw_reshape(im->g, y, to);
}

static NwT
import_expand(NwImport *im)
{
	NwT x = nw_import_operand(im, 0);
	NwShape to = {0};

	to.rank = nw_import_integers(im, "shape", 1, to.dim, NW_MAX_RANK);
	nw_import_check_shape(im, &to);
	return nw_expand(im->g, x, to);
}

/* Split has several outputs: all but the first are bound here. */
static NwT
import_split(NwImport *im)
{
	NwT x = nw_import_operand(im, 0);
	int64_t axis = nw_import_axis(im, nw_import_int(im, "axis", 0), NW_RANK(im->g, x));
	int64_t n = (int64_t) im->node->n_output;
	int64_t whole = NW_DIM(im->g, x, axis);
	int64_t sizes[64];
	int64_t left = whole;
	int64_t at = 0;
	int given;
	NwT first = NW_NONE;

	if (n > NW_LENGTH(sizes))
		nw_import_unsupported(im, "has too many outputs");
	given = nw_import_integers(im, "split", 1, sizes, NW_LENGTH(sizes));
	if (given < 0)
		for (int64_t i = 0, part = (whole + n - 1) / n; i < n; i++)
			sizes[i] = i < n - 1 ? part : whole - part * (n - 1);
	for (int64_t i = 0; i < n && (given < 0 || given == n); left -= sizes[i++])
		if (sizes[i] < 1 || sizes[i] > left)
			nw_import_unsupported(im, "has parts of an impossible size");
	if (left != 0)
		nw_import_unsupported(im, "has parts of an impossible size");
	for (int64_t i = 0; i < n; at += sizes[i++])
	{
		NwT t = nw_slice1(im->g, x, axis, at, at + sizes[i]);

		if (i == 0)
			first = t;
		else
			nw_import_bind(im, im->node->output[i], t);
	}
	return first;
}

static const struct
{
	const char *type;
	NwT (*import)(NwImport *im);
	NwFollow *follow;
} imports[] = {
	{"Abs", import_unary, nw_follow_one},
	{"Add", import_binary, nw_follow_several},
	{"AveragePool", import_pool, nw_follow_places},
	{"BatchNormalization", import_batch_norm, nw_follow_layer},
	{"Cast", import_cast, nw_follow_one},
	{"Clip", import_clip, nw_follow_one},
	{"Concat", import_concat, nw_follow_concat},
	{"Conv", import_conv, nw_follow_layer},
	{"Div", import_binary, nw_follow_several},
	{"Dropout", import_pass, nw_follow_one},
	{"Erf", import_unary, nw_follow_one},
	{"Exp", import_unary, nw_follow_one},
	{"Expand", import_expand, nw_follow_one},
	{"Flatten", import_flatten, nw_follow_reshape},
	{"Gather", import_gather, nw_follow_gather},
	{"Gelu", import_gelu, nw_follow_one},
	{"Gemm", import_gemm, nw_follow_gemm},
	{"GlobalAveragePool", import_global_average_pool, nw_follow_places},
	{"HardSigmoid", import_hard_sigmoid, nw_follow_one},
	{"HardSwish", import_hard_swish, nw_follow_one},
	{"Identity", import_pass, nw_follow_one},
	{"LayerNormalization", import_layer_norm, nw_follow_norm},
	{"LeakyRelu", import_leaky_relu, nw_follow_one},
	{"Log", import_unary, nw_follow_one},
	{"MatMul", import_matmul, nw_follow_matmul},
	{"MaxPool", import_pool, nw_follow_places},
	{"Mul", import_binary, nw_follow_several},
	{"Neg", import_unary, nw_follow_one},
	{"Pad", import_pad, nw_follow_range},
	{"Pow", import_pow, nw_follow_one},
	{"Reciprocal", import_unary, nw_follow_one},
	{"ReduceMean", import_reduce, nw_follow_reduce},
	{"ReduceSum", import_reduce, nw_follow_reduce},
	{"Relu", import_unary, nw_follow_one},
	{"Reshape", import_reshape, nw_follow_reshape},
	{"Sigmoid", import_unary, nw_follow_one},
	{"Slice", import_slice, nw_follow_range},
	{"Softmax", import_softmax, nw_follow_softmax},
	{"Softplus", import_unary, nw_follow_one},
	{"Split", import_split, nw_follow_range},
	{"Sqrt", import_unary, nw_follow_one},
	{"Squeeze", import_squeeze, nw_follow_reshape},
	{"Sub", import_binary, nw_follow_several},
	{"Sum", import_sum, nw_follow_several},
	{"Tanh", import_unary, nw_follow_one},
	{"Transpose", import_transpose, nw_follow_permuted},
	{"Unsqueeze", import_unsqueeze, nw_follow_reshape},
};

/* Add the node at hand to the graph. */
void
nw_import_node(NwImport *im)
{
	const char *domain = im->node->domain;

	if (domain == NULL || domain[0] == 0 || strcmp(domain, "ai.onnx") == 0)
		for (int i = 0; i < NW_LENGTH(imports); i++)
			if (strcmp(imports[i].type, im->node->op_type) == 0)
			{
				NwT y;

				if (im->node->n_output == 0)
					nw_import_unsupported(im, "has no output");
				y = imports[i].import(im);
				nw_import_check_shape(im, &im->g->tensor[y].shape);
				nw_import_bind(im, im->node->output[0], y);
				nw_images_follow(im, imports[i].follow);
				return;
			}
	nw_import_unsupported(im, "is not supported for training");
}

/* Check that every operator is supported before the runtime rewrites any. */
void
nw_import_check(const char *path, const Onnx__ModelProto *file)
{
	static const char *const folded[] = {"Ceil",      "Constant", "ConstantOfShape",
	                                     "Equal",     "Floor",    "Greater",
	                                     "Less",      "Max",      "Min",
	                                     "Mod",       "Not",      "Range",
	                                     "ScatterND", "Shape",    "Where"};
	NwImport im = {.path = path, .file = file, .model = file};

	for (size_t i = 0; i < file->graph->n_node; i++)
	{
		bool known = false;

		im.node = file->graph->node[i];
		for (int j = 0; j < NW_LENGTH(imports); j++)
			known |= strcmp(imports[j].type, im.node->op_type) == 0;
		for (int j = 0; j < NW_LENGTH(folded); j++)
			known |= strcmp(folded[j], im.node->op_type) == 0;
		if (!known)
			nw_import_unsupported(&im, "is not supported for training");
	}
}
