/*
 * net/optimizer.c: what a training step makes of gradients.
 *
 * States beside each weight W: "m.W", the momentum or AdamW's first moment, and "v.W",
 * its second.  AdamW's bias correction depends on the step, so it is an input:
 * corrections [2].
 */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/message.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/ops.h"
#include "graph/shape.h"
#include "graph/states.h"
#include "net/optimizer.h"

#define EPSILON 1e-8

/* what the updates of all weights have in common */
typedef struct Update
{
	NwGraph *g;
	const NwOptimizer *o;
	NwT lr;
	NwT corrections; /* AdamW's */
	NwT factor;      /* [1], for all gradients; NW_NONE where they are not clipped */
} Update;

const char *
nw_optimizer_name(int i)
{
	static const char *const names[] = {"sgd", "adamw", NULL};

	return names[i];
}

/*
 * Compute AdamW's bias correction for a step, numbered from 0: the factors of the first
 * moment and of the root of the second.
 */
void
nw_optimizer_corrections(const NwOptimizer *o, int64_t step, float *into)
{
	double t = (double) step + 1;

	into[0] = (float) (1 / (1 - pow(o->beta[0], t)));
	into[1] = (float) (1 / sqrt(1 - pow(o->beta[1], t)));
}

/* Add a state beside a weight. */
static NwT
state_of(NwGraph *g, const char *prefix, NwT w)
{
	char *name = nw_printf("%s.%s", prefix, g->tensor[w].name);
	NwT t = nw_buffer(g, name, nw_shape_of(g, w), NW_INIT_ZERO);

	free(name);
	return t;
}

/* ------------------------------------------------------------------ clipping */

/* Emit the norm of all gradients, each one's and theirs in double: to factor [1]. */
static NwT
native_factor(NwGraph *g, double clip)
{
	NwT *norm = nw_alloc((size_t) g->n_params * sizeof(NwT));
	int n = 0;
	NwT all;
	NwNode *node;

	for (int i = 0; i < g->n_params; i++)
	{
		NwT grad = g->tensor[g->param[i]].grad;

		if (grad != NW_NONE)
			norm[n++] = nw_node_out(g, nw_own_node(g, "Norm", 1, &grad), NW_FLOAT, NW_SHAPE(1));
	}
	all = nw_concat(g, n, norm, 0);
	free(norm);
	node = nw_own_node(g, "ClipFactor", 1, &all);
	nw_node_attr(node, nw_attr_float("limit", (float) clip));
	return nw_node_out(g, node, NW_FLOAT, NW_SHAPE(1));
}

/* Emit the same of standard operators; sums of slices first, which keeps more digits. */
static NwT
standard_factor(NwGraph *g, double clip)
{
	NwT total = nw_scalar(g, 0);
	NwT factor;

	for (int i = 0; i < g->n_params; i++)
	{
		NwT grad = g->tensor[g->param[i]].grad;
		NwT square;

		if (grad == NW_NONE)
			continue;
		square = nw_mul(g, grad, grad);
		if (NW_RANK(g, square) > 1)
			square = nw_reduce(g, "ReduceSum", square, (1u << NW_RANK(g, square)) - 2, true);
		square = nw_reduce(g, "ReduceSum", square, 0x1, true);
		total = nw_add(g, total, nw_reshape(g, square, NW_SHAPE(1)));
	}
	factor =
		nw_div(g, nw_scalar(g, clip), nw_add(g, nw_unary(g, "Sqrt", total), nw_scalar(g, 1e-6)));
	return nw_clip(g, factor, 0, 1);
}

/* ------------------------------------------------------------------ updates */

/* Emit a weight's gradient, clipped; NW_NONE where it has none. */
static NwT
clipped(const Update *u, NwT w)
{
	NwT grad = u->g->tensor[w].grad;

	return grad == NW_NONE || u->factor == NW_NONE ? grad : nw_mul(u->g, grad, u->factor);
}

/*
 * Emit stochastic gradient descent with momentum and weight decay: d = gradient +
 * decay w, v' = momentum v + d, w' = w - lr v', or with Nesterov's momentum
 * w' = w - lr (d + momentum v').
 */
static void
update_sgd(const Update *u, NwT w)
{
	NwGraph *g = u->g;
	const NwOptimizer *o = u->o;
	NwShape shape = nw_shape_of(g, w);
	NwT v = state_of(g, "m", w);
	NwT v2;
	NwT w2;

	if (g->native && g->tensor[w].grad != NW_NONE)
	{
		NwT in[5] = {w, v, g->tensor[w].grad, u->lr, u->factor};
		NwNode *node = nw_own_node(g, "Sgd", u->factor == NW_NONE ? 4 : 5, in);

		nw_node_attr(node, nw_attr_float("momentum", (float) o->momentum));
		nw_node_attr(node, nw_attr_float("decay", (float) o->weight_decay));
		if (o->nesterov)
			nw_node_attr(node, nw_attr_int("nesterov", 1));
		v2 = nw_node_out(g, node, NW_FLOAT, shape);
		w2 = nw_node_out(g, node, NW_FLOAT, shape);
	}
	else
	{
		NwT grad = clipped(u, w);
		NwT step;

		v2 = nw_scale(g, v, o->momentum);
		if (grad != NW_NONE)
			v2 = nw_add(g, v2, grad);
		v2 = nw_add(g, v2, nw_scale(g, w, o->weight_decay));
		step = v2;
		if (o->nesterov)
		{
			step = nw_add(g, nw_scale(g, v2, o->momentum), nw_scale(g, w, o->weight_decay));
			if (grad != NW_NONE)
				step = nw_add(g, step, grad);
		}
		w2 = nw_sub(g, w, nw_mul(g, step, u->lr));
	}
	nw_update(g, v, v2);
	nw_update(g, w, w2);
}

