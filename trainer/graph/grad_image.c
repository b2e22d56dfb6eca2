/*
 * graph/grad_image.c: derivatives of convolution, pooling and batch normalisation.
 *
 * On the CPU convolutions, batch normalisation and their derivatives are operators
 * of our own where the machine has vector instructions for them.  With standard
 * operators, as measured on the CPU provider, the derivative by the input is fastest
 * as a convolution with flipped weights (stride 1) or as ConvTranspose; the
 * derivative by the weights as one matrix product for each tap of the kernel
 * over CNHW images, or a single one over all taps where channels are few.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "graph/grad_image.h"
#include "graph/graph.h"
#include "graph/ops.h"
#include "graph/ops_image.h"
#include "graph/shape.h"
#include "math/window.h"

/*
 * Flip a kernel and swap its channels: [O,C/G,kh,kw] -> [C,O/G,kh,kw].  The flip
 * is a Gather of whole rows, four times faster than one along the last axis.
 */
static NwT
flip_kernel(NwGraph *g, NwT w, int64_t group)
{
	NwShape s = nw_shape_of(g, w);
	int64_t outs = s.dim[0] / group;
	int64_t ins = s.dim[1];
	int64_t taps = s.dim[2] * s.dim[3];
	int64_t *reverse;
	NwT t;

	if (group == 1)
		t = nw_cnhw(g, w);
	else
	{
		t = nw_reshape(g, w, NW_SHAPE(group, outs, ins, taps));
		t = nw_transpose(g, t, (int64_t[]) {0, 2, 1, 3});
	}
	if (taps > 1)
	{
		reverse = nw_alloc((size_t) taps * sizeof(int64_t));
		for (int64_t i = 0; i < taps; i++)
			reverse[i] = taps - 1 - i;
		t = nw_transpose(g, nw_reshape(g, t, NW_SHAPE(s.dim[0] * ins, taps)), (int64_t[]) {1, 0});
		t = nw_gather(g, t, 0, (int) taps, reverse);
		t = nw_transpose(g, t, (int64_t[]) {1, 0});
		free(reverse);
	}
	return nw_reshape(g, t, NW_SHAPE(ins * group, outs, s.dim[2], s.dim[3]));
}

/* Emit the derivative of a convolution by its input: dy [N,O,h,w] -> [N,C,H,W]. */
static NwT
conv_by_input(NwGraph *g, const NwNode *r, NwT dy)
{
	const NwWindow *win = &r->window;
	NwShape x = nw_shape_of(g, r->in[0]);
	NwWindow back = *win;
	bool flip = win->stride[0] == 1 && win->stride[1] == 1;

	if (g->native && win->group == 1)
		return nw_conv_grad_input(g, dy, r->in[1], win, x.dim[2], x.dim[3]);
	for (int i = 0; i < 4; i++)
	{
		back.pad[i] = win->dilation[i % 2] * (win->kernel[i % 2] - 1) - win->pad[i];
		if (back.pad[i] < 0)
			flip = false;
	}
	if (!flip)
		return nw_conv_transpose(g, dy, r->in[1], win, x.dim[2], x.dim[3]);
	return nw_conv(g, dy, flip_kernel(g, r->in[1], win->group), NW_NONE, &back);
}

/* Cut what one tap of the kernel sees, for all places of the window. */
static NwT
tap(NwGraph *g, NwT x, const NwWindow *win, int64_t a, int64_t b, int64_t h, int64_t w)
{
	int64_t axes[2] = {2, 3};
	int64_t start[2] = {a * win->dilation[0], b * win->dilation[1]};
	int64_t end[2] = {start[0] + win->stride[0] * (h - 1) + 1,
	                  start[1] + win->stride[1] * (w - 1) + 1};

	return nw_slice(g, x, 2, axes, start, end, win->stride);
}

