/*
 * graph/ops_image.c: operators on images [N,C,H,W] and normalisations.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "base/message.h"
#include "graph/graph.h"
#include "graph/ops.h"
#include "graph/ops_image.h"
#include "graph/shape.h"
#include "math/window.h"

static void
window_attrs(NwNode *node, const NwWindow *win)
{
	node->window = *win;
	nw_node_attr(node, nw_attr_ints("kernel_shape", 2, win->kernel));
	nw_node_attr(node, nw_attr_ints("strides", 2, win->stride));
	nw_node_attr(node, nw_attr_ints("pads", 4, win->pad));
}

/* Check that a window fits an image, and return the shape of what it yields. */
static NwShape
window_shape(NwGraph *g, NwT x, int64_t channels, const NwWindow *win, const char *who)
{
	NwShape s = nw_shape_of(g, x);

	if (s.rank != 4)
		nw_fatal("operator %s: only two-dimensional images are supported", who);
	s.dim[1] = channels;
	for (int i = 0; i < 2; i++)
	{
		s.dim[2 + i] = nw_window_out(s.dim[2 + i], win, i);
		if (s.dim[2 + i] < 1)
			nw_fatal("operator %s: the image is too small for a window of %lld", who,
			         (long long) win->kernel[i]);
	}
	return s;
}

/* Add a convolution; the bias may be absent. */
NwT
nw_conv(NwGraph *g, NwT x, NwT w, NwT bias, const NwWindow *win)
{
	NwT in[3] = {x, w, bias};
	NwShape to = window_shape(g, x, NW_DIM(g, w, 0), win, "Conv");
	NwNode *node;
	NwT y;

	if (NW_DIM(g, x, 1) != NW_DIM(g, w, 1) * win->group)
		nw_fatal("operator Conv: %lld channels given, %lld expected", (long long) NW_DIM(g, x, 1),
		         (long long) (NW_DIM(g, w, 1) * win->group));
	node = nw_node(g, "Conv", bias == NW_NONE ? 2 : 3, in);
	node->own = g->native && win->group == 1;
	window_attrs(node, win);
	nw_node_attr(node, nw_attr_ints("dilations", 2, win->dilation));
	if (!node->own)
		nw_node_attr(node, nw_attr_int("group", win->group));
	y = nw_node_out(g, node, NW_FLOAT, to);
	nw_record(g, node);
	return y;
}

/* Add the derivative of a convolution of x [N,C,height,width] by its input: an operator of our own.
 */
NwT
nw_conv_grad_input(NwGraph *g, NwT dy, NwT w, const NwWindow *win, int64_t height, int64_t width)
{
	NwT in[2] = {dy, w};
	NwNode *node = nw_own_node(g, "ConvGradInput", 2, in);

	window_attrs(node, win);
	nw_node_attr(node, nw_attr_ints("dilations", 2, win->dilation));
	nw_node_attr(node, nw_attr_ints("size", 2, (int64_t[]) {height, width}));
	return nw_node_out(g, node, NW_FLOAT,
	                   NW_SHAPE(NW_DIM(g, dy, 0), NW_DIM(g, w, 1), height, width));
}

/* Add the derivative of a convolution by its weights: an operator of our own. */
NwT
nw_conv_grad_weight(NwGraph *g, NwT x, NwT dy, const NwWindow *win)
{
	NwT in[2] = {x, dy};
	NwNode *node = nw_own_node(g, "ConvGradWeight", 2, in);

	window_attrs(node, win);
	nw_node_attr(node, nw_attr_ints("dilations", 2, win->dilation));
	return nw_node_out(g, node, NW_FLOAT,
	                   NW_SHAPE(NW_DIM(g, dy, 1), NW_DIM(g, x, 1), win->kernel[0], win->kernel[1]));
}

/*
 * Add a transposed convolution that yields images of h x width: the derivative of
 * a convolution by its input.  w is the convolution's own weight.
 */
