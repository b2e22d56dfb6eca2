/*
 * gradcheck.c: compute gradients with the trainer's graphs, for comparison.
 *
 *   gradcheck ops FOLDER DEVICE                       every operator's derivative
 *   gradcheck net FOLDER DEVICE ARCH WIDTH SIZE HEAD KERNEL  a whole network's
 *   gradcheck edges FOLDER DEVICE KERNEL odd LARGE    those of odd embeddings
 *   gradcheck edges FOLDER DEVICE KERNEL|fc tied LARGE  those of embeddings that are all equal
 *   gradcheck edges FOLDER DEVICE KERNEL far LARGE    those of embeddings far apart for tau
 *   gradcheck backbone FOLDER DEVICE FILE.onnx SIZE OUTPUT  a loaded network's; - for its first
 *   gradcheck steps FOLDER DEVICE RECIPE              where several steps lead
 *   gradcheck count - cpu ARCH                        how many numbers a network learns
 *
 * DEVICE "standard" is the CPU with standard operators only.
 *
 * Inputs and results go to FOLDER as .npy files; gradcheck.py judges them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/text.h"
#include "data/batch_spec.h"
#include "graph/grad.h"
#include "graph/graph.h"
#include "graph/onnx_write.h"
#include "graph/ops.h"
#include "graph/ops_image.h"
#include "graph/shape.h"
#include "graph/states.h"
#include "math/window.h"
#include "net/backbone.h"
#include "net/builtin.h"
#include "net/kernel.h"
#include "net/model.h"
#include "net/optimizer.h"
#include "net/step_graph.h"
#include "npy.h"
#include "ort/device.h"
#include "ort/runtime.h"
#include "run/step_runner.h"
#include "run/train_settings.h"

static const char *folder;
static NwDevice device;
static bool standard;
static NwRuntime *rt;

static void
save(const char *name, const NwShape *s, const float *v)
{
	save_npy(folder, name, s, v);
}

/* Run a graph whose inputs are its states and `extra`, and save its outputs. */
static void
run_and_save(NwGraph *g, NwStates *extra, const char *prefix)
{
	NwBuf model;
	NwSession *s;
	NwBinding *b;
	NwValue **out;
	int n;

	nw_graph_pack(g, NULL, false, &model);
	s = nw_session_open(rt, device, 1, true, &model, prefix);
	b = nw_binding_new(s);
	for (int i = 0; i < g->n_inputs; i++)
	{
		const char *name = g->tensor[g->input[i]].name;
		NwState *st = nw_state_find(g->states, name);

		if (st == NULL)
			st = nw_state_find(extra, name);
		nw_bind_input(b, name, nw_value_over(st->shape, st->data));
	}
	for (int i = 0; i < g->n_outputs; i++)
		nw_bind_output_fresh(b, g->output[i].name, true);
	nw_binding_run(b);
	n = nw_binding_outputs(b, &out);
	for (int i = 0; i < n; i++)
	{
		char *name = nw_printf("%s%s", prefix, g->output[i].name);
		NwShape shape = nw_value_shape(out[i]);

		save(name, &shape, nw_value_floats(out[i]));
		free(name);
		nw_value_free(out[i]);
	}
	free(out);
	nw_binding_free(b);
	nw_session_close(s);
	nw_buf_free(&model);
}

/* Add a state of random numbers in [low, high]. */
static NwState *
random_state(NwStates *s, const char *name, NwShape shape, double low, double high)
{
	NwState *st = nw_state_add(s, name, shape, NULL);
	NwRandom r = nw_random(7, nw_hash(name, strlen(name)), (uint64_t) nw_shape_size(&shape));

	for (int64_t i = 0; i < nw_shape_size(&shape); i++)
		st->data[i] = (float) (low + (high - low) * nw_random_double(&r));
	return st;
}

#define UNARY(fn, type)                     \
	static NwT fn(NwGraph *g, const NwT *x) \
	{                                       \
		return nw_unary(g, type, x[0]);     \
	}
#define BINARY(fn, type)                       \
	static NwT fn(NwGraph *g, const NwT *x)    \
	{                                          \
		return nw_binary(g, type, x[0], x[1]); \
	}