/* Emit the derivative of a convolution by its weights: [O,C/G,kh,kw]. */
static NwT
conv_by_weight(NwGraph *g, const NwNode *r, NwT dy)
{
	const NwWindow *win = &r->window;
	NwShape ws = nw_shape_of(g, r->in[1]);
	NwShape ys = nw_shape_of(g, dy);
	int64_t group = win->group;
	int64_t outs = ws.dim[0] / group;
	int64_t ins = ws.dim[1];
	int64_t taps = ws.dim[2] * ws.dim[3];
	int64_t places = ys.dim[0] * ys.dim[2] * ys.dim[3];
	int64_t pads[8] = {0, 0, win->pad[0], win->pad[1], 0, 0, win->pad[2], win->pad[3]};
	bool joint = group == 1 && ins < 16 && taps > 1;
	NwT x;
	NwT d;
	NwT *part;
	NwT dw;

	if (g->native && group == 1)
		return nw_conv_grad_weight(g, r->in[0], dy, win);
	x = nw_pad(g, nw_cnhw(g, r->in[0]), pads, 0);
	d = nw_cnhw(g, dy);
	part = nw_alloc((size_t) taps * sizeof(NwT));
	d = group == 1 ? nw_reshape(g, d, NW_SHAPE(outs, places))
	               : nw_reshape(g, d, NW_SHAPE(group, outs, places));
	for (int64_t i = 0; i < taps; i++)
	{
		NwT t = tap(g, x, win, i / ws.dim[3], i % ws.dim[3], ys.dim[2], ys.dim[3]);

		if (joint)
			part[i] = nw_reshape(g, t, NW_SHAPE(ins, places));
		else if (group == 1)
		{
			t = nw_gemm(g, d, nw_reshape(g, t, NW_SHAPE(ins, places)), NW_NONE, false, true, 1, 1);
			part[i] = nw_reshape(g, t, NW_SHAPE(1, outs * ins));
		}
		else
		{
			t = nw_transpose(g, nw_reshape(g, t, NW_SHAPE(group, ins, places)),
			                 (int64_t[]) {0, 2, 1});
			part[i] = nw_reshape(g, nw_matmul(g, d, t), NW_SHAPE(1, group * outs * ins));
		}
	}
	dw = nw_concat(g, (int) taps, part, 0);
	free(part);
	if (joint)
	{
		dw = nw_gemm(g, dw, d, NW_NONE, false, true, 1, 1); /* [taps*C, O] */
		dw = nw_transpose(g, nw_reshape(g, dw, NW_SHAPE(taps, ins, outs)), (int64_t[]) {2, 1, 0});
	}
	else if (taps > 1)
		dw = nw_transpose(g, dw, (int64_t[]) {1, 0});
	return nw_reshape(g, dw, ws);
}

void
nw_grad_conv(NwGraph *g, const NwNode *r, NwT dy)
{
	if (nw_needs_grad(g, r->in[1]))
		nw_accumulate(g, r->in[1], conv_by_weight(g, r, dy));
	if (r->n_in > 2 && nw_needs_grad(g, r->in[2]))
		nw_accumulate(g, r->in[2], nw_channel_sum(g, dy));
	if (nw_needs_grad(g, r->in[0]))
		nw_accumulate(g, r->in[0], conv_by_input(g, r, dy));
}

/* Put back what a tap saw: [N,C,h,w] into zeros of the padded image's size. */
static NwT
untap(NwGraph *g, NwT d, const NwWindow *win, int64_t a, int64_t b, int64_t height, int64_t width)
{
	NwShape s = nw_shape_of(g, d);
	int64_t sh = win->stride[0];
	int64_t sw = win->stride[1];
	int64_t at[2] = {a * win->dilation[0], b * win->dilation[1]};

	if (sh > 1)
	{
		d = nw_reshape(g, d, NW_SHAPE(s.dim[0], s.dim[1], s.dim[2], 1, s.dim[3]));
		d = nw_pad(g, d, (int64_t[]) {0, 0, 0, 0, 0, 0, 0, 0, sh - 1, 0}, 0);
		d = nw_reshape(g, d, NW_SHAPE(s.dim[0], s.dim[1], s.dim[2] * sh, s.dim[3]));
	}
	if (sw > 1)
	{
		d = nw_reshape(g, d, NW_SHAPE(s.dim[0], s.dim[1], s.dim[2] * sh, s.dim[3], 1));
		d = nw_pad(g, d, (int64_t[]) {0, 0, 0, 0, 0, 0, 0, 0, 0, sw - 1}, 0);
		d = nw_reshape(g, d, NW_SHAPE(s.dim[0], s.dim[1], s.dim[2] * sh, s.dim[3] * sw));
	}
	d = nw_slice(g, d, 2, (int64_t[]) {2, 3}, (int64_t[]) {0, 0},
	             (int64_t[]) {sh * (s.dim[2] - 1) + 1, sw * (s.dim[3] - 1) + 1}, NULL);
	return nw_pad(g, d,
	              (int64_t[]) {0, 0, at[0], at[1], 0, 0, height - at[0] - NW_DIM(g, d, 2),
	                           width - at[1] - NW_DIM(g, d, 3)},
	              0);
}