/* Emit a moving average: beta m + (1 - beta) x, where x may be absent. */
static NwT
average(NwGraph *g, NwT m, double beta, NwT x)
{
	NwT kept = nw_scale(g, m, beta);

	return x == NW_NONE ? kept : nw_add(g, kept, nw_scale(g, x, 1 - beta));
}

/*
 * Emit Adam with decoupled weight decay: m' and v' average the gradient and its square,
 * w' = w - lr (decay w + c1 m' / (c2 sqrt(v') + epsilon)).
 */
static void
update_adamw(const Update *u, NwT w)
{
	NwGraph *g = u->g;
	const NwOptimizer *o = u->o;
	NwShape shape = nw_shape_of(g, w);
	NwT m = state_of(g, "m", w);
	NwT v = state_of(g, "v", w);
	NwT m2;
	NwT v2;
	NwT w2;

	if (g->native && g->tensor[w].grad != NW_NONE)
	{
		NwT in[7] = {w, m, v, g->tensor[w].grad, u->lr, u->corrections, u->factor};
		NwNode *node = nw_own_node(g, "AdamW", u->factor == NW_NONE ? 6 : 7, in);

		nw_node_attr(node, nw_attr_float("beta1", (float) o->beta[0]));
		nw_node_attr(node, nw_attr_float("beta2", (float) o->beta[1]));
		nw_node_attr(node, nw_attr_float("fresh1", (float) (1 - o->beta[0])));
		nw_node_attr(node, nw_attr_float("fresh2", (float) (1 - o->beta[1])));
		nw_node_attr(node, nw_attr_float("epsilon", (float) EPSILON));
		nw_node_attr(node, nw_attr_float("decay", (float) o->weight_decay));
		m2 = nw_node_out(g, node, NW_FLOAT, shape);
		v2 = nw_node_out(g, node, NW_FLOAT, shape);
		w2 = nw_node_out(g, node, NW_FLOAT, shape);
	}
	else
	{
		NwT grad = clipped(u, w);
		NwT c1 = nw_slice1(g, u->corrections, 0, 0, 1);
		NwT c2 = nw_slice1(g, u->corrections, 0, 1, 2);
		NwT step;

		m2 = average(g, m, o->beta[0], grad);
		v2 = average(g, v, o->beta[1], grad == NW_NONE ? NW_NONE : nw_mul(g, grad, grad));
		step = nw_div(g, nw_mul(g, m2, c1),
		              nw_add(g, nw_mul(g, nw_unary(g, "Sqrt", v2), c2), nw_scalar(g, EPSILON)));
		step = nw_add(g, step, nw_scale(g, w, o->weight_decay));
		w2 = nw_sub(g, w, nw_mul(g, step, u->lr));
	}
	nw_update(g, m, m2);
	nw_update(g, v, v2);
	nw_update(g, w, w2);
}

/* Say whether there is anything to learn. */
static bool
has_gradients(const NwGraph *g)
{
	for (int i = 0; i < g->n_params; i++)
		if (g->tensor[g->param[i]].grad != NW_NONE)
			return true;
	return false;
}

/* Emit every weight's update; each state's new value becomes an output. */
void
nw_optimizer_update(NwGraph *g, const NwOptimizer *o)
{
	Update u = {.g = g, .o = o, .corrections = NW_NONE, .factor = NW_NONE};

	if (!has_gradients(g))
		nw_fatal("the network has no weights to train");
	u.lr = nw_input(g, "lr", NW_FLOAT, NW_NO_DIMS);
	if (o->kind == NW_ADAMW)
		u.corrections = nw_input(g, "corrections", NW_FLOAT, NW_SHAPE(2));
	if (o->clip > 0)
		u.factor = g->native ? native_factor(g, o->clip) : standard_factor(g, o->clip);
	for (int i = 0; i < g->n_params; i++)
	{
		if (o->kind == NW_ADAMW)
			update_adamw(&u, g->param[i]);
		else
			update_sgd(&u, g->param[i]);
	}
	for (int i = 0; i < g->n_updates; i++)
	{
		char *name = nw_printf("o.%s", g->update[i].state);

		nw_output(g, name, g->update[i].value);
		free(name);
	}
}