UNARY(f_relu, "Relu")
UNARY(f_sigmoid, "Sigmoid")
UNARY(f_tanh, "Tanh")
UNARY(f_softplus, "Softplus")
UNARY(f_erf, "Erf")
UNARY(f_exp, "Exp")
UNARY(f_log, "Log")
UNARY(f_sqrt, "Sqrt")
UNARY(f_reciprocal, "Reciprocal")
UNARY(f_neg, "Neg")
UNARY(f_abs, "Abs")
UNARY(f_identity, "Identity")
BINARY(f_add, "Add")
BINARY(f_sub, "Sub")
BINARY(f_mul, "Mul")
BINARY(f_div, "Div")

static NwT
f_leaky(NwGraph *g, const NwT *x)
{
	return nw_leaky_relu(g, x[0], 0.1f);
}
static NwT
f_hard_sigmoid(NwGraph *g, const NwT *x)
{
	return nw_hard_sigmoid(g, x[0], 0.3f, 0.5f);
}
static NwT
f_clip(NwGraph *g, const NwT *x)
{
	return nw_clip(g, x[0], -0.5f, 1.0f);
}
static NwT
f_pow(NwGraph *g, const NwT *x)
{
	return nw_pow(g, x[0], 2.5f);
}
static NwT
f_cast(NwGraph *g, const NwT *x)
{
	return nw_cast_float(g, x[0]);
}
static NwT
f_reshape(NwGraph *g, const NwT *x)
{
	return nw_reshape(g, x[0], NW_SHAPE(6, 20));
}
static NwT
f_transpose(NwGraph *g, const NwT *x)
{
	return nw_transpose(g, x[0], (int64_t[]) {2, 0, 3, 1});
}
static NwT
f_expand(NwGraph *g, const NwT *x)
{
	return nw_expand(g, x[0], NW_SHAPE(4, 3, 5));
}
static NwT
f_pad(NwGraph *g, const NwT *x)
{
	return nw_pad(g, x[0], (int64_t[]) {1, 0, 2, 0, 3, 1}, 2.0f);
}
static NwT
f_concat(NwGraph *g, const NwT *x)
{
	return nw_concat(g, 3, x, 1);
}
static NwT
f_softmax(NwGraph *g, const NwT *x)
{
	return nw_softmax(g, x[0], 1);
}
static NwT
f_matmul(NwGraph *g, const NwT *x)
{
	return nw_matmul(g, x[0], x[1]);
}
static NwT
f_reduce_sum(NwGraph *g, const NwT *x)
{
	return nw_reduce(g, "ReduceSum", x[0], 0x5, false);
}
static NwT
f_reduce_mean(NwGraph *g, const NwT *x)
{
	return nw_reduce(g, "ReduceMean", x[0], 0x6, true);
}
static NwT
f_gather0(NwGraph *g, const NwT *x)
{
	return nw_gather(g, x[0], 0, 3, (int64_t[]) {2, 0, 2});
}
static NwT
f_gather2(NwGraph *g, const NwT *x)
{
	return nw_gather(g, x[0], 2, 2, (int64_t[]) {3, 1});
}
static NwT
f_layer_norm(NwGraph *g, const NwT *x)
{
	return nw_layer_norm(g, x[0], x[1], x[2], 2, 1e-5f);
}
static NwT
f_gemm(NwGraph *g, const NwT *x)
{
	return nw_gemm(g, x[0], x[1], x[2], false, true, 0.7f, 1.5f);
}
static NwT
f_gemm_ta(NwGraph *g, const NwT *x)
{
	return nw_gemm(g, x[0], x[1], NW_NONE, true, false, 1, 1);
}
static NwT
f_gemm_tab(NwGraph *g, const NwT *x)
{
	return nw_gemm(g, x[0], x[1], NW_NONE, true, true, 2, 1);
}

static NwT
f_slice(NwGraph *g, const NwT *x)
{
	return nw_slice(g, x[0], 2, (int64_t[]) {1, 2}, (int64_t[]) {1, 0}, (int64_t[]) {6, 5},
	                (int64_t[]) {2, 1});
}

