/*
 * graph/grad.c: the gradient of a graph, as further nodes of it.
 *
 * The tape is walked backwards.  Each operator has an emitter, which gets a tape entry
 * and the gradient dy of its first output, and adds to the gradients of the inputs that
 * need one; those of images are in grad_image.c.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/message.h"
#include "graph/grad.h"
#include "graph/grad_image.h"
#include "graph/graph.h"
#include "graph/ops.h"
#include "graph/shape.h"

/* Find an attribute; a node without it has one of zeros. */
static const NwAttr *
find_attr(const NwNode *r, const char *name)
{
	static const NwAttr none;

	for (int i = 0; i < r->n_attr; i++)
		if (strcmp(r->attr[i].name, name) == 0)
			return &r->attr[i];
	return &none;
}

static void
grad_add(NwGraph *g, const NwNode *r, NwT dy)
{
	for (int i = 0; i < 2; i++)
		if (nw_needs_grad(g, r->in[i]))
			nw_accumulate(g, r->in[i], nw_unbroadcast(g, dy, nw_shape_of(g, r->in[i])));
}

static void
grad_sub(NwGraph *g, const NwNode *r, NwT dy)
{
	if (nw_needs_grad(g, r->in[0]))
		nw_accumulate(g, r->in[0], nw_unbroadcast(g, dy, nw_shape_of(g, r->in[0])));
	if (nw_needs_grad(g, r->in[1]))
		nw_accumulate(g, r->in[1],
		              nw_unary(g, "Neg", nw_unbroadcast(g, dy, nw_shape_of(g, r->in[1]))));
}

static void
grad_mul(NwGraph *g, const NwNode *r, NwT dy)
{
	for (int i = 0; i < 2; i++)
		if (nw_needs_grad(g, r->in[i]))
			nw_accumulate(g, r->in[i],
			              nw_unbroadcast(g, nw_mul(g, dy, r->in[1 - i]), nw_shape_of(g, r->in[i])));
}

static void
grad_div(NwGraph *g, const NwNode *r, NwT dy)
{
	NwT da = nw_div(g, dy, r->in[1]);

	if (nw_needs_grad(g, r->in[0]))
		nw_accumulate(g, r->in[0], nw_unbroadcast(g, da, nw_shape_of(g, r->in[0])));
	if (nw_needs_grad(g, r->in[1]))
		nw_accumulate(g, r->in[1],
		              nw_unbroadcast(g, nw_unary(g, "Neg", nw_mul(g, da, r->out[0])),
		                             nw_shape_of(g, r->in[1])));
}

static void
grad_neg(NwGraph *g, const NwNode *r, NwT dy)
{
	nw_accumulate(g, r->in[0], nw_unary(g, "Neg", dy));
}

static void
grad_relu(NwGraph *g, const NwNode *r, NwT dy)
{
	if (g->native)
	{
		NwT in[2] = {r->out[0], dy};

		nw_accumulate(
			g, r->in[0],
			nw_node_out(g, nw_own_node(g, "ReluGrad", 2, in), NW_FLOAT, nw_shape_of(g, dy)));
		return;
	}
	nw_accumulate(g, r->in[0], nw_mul(g, dy, nw_mask(g, "Greater", r->out[0], nw_scalar(g, 0))));
}

static void
grad_leaky_relu(NwGraph *g, const NwNode *r, NwT dy)
{
	float alpha = find_attr(r, "alpha")->f;
	NwT positive = nw_mask(g, "Greater", r->in[0], nw_scalar(g, 0));
	NwT slope = nw_add(g, nw_scale(g, positive, 1 - alpha), nw_scalar(g, alpha));

	nw_accumulate(g, r->in[0], nw_mul(g, dy, slope));
}

static void
grad_sigmoid(NwGraph *g, const NwNode *r, NwT dy)
{
	NwT y = r->out[0];

	nw_accumulate(g, r->in[0], nw_mul(g, dy, nw_mul(g, y, nw_sub(g, nw_scalar(g, 1), y))));
}

/* The straight part lies where the output is strictly between 0 and 1. */
static void
grad_hard_sigmoid(NwGraph *g, const NwNode *r, NwT dy)
{
	NwT inside = nw_mul(g, nw_mask(g, "Greater", r->out[0], nw_scalar(g, 0)),
	                    nw_mask(g, "Less", r->out[0], nw_scalar(g, 1)));

	nw_accumulate(g, r->in[0], nw_scale(g, nw_mul(g, dy, inside), find_attr(r, "alpha")->f));
}