/*
 * MaxPool on a GPU, whose providers do not say where the maxima were: look for
 * the first tap that equals the maximum.  Each window credits one place, so ties
 * count as they do on the CPU.
 */
static NwT
max_pool_by_masks(NwGraph *g, const NwNode *r, NwT dy)
{
	const NwWindow *win = &r->window;
	NwShape xs = nw_shape_of(g, r->in[0]);
	NwShape ys = nw_shape_of(g, dy);
	int64_t pads[8] = {0, 0, win->pad[0], win->pad[1], 0, 0, win->pad[2], win->pad[3]};
	int64_t height = xs.dim[2] + win->pad[0] + win->pad[2];
	int64_t width = xs.dim[3] + win->pad[1] + win->pad[3];
	NwT x = nw_pad(g, r->in[0], pads, -3.4e38f);
	NwT left = NW_NONE; /* gradient not yet credited to a tap */
	NwT dx = NW_NONE;

	left = dy;
	for (int64_t a = 0; a < win->kernel[0]; a++)
		for (int64_t b = 0; b < win->kernel[1]; b++)
		{
			NwT seen = tap(g, x, win, a, b, ys.dim[2], ys.dim[3]);
			NwT credit = nw_mul(g, left, nw_mask(g, "Equal", seen, r->out[0]));
			NwT placed = untap(g, credit, win, a, b, height, width);

			left = nw_sub(g, left, credit);
			dx = dx == NW_NONE ? placed : nw_add(g, dx, placed);
		}
	return nw_slice(g, dx, 2, (int64_t[]) {2, 3}, (int64_t[]) {win->pad[0], win->pad[1]},
	                (int64_t[]) {win->pad[0] + xs.dim[2], win->pad[1] + xs.dim[3]}, NULL);
}

void
nw_grad_max_pool(NwGraph *g, const NwNode *r, NwT dy)
{
	NwShape xs = nw_shape_of(g, r->in[0]);
	NwShape ys = nw_shape_of(g, dy);
	int64_t size = nw_shape_size(&xs);
	int64_t places = nw_shape_size(&ys);
	NwT in[3];
	NwNode *node;

	if (g->gpu)
	{
		nw_accumulate(g, r->in[0], max_pool_by_masks(g, r, dy));
		return;
	}
	in[0] = nw_expand(g, nw_reshape(g, nw_scalar(g, 0), NW_SHAPE(1)), NW_SHAPE(size));
	in[1] = nw_reshape(g, r->out[1], NW_SHAPE(places));
	in[2] = nw_reshape(g, dy, NW_SHAPE(places));
	node = nw_node(g, "ScatterElements", 3, in);
	nw_node_attr(node, nw_attr_int("axis", 0));
	nw_node_attr(node, nw_attr_string("reduction", "add"));
	nw_accumulate(g, r->in[0], nw_reshape(g, nw_node_out(g, node, NW_FLOAT, NW_SHAPE(size)), xs));
}

/* Divide by the number of image elements in each window: [1,1,h,w] of 1 / count. */
static NwT
share_of_window(NwGraph *g, const NwNode *r)
{
	const NwWindow *win = &r->window;
	NwShape ys = nw_shape_of(g, r->out[0]);
	NwShape xs = nw_shape_of(g, r->in[0]);
	int64_t h = ys.dim[2];
	int64_t w = ys.dim[3];
	float *share = nw_alloc((size_t) (h * w) * sizeof(float));
	NwT t;

	for (int64_t i = 0; i < h; i++)
		for (int64_t j = 0; j < w; j++)
		{
			int64_t count = 0;

			for (int64_t a = 0; a < win->kernel[0]; a++)
				for (int64_t b = 0; b < win->kernel[1]; b++)
				{
					int64_t y = i * win->stride[0] + a - win->pad[0];
					int64_t x = j * win->stride[1] + b - win->pad[1];

					if (win->count_pad || (y >= 0 && y < xs.dim[2] && x >= 0 && x < xs.dim[3]))
						count++;
				}
			share[i * w + j] = 1.0f / (float) count;
		}
	t = nw_constant(g, NW_FLOAT, NW_SHAPE(1, 1, h, w), share);
	free(share);
	return t;
}