static NwT
conv(NwGraph *g, const NwT *x, NwT bias, int64_t k, int64_t stride, int64_t pad, int64_t dilation,
     int64_t group)
{
	NwWindow w = nw_window(k, stride, pad);

	w.dilation[0] = w.dilation[1] = dilation;
	w.group = group;
	return nw_conv(g, x[0], x[1], bias, &w);
}

static NwT
f_conv(NwGraph *g, const NwT *x)
{
	return conv(g, x, x[2], 3, 1, 1, 1, 1);
}
static NwT
f_conv_wide(NwGraph *g, const NwT *x)
{
	return conv(g, x, NW_NONE, 3, 1, 1, 1, 1);
}
static NwT
f_conv_s2(NwGraph *g, const NwT *x)
{
	return conv(g, x, NW_NONE, 3, 2, 1, 1, 1);
}
static NwT
f_conv_7s2(NwGraph *g, const NwT *x)
{
	return conv(g, x, NW_NONE, 7, 2, 3, 1, 1);
}
static NwT
f_conv_1s2(NwGraph *g, const NwT *x)
{
	return conv(g, x, NW_NONE, 1, 2, 0, 1, 1);
}
static NwT
f_conv_dilated(NwGraph *g, const NwT *x)
{
	return conv(g, x, NW_NONE, 3, 1, 2, 2, 1);
}
static NwT
f_conv_depthwise(NwGraph *g, const NwT *x)
{
	return conv(g, x, NW_NONE, 3, 1, 1, 1, 4);
}
static NwT
f_conv_groups(NwGraph *g, const NwT *x)
{
	return conv(g, x, NW_NONE, 3, 2, 1, 1, 2);
}

static NwT
f_conv_uneven(NwGraph *g, const NwT *x)
{
	NwWindow w = {
		.kernel = {3, 2}, .stride = {1, 1}, .pad = {1, 0, 0, 1}, .dilation = {1, 1}, .group = 1};

	return nw_conv(g, x[0], x[1], NW_NONE, &w);
}

static NwT
f_max_pool(NwGraph *g, const NwT *x)
{
	NwWindow w = nw_window(3, 2, 1);

	return nw_max_pool(g, x[0], &w);
}

/* Rounded inputs: most windows hold ties. */
static NwT
f_max_pool_ties(NwGraph *g, const NwT *x)
{
	NwWindow w = nw_window(3, 2, 1);

	return nw_max_pool(g, nw_unary(g, "Relu", x[0]), &w);
}

static NwT
f_average_pool(NwGraph *g, const NwT *x)
{
	NwWindow w = nw_window(2, 2, 0);

	return nw_average_pool(g, x[0], &w);
}

static NwT
f_average_pool_pad(NwGraph *g, const NwT *x)
{
	NwWindow w = nw_window(3, 2, 1);

	w.count_pad = true;
	return nw_average_pool(g, x[0], &w);
}

static NwT
f_average_pool_edge(NwGraph *g, const NwT *x)
{
	NwWindow w = nw_window(3, 1, 1);

	return nw_average_pool(g, x[0], &w);
}

static NwT
batch_norm(NwGraph *g, const NwT *x, bool train)
{
	NwShape c = nw_shape_of(g, x[1]);
	NwT mean = nw_buffer(g, "mean", c, NW_INIT_ZERO);
	NwT var = nw_buffer(g, "var", c, NW_INIT_ONE);

	return nw_batch_norm(g, x[0], x[1], x[2], mean, var, 1e-5f, train);
}

static NwT
f_batch_norm(NwGraph *g, const NwT *x)
{
	return batch_norm(g, x, true);
}
static NwT
f_batch_norm_frozen(NwGraph *g, const NwT *x)
{
	return batch_norm(g, x, false);
}