static void
grad_tanh(NwGraph *g, const NwNode *r, NwT dy)
{
	NwT y = r->out[0];

	nw_accumulate(g, r->in[0], nw_mul(g, dy, nw_sub(g, nw_scalar(g, 1), nw_mul(g, y, y))));
}

static void
grad_softplus(NwGraph *g, const NwNode *r, NwT dy)
{
	nw_accumulate(g, r->in[0], nw_mul(g, dy, nw_unary(g, "Sigmoid", r->in[0])));
}

static void
grad_erf(NwGraph *g, const NwNode *r, NwT dy)
{
	NwT x = r->in[0];
	NwT bell = nw_unary(g, "Exp", nw_unary(g, "Neg", nw_mul(g, x, x)));

	nw_accumulate(g, x, nw_mul(g, dy, nw_scale(g, bell, 1.1283791670955126)));
}

static void
grad_exp(NwGraph *g, const NwNode *r, NwT dy)
{
	nw_accumulate(g, r->in[0], nw_mul(g, dy, r->out[0]));
}

static void
grad_log(NwGraph *g, const NwNode *r, NwT dy)
{
	nw_accumulate(g, r->in[0], nw_div(g, dy, r->in[0]));
}

static void
grad_sqrt(NwGraph *g, const NwNode *r, NwT dy)
{
	nw_accumulate(g, r->in[0], nw_div(g, nw_scale(g, dy, 0.5), r->out[0]));
}

static void
grad_reciprocal(NwGraph *g, const NwNode *r, NwT dy)
{
	NwT y = r->out[0];

	nw_accumulate(g, r->in[0], nw_unary(g, "Neg", nw_mul(g, dy, nw_mul(g, y, y))));
}

static void
grad_abs(NwGraph *g, const NwNode *r, NwT dy)
{
	NwT zero = nw_scalar(g, 0);
	NwT sign = nw_sub(g, nw_mask(g, "Greater", r->in[0], zero), nw_mask(g, "Less", r->in[0], zero));

	nw_accumulate(g, r->in[0], nw_mul(g, dy, sign));
}

static void
grad_clip(NwGraph *g, const NwNode *r, NwT dy)
{
	NwT inside = nw_mul(g, nw_mask(g, "Greater", r->in[0], r->in[1]),
	                    nw_mask(g, "Less", r->in[0], r->in[2]));

	nw_accumulate(g, r->in[0], nw_mul(g, dy, inside));
}

static void
grad_pow(NwGraph *g, const NwNode *r, NwT dy)
{
	float p = *(const float *) g->tensor[r->in[1]].data;
	NwT slope = nw_scale(g, nw_pow(g, r->in[0], p - 1), p);

	nw_accumulate(g, r->in[0], nw_mul(g, dy, slope));
}

static void
grad_pass(NwGraph *g, const NwNode *r, NwT dy)
{
	nw_accumulate(g, r->in[0], dy);
}

static void
grad_reshape(NwGraph *g, const NwNode *r, NwT dy)
{
	nw_accumulate(g, r->in[0], nw_reshape(g, dy, nw_shape_of(g, r->in[0])));
}

static void
grad_transpose(NwGraph *g, const NwNode *r, NwT dy)
{
	int64_t inverse[NW_MAX_RANK];

	for (int i = 0; i < r->attr[0].n; i++)
		inverse[r->attr[0].ints[i]] = i;
	nw_accumulate(g, r->in[0], nw_transpose(g, dy, inverse));
}

static void
grad_expand(NwGraph *g, const NwNode *r, NwT dy)
{
	nw_accumulate(g, r->in[0], nw_unbroadcast(g, dy, nw_shape_of(g, r->in[0])));
}

/* Spread an axis so that its elements lie `step` apart, zeros between. */
static NwT
dilate_axis(NwGraph *g, NwT x, int axis, int64_t step)
{
	NwShape from = nw_shape_of(g, x);
	NwShape wide = {.rank = from.rank + 1};
	NwShape to = from;
	int64_t pads[2 * NW_MAX_RANK] = {0};

	if (from.rank == NW_MAX_RANK)
		nw_fatal("operator Slice: a step on a tensor of rank %d is not supported", from.rank);
	for (int i = 0, j = 0; i < from.rank; i++)
	{
		wide.dim[j++] = from.dim[i];
		if (i == axis)
			wide.dim[j++] = 1;
	}
	pads[wide.rank + axis + 1] = step - 1;
	to.dim[axis] *= step;
	return nw_reshape(g, nw_pad(g, nw_reshape(g, x, wide), pads, 0), to);
}