NwT
nw_conv_transpose(NwGraph *g, NwT x, NwT w, const NwWindow *win, int64_t h, int64_t width)
{
	NwT in[2] = {x, w};
	int64_t size[2] = {h, width};
	int64_t extra[2];
	NwNode *node = nw_node(g, "ConvTranspose", 2, in);

	for (int i = 0; i < 2; i++)
		extra[i] = size[i] - ((NW_DIM(g, x, 2 + i) - 1) * win->stride[i] - win->pad[i] -
		                      win->pad[2 + i] + win->dilation[i] * (win->kernel[i] - 1) + 1);
	window_attrs(node, win);
	nw_node_attr(node, nw_attr_ints("dilations", 2, win->dilation));
	nw_node_attr(node, nw_attr_int("group", win->group));
	nw_node_attr(node, nw_attr_ints("output_padding", 2, extra));
	return nw_node_out(g, node, NW_FLOAT,
	                   NW_SHAPE(NW_DIM(g, x, 0), NW_DIM(g, w, 1) * win->group, h, width));
}

/* Add MaxPool; the CPU's derivative needs the places of the maxima too. */
NwT
nw_max_pool(NwGraph *g, NwT x, const NwWindow *win)
{
	NwShape to = window_shape(g, x, NW_DIM(g, x, 1), win, "MaxPool");
	NwNode *node = nw_node(g, "MaxPool", 1, &x);
	NwT y;

	window_attrs(node, win);
	nw_node_attr(node, nw_attr_ints("dilations", 2, win->dilation));
	y = nw_node_out(g, node, NW_FLOAT, to);
	if (!g->gpu && g->recording && g->tensor[y].needs_grad)
	{
		NwT places = nw_node_out(g, node, NW_INT64, to);

		g->tensor[places].needs_grad = false;
	}
	nw_record(g, node);
	return y;
}

NwT
nw_average_pool(NwGraph *g, NwT x, const NwWindow *win)
{
	NwShape to = window_shape(g, x, NW_DIM(g, x, 1), win, "AveragePool");
	NwNode *node = nw_node(g, "AveragePool", 1, &x);
	NwT y;

	window_attrs(node, win);
	nw_node_attr(node, nw_attr_int("count_include_pad", win->count_pad));
	y = nw_node_out(g, node, NW_FLOAT, to);
	nw_record(g, node);
	return y;
}

/* Give a value for each channel the shape that meets an image. */
NwT
nw_per_channel(NwGraph *g, NwT v)
{
	return nw_reshape(g, v, NW_SHAPE(1, NW_DIM(g, v, 0), 1, 1));
}

/* Scale and shift each channel: one pass over the image on the CPU. */
NwT
nw_affine(NwGraph *g, NwT x, NwT scale, NwT shift, NwT mean)
{
	int64_t channels = NW_DIM(g, x, 1);
	float *one;
	NwT in[5] = {x, scale, shift, mean, NW_NONE};
	NwNode *node;

	if (g->gpu)
		return nw_add(g, nw_mul(g, nw_sub(g, x, nw_per_channel(g, mean)), nw_per_channel(g, scale)),
		              nw_per_channel(g, shift));
	one = nw_alloc((size_t) channels * sizeof(float));
	for (int64_t i = 0; i < channels; i++)
		one[i] = 1;
	in[4] = nw_constant(g, NW_FLOAT, NW_SHAPE(channels), one);
	free(one);
	node = nw_node(g, "BatchNormalization", 5, in);
	nw_node_attr(node, nw_attr_float("epsilon", 0));
	return nw_node_out(g, node, NW_FLOAT, nw_shape_of(g, x));
}

/* Normalise by the batch's own mean and variance with operators every GPU provider has. */
static NwT
batch_norm_gpu(NwGraph *g, NwT x, NwT scale, NwT bias, float eps, NwT *mean, NwT *var)
{
	NwShape channels = NW_SHAPE(NW_DIM(g, x, 1));
	NwT mean4 = nw_reduce(g, "ReduceMean", x, 0xd, true);
	NwT centred = nw_sub(g, x, mean4);
	NwT var4 = nw_reduce(g, "ReduceMean", nw_mul(g, centred, centred), 0xd, true);
	NwT inv;

	*mean = nw_reshape(g, mean4, channels);
	*var = nw_reshape(g, var4, channels);
	inv = nw_unary(g, "Reciprocal", nw_unary(g, "Sqrt", nw_add(g, *var, nw_scalar(g, eps))));
	return nw_add(g, nw_mul(g, centred, nw_per_channel(g, nw_mul(g, inv, scale))),
	              nw_per_channel(g, bias));
}