/* a case: its inputs' shapes end with an empty one */
static const struct
{
	const char *name;
	NwT (*emit)(NwGraph *g, const NwT *x);
	double low;
	double high;
	int64_t shape[3][5]; /* rank, dimensions */
} cases[] = {
	{"abs", f_abs, -2, 2, {{2, 3, 7}}},
	{"add", f_add, -2, 2, {{3, 2, 3, 4}, {2, 3, 1}}},
	{"average_pool", f_average_pool, -2, 2, {{4, 2, 3, 6, 8}}},
	{"average_pool_edge", f_average_pool_edge, -2, 2, {{4, 2, 3, 5, 4}}},
	{"average_pool_pad", f_average_pool_pad, -2, 2, {{4, 2, 3, 7, 6}}},
	{"batch_norm", f_batch_norm, 0.5, 2, {{4, 3, 4, 5, 5}, {1, 4}, {1, 4}}},
	{"batch_norm_frozen", f_batch_norm_frozen, 0.5, 2, {{4, 3, 4, 5, 5}, {1, 4}, {1, 4}}},
	{"cast", f_cast, -2, 2, {{2, 3, 4}}},
	{"clip", f_clip, -2, 2, {{2, 5, 7}}},
	{"concat", f_concat, -2, 2, {{3, 2, 3, 4}, {3, 2, 1, 4}, {3, 2, 2, 4}}},
	{"conv", f_conv, -1, 1, {{4, 2, 3, 6, 7}, {4, 5, 3, 3, 3}, {1, 5}}},
	{"conv_1s2", f_conv_1s2, -1, 1, {{4, 2, 3, 7, 6}, {4, 5, 3, 1, 1}}},
	{"conv_7s2", f_conv_7s2, -1, 1, {{4, 2, 3, 12, 11}, {4, 4, 3, 7, 7}}},
	{"conv_depthwise", f_conv_depthwise, -1, 1, {{4, 2, 4, 6, 5}, {4, 8, 1, 3, 3}}},
	{"conv_dilated", f_conv_dilated, -1, 1, {{4, 2, 3, 8, 7}, {4, 4, 3, 3, 3}}},
	{"conv_groups", f_conv_groups, -1, 1, {{4, 2, 4, 6, 7}, {4, 6, 2, 3, 3}}},
	{"conv_s2", f_conv_s2, -1, 1, {{4, 2, 3, 7, 8}, {4, 5, 3, 3, 3}}},
	{"conv_uneven", f_conv_uneven, -1, 1, {{4, 2, 3, 6, 5}, {4, 4, 3, 3, 2}}},
	{"conv_wide", f_conv_wide, -1, 1, {{4, 2, 20, 5, 6}, {4, 17, 20, 3, 3}}},
	{"div", f_div, 0.5, 2, {{3, 2, 3, 4}, {2, 3, 1}}},
	{"erf", f_erf, -2, 2, {{2, 5, 7}}},
	{"exp", f_exp, -2, 2, {{2, 5, 7}}},
	{"expand", f_expand, -2, 2, {{2, 3, 1}}},
	{"gather0", f_gather0, -2, 2, {{3, 4, 2, 5}}},
	{"gather2", f_gather2, -2, 2, {{3, 2, 3, 5}}},
	{"gemm", f_gemm, -2, 2, {{2, 4, 6}, {2, 5, 6}, {1, 5}}},
	{"gemm_ta", f_gemm_ta, -2, 2, {{2, 6, 4}, {2, 6, 5}}},
	{"gemm_tab", f_gemm_tab, -2, 2, {{2, 6, 4}, {2, 5, 6}}},
	{"hard_sigmoid", f_hard_sigmoid, -3, 3, {{2, 5, 7}}},
	{"identity", f_identity, -2, 2, {{2, 5, 7}}},
	{"layer_norm", f_layer_norm, 0.5, 2, {{3, 2, 3, 8}, {1, 8}, {1, 8}}},
	{"leaky_relu", f_leaky, -2, 2, {{2, 5, 7}}},
	{"log", f_log, 0.5, 2, {{2, 5, 7}}},
	{"matmul", f_matmul, -2, 2, {{4, 2, 3, 4, 5}, {4, 2, 3, 5, 6}}},
	{"matmul_shared", f_matmul, -2, 2, {{3, 2, 4, 5}, {2, 5, 6}}},
	{"max_pool", f_max_pool, -2, 2, {{4, 2, 3, 7, 8}}},
	{"max_pool_ties", f_max_pool_ties, -9, 2, {{4, 2, 3, 8, 7}}},
	{"mul", f_mul, -2, 2, {{3, 2, 3, 4}, {2, 3, 1}}},
	{"neg", f_neg, -2, 2, {{2, 5, 7}}},
	{"pad", f_pad, -2, 2, {{3, 2, 3, 4}}},
	{"pow", f_pow, 0.5, 2, {{2, 5, 7}}},
	{"reciprocal", f_reciprocal, 0.5, 2, {{2, 5, 7}}},
	{"reduce_mean", f_reduce_mean, -2, 2, {{3, 2, 3, 4}}},
	{"reduce_sum", f_reduce_sum, -2, 2, {{3, 2, 3, 4}}},
	{"relu", f_relu, -2, 2, {{2, 5, 7}}},
	{"reshape", f_reshape, -2, 2, {{3, 2, 3, 20}}},
	{"sigmoid", f_sigmoid, -2, 2, {{2, 5, 7}}},
	{"slice", f_slice, -2, 2, {{3, 2, 7, 6}}},
	{"softmax", f_softmax, -2, 2, {{3, 2, 5, 3}}},
	{"softplus", f_softplus, -2, 2, {{2, 5, 7}}},
	{"sqrt", f_sqrt, 0.5, 2, {{2, 5, 7}}},
	{"sub", f_sub, -2, 2, {{3, 2, 3, 4}, {2, 3, 1}}},
	{"tanh", f_tanh, -2, 2, {{2, 5, 7}}},
	{"transpose", f_transpose, -2, 2, {{4, 2, 3, 4, 5}}},
};