static void
grad_slice(NwGraph *g, const NwNode *r, NwT dy)
{
	NwShape x = nw_shape_of(g, r->in[0]);
	int64_t pads[2 * NW_MAX_RANK] = {0};

	for (int i = 0; i < x.rank; i++)
	{
		int64_t step = r->spec[NW_MAX_RANK + i];
		int64_t room = x.dim[i] - r->spec[i];

		if (step > 1)
			dy = dilate_axis(g, dy, i, step);
		if (NW_DIM(g, dy, i) > room) /* zeros past the last element */
			dy = nw_slice1(g, dy, i, 0, room);
		pads[i] = r->spec[i];
		pads[x.rank + i] = room - NW_DIM(g, dy, i);
	}
	nw_accumulate(g, r->in[0], nw_pad(g, dy, pads, 0));
}

static void
grad_pad(NwGraph *g, const NwNode *r, NwT dy)
{
	NwShape x = nw_shape_of(g, r->in[0]);
	int64_t axes[NW_MAX_RANK];
	int64_t ends[NW_MAX_RANK];

	for (int i = 0; i < x.rank; i++)
	{
		axes[i] = i;
		ends[i] = r->spec[i] + x.dim[i];
	}
	nw_accumulate(g, r->in[0], nw_slice(g, dy, x.rank, axes, r->spec, ends, NULL));
}

static void
grad_concat(NwGraph *g, const NwNode *r, NwT dy)
{
	int64_t axis = find_attr(r, "axis")->i;
	int64_t at = 0;

	for (int i = 0; i < r->n_in; i++)
	{
		int64_t size = NW_DIM(g, r->in[i], axis);

		if (nw_needs_grad(g, r->in[i]))
			nw_accumulate(g, r->in[i], nw_slice1(g, dy, axis, at, at + size));
		at += size;
	}
}

/* Put rows back by a product with a constant 0/1 matrix: no scatter on any device. */
static void
grad_gather(NwGraph *g, const NwNode *r, NwT dy)
{
	NwShape x = nw_shape_of(g, r->in[0]);
	int64_t axis = find_attr(r, "axis")->i;
	const int64_t *index = g->tensor[r->in[1]].data;
	int64_t n = NW_DIM(g, r->in[1], 0);
	int64_t d = x.dim[axis];
	float *pick = nw_alloc0((size_t) (d * n) * sizeof(float));
	int64_t perm[NW_MAX_RANK];
	NwShape first = x;
	NwT t;

	for (int64_t i = 0; i < n; i++)
		pick[(index[i] < 0 ? index[i] + d : index[i]) * n + i] = 1;
	for (int i = 0; i < x.rank; i++)
		perm[i] = i;
	perm[0] = axis;
	perm[axis] = 0;
	first.dim[0] = d;
	first.dim[axis] = axis ? x.dim[0] : d;
	t = axis ? nw_transpose(g, dy, perm) : dy;
	t = nw_reshape(g, t, NW_SHAPE(n, nw_shape_size(&x) / d));
	t = nw_matmul(g, nw_constant(g, NW_FLOAT, NW_SHAPE(d, n), pick), t);
	t = nw_reshape(g, t, first);
	nw_accumulate(g, r->in[0], axis ? nw_transpose(g, t, perm) : t);
	free(pick);
}

/* Give a reduction's gradient its input's shape back. */
static NwT
unreduce(NwGraph *g, const NwNode *r, NwT dy)
{
	NwShape x = nw_shape_of(g, r->in[0]);
	NwShape kept = x;

	for (int i = 0; i < x.rank; i++)
		if (r->spec[0] & (1 << i))
			kept.dim[i] = 1;
	return nw_expand(g, nw_reshape(g, dy, kept), x);
}

static void
grad_reduce_sum(NwGraph *g, const NwNode *r, NwT dy)
{
	nw_accumulate(g, r->in[0], unreduce(g, r, dy));
}

static void
grad_reduce_mean(NwGraph *g, const NwNode *r, NwT dy)
{
	NwShape x = nw_shape_of(g, r->in[0]);
	NwShape y = nw_shape_of(g, r->out[0]);
	double share = (double) nw_shape_size(&y) / (double) nw_shape_size(&x);

	nw_accumulate(g, r->in[0], unreduce(g, r, nw_scale(g, dy, share)));
}