/* Keep running statistics for inference: 0.9 of the old, 0.1 of the new. */
static void
update_running(NwGraph *g, NwT x, NwT mean, NwT var, NwT batch_mean, NwT batch_var)
{
	double m = (double) (NW_DIM(g, x, 0) * NW_DIM(g, x, 2) * NW_DIM(g, x, 3));
	double unbias = m > 1 ? m / (m - 1) : 1;

	nw_update(g, mean, nw_add(g, nw_scale(g, mean, 0.9), nw_scale(g, batch_mean, 0.1)));
	nw_update(g, var, nw_add(g, nw_scale(g, var, 0.9), nw_scale(g, batch_var, 0.1 * unbias)));
}

/*
 * Add batch normalisation.  In training it uses the batch's statistics and
 * updates the running ones; otherwise (export, frozen) it uses the running ones.
 */
NwT
nw_batch_norm(NwGraph *g, NwT x, NwT scale, NwT bias, NwT mean, NwT var, float eps, bool train)
{
	NwShape shape = nw_shape_of(g, x);
	NwShape channels = NW_SHAPE(shape.dim[1]);
	NwT in[5] = {x, scale, bias, mean, var};
	bool recording = g->recording;
	NwNode *node;
	NwT y;
	NwT batch_mean;
	NwT batch_var;

	if (shape.rank != 4)
		nw_fatal("operator BatchNormalization: only two-dimensional images are supported");
	if (!train)
	{
		node = nw_node(g, "BatchNormalization", 5, in);
		nw_node_attr(node, nw_attr_float("epsilon", eps));
		y = nw_node_out(g, node, NW_FLOAT, shape);
		nw_record(g, node);
		return y;
	}

	g->recording = false;
	if (g->gpu)
		y = batch_norm_gpu(g, x, scale, bias, eps, &batch_mean, &batch_var);
	else if (g->native)
	{
		node = nw_own_node(g, "BatchNorm", 3, in);
		nw_node_attr(node, nw_attr_float("epsilon", eps));
		y = nw_node_out(g, node, NW_FLOAT, shape);
		batch_mean = nw_node_out(g, node, NW_FLOAT, channels);
		batch_var = nw_node_out(g, node, NW_FLOAT, channels);
	}
	else
	{
		/* the kernel writes outputs 1 and 2 over inputs 3 and 4: give it copies */
		in[3] = nw_unary(g, "Neg", mean);
		in[4] = nw_unary(g, "Neg", var);
		node = nw_node(g, "BatchNormalization", 5, in);
		nw_node_attr(node, nw_attr_int("training_mode", 1));
		nw_node_attr(node, nw_attr_float("momentum", 0));
		nw_node_attr(node, nw_attr_float("epsilon", eps));
		y = nw_node_out(g, node, NW_FLOAT, shape);
		batch_mean = nw_node_out(g, node, NW_FLOAT, channels);
		batch_var = nw_node_out(g, node, NW_FLOAT, channels);
	}
	update_running(g, x, mean, var, batch_mean, batch_var);
	g->recording = recording;

	/* one tape entry for the whole, whatever nodes it was made of */
	if (recording && (nw_needs_grad(g, x) || nw_needs_grad(g, scale) || nw_needs_grad(g, bias)))
	{
		in[3] = batch_mean;
		in[4] = batch_var;
		node = nw_tape_entry(g, "BatchNormalization", 5, in);
		nw_node_attr(node, nw_attr_float("epsilon", eps));
		node->batch_stats = true;
		node->out[node->n_out++] = y;
		g->tensor[y].needs_grad = true;
	}
	return y;
}

/* Add layer normalisation over the axes from the given one on; the bias may be absent. */
NwT
nw_layer_norm(NwGraph *g, NwT x, NwT scale, NwT bias, int64_t axis, float eps)
{
	unsigned axes = 0;
	NwT centred;
	NwT var;
	NwT y;

	for (int i = (int) axis; i < NW_RANK(g, x); i++)
		axes |= 1u << i;
	centred = nw_sub(g, x, nw_reduce(g, "ReduceMean", x, axes, true));
	var = nw_reduce(g, "ReduceMean", nw_mul(g, centred, centred), axes, true);
	y = nw_div(g, centred, nw_unary(g, "Sqrt", nw_add(g, var, nw_scalar(g, eps))));
	y = nw_mul(g, y, scale);
	return bias == NW_NONE ? y : nw_add(g, y, bias);
}