/* Start a graph for the device. */
static NwGraph *
new_graph(NwStates *states, uint64_t seed)
{
	NwGraph *g = nw_graph_new(NW_FOR_TRAINING, device != NW_DEVICE_CPU, states, seed);

	g->native &= !standard;
	return g;
}

/* Compute every operator's derivative at random points. */
static void
run_ops(void)
{
	for (int c = 0; c < NW_LENGTH(cases); c++)
	{
		NwStates states = {0};
		NwStates none = {0};
		NwGraph *g = new_graph(&states, 1);
		char *prefix = nw_printf("%s.", cases[c].name);
		NwT x[3];
		NwT y;
		NwState *dy;
		int n = 0;

		for (; n < 3 && cases[c].shape[n][0] > 0; n++)
		{
			char *name = nw_printf("x%d", n);
			NwShape shape = nw_shape((int) cases[c].shape[n][0], &cases[c].shape[n][1]);
			NwState *st = random_state(&states, name, shape, cases[c].low, cases[c].high);
			char *file = nw_printf("%s%s", prefix, name);

			save(file, &shape, st->data);
			x[n] = nw_param(g, name, shape, NW_INIT_ZERO);
			free(name);
			free(file);
		}
		y = cases[c].emit(g, x);
		dy = random_state(&none, "dy", nw_shape_of(g, y), -1, 1);
		{
			char *file = nw_printf("%sdy", prefix);

			save(file, &dy->shape, dy->data);
			free(file);
		}
		nw_backward_from(g, y, nw_input(g, "dy", NW_FLOAT, dy->shape));
		nw_output(g, "y", y);
		for (int i = 0; i < n; i++)
		{
			char *name = nw_printf("g%d", i);

			nw_output(g, name, g->tensor[x[i]].grad);
			free(name);
		}
		run_and_save(g, &none, prefix);
		puts(cases[c].name);
		nw_graph_free(g);
		nw_states_free(&states);
		nw_states_free(&none);
		free(prefix);
	}
}

/* Fill the inputs of a step: images, targets and memberships. */
static void
fill_batch(NwStates *extra, const NwModelSpec *spec, const NwBatchSpec *b)
{
	NwState *st = random_state(
		extra, "images", NW_SHAPE(nw_batch_images(b), spec->channels, spec->height, spec->width),
		-1, 1);
	int sets = b->shared ? 1 : b->queries;

	save("images", &st->shape, st->data);
	st = nw_state_add(extra, "targets", NW_SHAPE(b->queries, b->slots), NULL);
	for (int i = 0; i < b->queries; i++)
		for (int c = 0; c < b->slots; c++)
			st->data[i * b->slots + c] = 0.1f / (float) b->slots + (c == i % b->slots ? 0.9f : 0);
	save("targets", &st->shape, st->data);
	if (spec->head == NW_HEAD_FC)
		return;
	st = nw_state_add(extra, "member", NW_SHAPE(sets, b->supports, b->slots), NULL);
	for (int q = 0; q < sets; q++)
		for (int s = 0; s < b->supports; s++)
			for (int c = 0; c < b->slots; c++)
				st->data[(q * b->supports + s) * b->slots + c] =
					c == (s + q) % b->slots ? 0 : NW_NOT_A_MEMBER;
	save("member", &st->shape, st->data);
}