static void
grad_gemm(NwGraph *g, const NwNode *r, NwT dy)
{
	NwT a = r->in[0];
	NwT b = r->in[1];
	bool ta = find_attr(r, "transA")->i;
	bool tb = find_attr(r, "transB")->i;
	float alpha = find_attr(r, "alpha")->f;

	if (nw_needs_grad(g, a))
		nw_accumulate(g, a,
		              ta ? nw_gemm(g, b, dy, NW_NONE, tb, true, alpha, 1)
		                 : nw_gemm(g, dy, b, NW_NONE, false, !tb, alpha, 1));
	if (nw_needs_grad(g, b))
		nw_accumulate(g, b,
		              tb ? nw_gemm(g, dy, a, NW_NONE, true, ta, alpha, 1)
		                 : nw_gemm(g, a, dy, NW_NONE, !ta, false, alpha, 1));
	if (r->n_in > 2 && nw_needs_grad(g, r->in[2]))
	{
		float beta = find_attr(r, "beta")->f;
		NwT dc = nw_unbroadcast(g, dy, nw_shape_of(g, r->in[2]));

		nw_accumulate(g, r->in[2], beta == 1 ? dc : nw_scale(g, dc, beta));
	}
}

/* Swap the last two axes. */
static NwT
matrix_transpose(NwGraph *g, NwT x)
{
	int rank = NW_RANK(g, x);
	int64_t perm[NW_MAX_RANK];

	for (int i = 0; i < rank; i++)
		perm[i] = i;
	perm[rank - 2] = rank - 1;
	perm[rank - 1] = rank - 2;
	return nw_transpose(g, x, perm);
}

static void
grad_matmul(NwGraph *g, const NwNode *r, NwT dy)
{
	NwT a = r->in[0];
	NwT b = r->in[1];

	if (nw_needs_grad(g, a))
		nw_accumulate(
			g, a, nw_unbroadcast(g, nw_matmul(g, dy, matrix_transpose(g, b)), nw_shape_of(g, a)));
	if (nw_needs_grad(g, b))
		nw_accumulate(
			g, b, nw_unbroadcast(g, nw_matmul(g, matrix_transpose(g, a), dy), nw_shape_of(g, b)));
}

static void
grad_softmax(NwGraph *g, const NwNode *r, NwT dy)
{
	NwT y = r->out[0];
	NwT mean = nw_reduce(g, "ReduceSum", nw_mul(g, dy, y), 1u << r->spec[0], true);

	nw_accumulate(g, r->in[0], nw_mul(g, y, nw_sub(g, dy, mean)));
}

typedef void (*EmitGrad)(NwGraph *g, const NwNode *r, NwT dy);

static const struct
{
	const char *type;
	EmitGrad emit;
} grads[] = {
	{"Abs", grad_abs},
	{"Add", grad_add},
	{"AveragePool", nw_grad_average_pool},
	{"BatchNormalization", nw_grad_batch_norm},
	{"Cast", grad_pass},
	{"Clip", grad_clip},
	{"Concat", grad_concat},
	{"Conv", nw_grad_conv},
	{"Div", grad_div},
	{"Erf", grad_erf},
	{"Exp", grad_exp},
	{"Expand", grad_expand},
	{"Gather", grad_gather},
	{"Gemm", grad_gemm},
	{"HardSigmoid", grad_hard_sigmoid},
	{"Identity", grad_pass},
	{"LeakyRelu", grad_leaky_relu},
	{"Log", grad_log},
	{"MatMul", grad_matmul},
	{"MaxPool", nw_grad_max_pool},
	{"Mul", grad_mul},
	{"Neg", grad_neg},
	{"Pad", grad_pad},
	{"Pow", grad_pow},
	{"Reciprocal", grad_reciprocal},
	{"ReduceMean", grad_reduce_mean},
	{"ReduceSum", grad_reduce_sum},
	{"Relu", grad_relu},
	{"Reshape", grad_reshape},
	{"Sigmoid", grad_sigmoid},
	{"Slice", grad_slice},
	{"Softmax", grad_softmax},
	{"Softplus", grad_softplus},
	{"Sqrt", grad_sqrt},
	{"Sub", grad_sub},
	{"Tanh", grad_tanh},
	{"Transpose", grad_transpose},
};

static EmitGrad
find_grad(const char *type)
{
	for (int i = 0; i < NW_LENGTH(grads); i++)
		if (strcmp(grads[i].type, type) == 0)
			return grads[i].emit;
	nw_fatal("operator %s has no derivative", type);
}

/* Emit the gradients of everything y depends on, given y's own. */
void
nw_backward_from(NwGraph *g, NwT y, NwT dy)
{
	g->recording = false;
	g->tensor[y].grad = dy;
	for (int i = g->n_tape - 1; i >= 0; i--)
	{
		const NwNode *r = &g->tape[i];
		NwT d = g->tensor[r->out[0]].grad;

		if (d != NW_NONE)
			find_grad(r->type)(g, r, d);
	}
}

/* Emit the gradients of a loss without dimensions. */
void
nw_backward(NwGraph *g, NwT loss)
{
	nw_backward_from(g, loss, nw_scalar(g, 1));
}