/* Emit the derivative of AveragePool: each place gets its share back. */
void
nw_grad_average_pool(NwGraph *g, const NwNode *r, NwT dy)
{
	const NwWindow *win = &r->window;
	NwShape xs = nw_shape_of(g, r->in[0]);
	int64_t height = xs.dim[2] + win->pad[0] + win->pad[2];
	int64_t width = xs.dim[3] + win->pad[1] + win->pad[3];
	NwT d = nw_mul(g, dy, share_of_window(g, r));
	NwT dx = NW_NONE;

	for (int64_t a = 0; a < win->kernel[0]; a++)
		for (int64_t b = 0; b < win->kernel[1]; b++)
		{
			NwT placed = untap(g, d, win, a, b, height, width);

			dx = dx == NW_NONE ? placed : nw_add(g, dx, placed);
		}
	nw_accumulate(g, r->in[0],
	              nw_slice(g, dx, 2, (int64_t[]) {2, 3}, (int64_t[]) {win->pad[0], win->pad[1]},
	                       (int64_t[]) {win->pad[0] + xs.dim[2], win->pad[1] + xs.dim[3]}, NULL));
}

/* Emit the derivative of BatchNormalization as one operator of our own. */
static void
batch_norm_native(NwGraph *g, const NwNode *r, NwT dy)
{
	NwT in[5] = {r->in[0], dy, r->in[1], r->in[3], r->in[4]};
	NwShape channels = nw_shape_of(g, r->in[1]);
	NwNode *node = nw_own_node(g, "BatchNormGrad", 5, in);
	NwT dx;
	NwT dscale;
	NwT dbias;

	nw_node_attr(node, nw_attr_float("epsilon", r->attr[0].f));
	dx = nw_node_out(g, node, NW_FLOAT, nw_shape_of(g, r->in[0]));
	dscale = nw_node_out(g, node, NW_FLOAT, channels);
	dbias = nw_node_out(g, node, NW_FLOAT, channels);
	nw_accumulate(g, r->in[1], dscale);
	nw_accumulate(g, r->in[2], dbias);
	nw_accumulate(g, r->in[0], dx);
}

/*
 * Emit the derivative of BatchNormalization.  With inv = 1 / sqrt(var + eps),
 * M the elements of a channel, sums over those elements:
 *   dbias = sum dy,  dscale = inv (sum dy x - mean sum dy)
 *   dx = a dy + (x - mean) b + c,  a = scale inv, and where the statistics are the
 *   batch's own b = -a inv dscale / M, c = -a dbias / M (else both are 0).
 */
void
nw_grad_batch_norm(NwGraph *g, const NwNode *r, NwT dy)
{
	NwT x = r->in[0];
	NwT scale = r->in[1];
	NwT mean = r->in[3];
	NwShape xs = nw_shape_of(g, x);
	double m = (double) (xs.dim[0] * xs.dim[2] * xs.dim[3]);
	float eps = r->attr[0].f;
	NwT inv;
	NwT a;
	NwT dbias;
	NwT dscale;
	NwT dx;

	if (g->native && r->batch_stats)
	{
		batch_norm_native(g, r, dy);
		return;
	}
	inv = nw_unary(g, "Reciprocal", nw_unary(g, "Sqrt", nw_add(g, r->in[4], nw_scalar(g, eps))));
	a = nw_mul(g, scale, inv);
	dbias = nw_channel_sum(g, dy);
	if (g->gpu) /* centred first: these sums run in another order */
		dscale =
			nw_mul(g, inv, nw_channel_sum(g, nw_mul(g, dy, nw_sub(g, x, nw_per_channel(g, mean)))));
	else
		dscale =
			nw_mul(g, inv, nw_sub(g, nw_channel_sum(g, nw_mul(g, dy, x)), nw_mul(g, mean, dbias)));
	nw_accumulate(g, scale, dscale);
	nw_accumulate(g, r->in[2], dbias);
	if (!nw_needs_grad(g, x))
		return;
	dx = nw_mul(g, dy, nw_per_channel(g, a));
	if (r->batch_stats)
	{
		NwT b = nw_mul(g, nw_mul(g, a, inv), nw_scale(g, dscale, -1 / m));
		NwT c = nw_mul(g, a, nw_scale(g, dbias, -1 / m));

		dx = nw_add(g, dx, nw_affine(g, x, b, c, mean));
	}
	nw_accumulate(g, x, dx);
}