/* Compute a whole model's gradients, and save them with its weights. */
static void
run_model(NwModelSpec *spec, NwBatchSpec *batch)
{
	NwStates states = {0};
	NwStates extra = {0};
	NwGraph *g = new_graph(&states, 11);
	NwT loss;

	loss = nw_step_loss(g, spec, batch);
	nw_backward(g, loss);
	for (int i = 0; i < g->n_params; i++)
	{
		const char *name = g->tensor[g->param[i]].name;
		NwState *st = nw_state_find(&states, name);
		char *file = nw_printf("p.%s", name);
		char *out = nw_printf("g.%s", name);

		/* weights off their first values, so that scales and biases are tested too */
		if (spec->backbone == NULL && st->shape.rank == 1)
		{
			NwRandom r = nw_random(3, (uint64_t) i, 0);

			for (int64_t j = 0; j < st->shape.dim[0]; j++)
				st->data[j] += (float) (0.2 * (nw_random_double(&r) - 0.5));
		}
		save(file, &st->shape, st->data);
		nw_output(g, out, g->tensor[g->param[i]].grad);
		free(file);
		free(out);
	}
	fill_batch(&extra, spec, batch);
	run_and_save(g, &extra, "");
	printf("%d nodes, %d weights\n", g->n_nodes, g->n_params);
	nw_graph_free(g);
	nw_states_free(&states);
	nw_states_free(&extra);
}

/*
 * Make embeddings that networks seldom make: a query and a support that are equal, zero
 * vectors, tiny ones, ones as large as `large`.
 */
static void
make_odd(float *query, float *support, float large)
{
	for (int i = 0; i < 5; i++, query++, support++)
	{
		query[0] = support[0];
		query[5] = support[5] = 0;
		query[10] *= large;
		support[10] *= large;
		query[15] *= 1e-30f;
		support[15] *= 1e-30f;
		query[20] *= 1e-40f; /* the inverse of which no float holds */
		support[20] *= 1e-40f;
	}
}

/* Make all embeddings the same large one, and all weights of a head. */
static void
make_tied(NwState *z, NwStates *states, float large)
{
	for (int64_t i = 0; i < nw_shape_size(&z->shape); i++)
		z->data[i] = large;
	for (int i = 0; i < states->n; i++)
		for (int64_t j = 0; &states->item[i] != z && j < nw_shape_size(&states->item[i].shape); j++)
			states->item[i].data[j] = 1;
}

/* Compute the gradients of odd or tied embeddings, or of any. */
static void
run_edges(const NwModelSpec *spec, const char *how, float large)
{
	NwBatchSpec batch = {
		.queries = 6, .supports = spec->head == NW_HEAD_FC ? 0 : 8, .slots = 3, .shared = true};
	NwStates states = {0};
	NwStates extra = {0};
	NwGraph *g = new_graph(&states, 1);
	NwState *z = random_state(&states, "z", NW_SHAPE(nw_batch_images(&batch), 5), -1, 1);
	NwT x = nw_param(g, "z", z->shape, NW_INIT_ZERO);
	NwT log_p;

	nw_output(g, "loss", nw_step_head(g, spec, &batch, x, &log_p));
	z = nw_state_find(&states, "z");
	if (strcmp(how, "tied") == 0)
		make_tied(z, &states, large);
	else if (strcmp(how, "odd") == 0)
		make_odd(z->data, z->data + (ptrdiff_t) batch.queries * 5, large);
	for (int i = 0; i < g->n_params; i++)
	{
		NwState *st = nw_state_find(&states, g->tensor[g->param[i]].name);
		char *file = nw_printf("p.%s", st->name);

		save(file, &st->shape, st->data);
		free(file);
	}
	nw_output(g, "log_p", log_p);
	nw_backward(g, g->output[0].t);
	nw_output(g, "gradient", g->tensor[x].grad);
	fill_batch(&extra, spec, &batch);
	run_and_save(g, &extra, "");
	nw_graph_free(g);
	nw_states_free(&states);
	nw_states_free(&extra);
}

/* what run_steps() trains with, under the names that gradcheck.py has for it */
static const struct
{
	const char *name;
	NwTrainSettings o;
} recipes[] = {
	{"momentum",
     {.steps = 8,
      .lr = 0.05,
      .drops = {5},
      .n_drops = 1,
      .optimizer = {.momentum = 0.9, .weight_decay = 0.01}}},
	{"nesterov",
     {.steps = 10,
      .lr = 0.05,
      .schedule = NW_COSINE_DECAY,
      .warmup = 4,
      .optimizer = {.momentum = 0.8, .nesterov = true, .weight_decay = 0.01}}},
	{"clipped",
     {.steps = 10,
      .lr = 0.05,
      .drops = {6},
      .n_drops = 1,
      .warmup = 3,
      .optimizer = {.momentum = 0.8, .nesterov = true, .weight_decay = 0.01, .clip = 1.4}}},
	{"adamw",
     {.steps = 10,
      .lr = 0.003,
      .schedule = NW_COSINE_DECAY,
      .optimizer = {.kind = NW_ADAMW, .beta = {0.8, 0.95}, .weight_decay = 0.1}}},
	{"adamw-clipped",
     {.steps = 10,
      .lr = 0.003,
      .warmup = 5,
      .optimizer = {.kind = NW_ADAMW, .beta = {0.9, 0.999}, .weight_decay = 0.1, .clip = 2.5}}},
};

/*
 * Train for a few steps on one batch, and save all states before and after: weights,
 * moments and running statistics.
 */
static void
run_steps(const NwModelSpec *spec, const NwBatchSpec *batch, const NwTrainSettings *o)
{
	NwStates states = {0};
	NwStates extra = {0};
	NwGraph *g = new_graph(&states, 11);
	NwStepRunner *s;
	NwStepInputs in;
	NwShape shape = NW_SHAPE(o->steps);
	float *loss = nw_alloc((size_t) o->steps * sizeof(float));
	float *log_p = nw_alloc((size_t) (batch->queries * batch->slots) * sizeof(float));

	nw_backward(g, nw_step_loss(g, spec, batch));
	nw_optimizer_update(g, &o->optimizer);
	for (int i = 0; i < g->n_updates; i++)
	{
		NwState *st = nw_state_find(&states, g->update[i].state);

		save(nw_printf("p.%s", st->name), &st->shape, st->data);
	}
	fill_batch(&extra, spec, batch);
	in.images = nw_state_find(&extra, "images")->data;
	in.targets = nw_state_find(&extra, "targets")->data;
	in.member = nw_state_find(&extra, "member")->data;
	s = nw_step_runner_new(rt, device, g);
	for (int i = 0; i < o->steps; i++)
	{
		in.lr = (float) nw_train_lr(o, i);
		nw_optimizer_corrections(&o->optimizer, i, in.corrections);
		nw_step_runner_run(s, &in, &loss[i], log_p);
	}
	save("loss", &shape, loss);
	nw_step_runner_fetch(s);
	for (int i = 0; i < g->n_updates; i++)
	{
		NwState *st = nw_state_find(&states, g->update[i].state);

		save(nw_printf("o.%s", st->name), &st->shape, st->data);
	}
	nw_step_runner_free(s);
	free(loss);
	free(log_p);
}

/* Set a model's kernel, with its usual temperature, or the head fc. */
static void
set_kernel(NwModelSpec *spec, const char *name)
{
	bool known = strcmp(name, "fc") == 0;

	spec->head = known ? NW_HEAD_FC : NW_HEAD_NW;
	for (int i = 0; nw_kernel_name(i) != NULL; i++)
		if (strcmp(name, nw_kernel_name(i)) == 0)
		{
			spec->kernel = (NwKernel) i;
			known = true;
		}
	if (!known)
		exit(2);
	spec->tau = nw_kernel_tau(spec->kernel);
}

/* Count what a built-in network of the usual width learns, its head left out. */
static int64_t
count_weights(const NwArch *arch)
{
	NwBuiltin net = {.arch = arch, .width = arch->width};
	NwStates states = {0};
	NwGraph *g = new_graph(&states, 1);
	int64_t n = 0;

	nw_builtin_features(g, &net, nw_input(g, "images", NW_FLOAT, NW_SHAPE(2, 3, 64, 64)));
	for (int i = 0; i < g->n_params; i++)
	{
		NwShape shape = nw_shape_of(g, g->param[i]);

		n += nw_shape_size(&shape);
	}
	nw_graph_free(g);
	nw_states_free(&states);
	return n;
}

int
main(int argc, char **argv)
{
	NwModelSpec spec = {.channels = 3, .tau = 1.0, .dim = 16};
	NwBatchSpec batch = {.queries = 3, .supports = 4, .slots = 3};

	standard = argc > 3 && strcmp(argv[3], "standard") == 0;
	if (argc < 4)
		return 2;
	for (device = NW_DEVICE_CPU; !standard && strcmp(nw_device_name(device), argv[3]) != 0;
	     device++)
		if (nw_device_name(device + 1) == NULL)
			return 2;
	folder = argv[2];
	rt = nw_runtime_open(2, getenv("NW_PROFILE"));
	if (strcmp(argv[1], "ops") == 0)
		run_ops();
	else if (strcmp(argv[1], "net") == 0 && argc == 9)
	{
		set_kernel(&spec, argv[8]);
		spec.builtin =
			(NwBuiltin) {.arch = nw_arch_find(argv[4]), .width = atoi(argv[5]), .smooth = true};
		spec.height = spec.width = atoi(argv[6]);
		if (strcmp(argv[7], "shared") == 0)
			batch = (NwBatchSpec) {.queries = 6, .supports = 8, .slots = 3, .shared = true};
		if (strcmp(argv[7], "tiny") == 0)
			batch = (NwBatchSpec) {.queries = 3, .supports = 3, .slots = 3, .shared = true};
		if (strcmp(argv[7], "fc") == 0)
		{
			spec.head = NW_HEAD_FC;
			batch = (NwBatchSpec) {.queries = 12, .slots = 5};
		}
		run_model(&spec, &batch);
	}
	else if (strcmp(argv[1], "backbone") == 0 && argc == 7)
	{
		spec.height = spec.width = atoi(argv[5]);
		spec.backbone = nw_backbone_load(rt, argv[4], strcmp(argv[6], "-") ? argv[6] : NULL, false);
		run_model(&spec, &batch);
	}
	else if (strcmp(argv[1], "edges") == 0 && argc == 7)
	{
		set_kernel(&spec, argv[4]);
		if (strcmp(argv[5], "far") == 0)
			spec.tau /= strtod(argv[6], NULL);
		run_edges(&spec, argv[5], strtof(argv[6], NULL));
	}
	else if (strcmp(argv[1], "steps") == 0 && argc == 5)
	{
		const NwTrainSettings *o = NULL;

		for (int i = 0; i < NW_LENGTH(recipes); i++)
			if (strcmp(argv[4], recipes[i].name) == 0)
				o = &recipes[i].o;
		if (o == NULL)
			return 2;
		if (o->optimizer.kind == NW_ADAMW) /* a kernel without gradients that are all rounding */
			set_kernel(&spec, "cosine");
		spec.builtin = (NwBuiltin) {.arch = nw_arch_find("cnn"), .width = 8, .smooth = true};
		spec.height = spec.width = 16;
		batch = (NwBatchSpec) {.queries = 6, .supports = 8, .slots = 3, .shared = true};
		run_steps(&spec, &batch, o);
	}
	else if (strcmp(argv[1], "count") == 0 && argc == 5)
		printf("%lld\n", (long long) count_weights(nw_arch_find(argv[4])));
	else
		return 2;
	nw_runtime_close(rt);
	return 0;
}
