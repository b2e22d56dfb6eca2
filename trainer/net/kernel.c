/*
 * net/kernel.c: how a query and a support are compared.
 *
 * The scores are those that the extension predicts with (src/math/kernel.c), but for
 * the 1e-12 under a root, which gives it a derivative where query and support are
 * equal.  Scores and derivatives are finite whatever the embeddings, but for distances of
 * kernel euclidean beyond about 1e19, whose squares no float holds: what comes of those is
 * not a number, and ends a run with a message.
 */
#include <stdbool.h>
#include <stddef.h>

#include "data/batch_spec.h"
#include "graph/graph.h"
#include "graph/ops.h"
#include "graph/shape.h"
#include "net/kernel.h"

/* Numbers beyond it are taken for it: squares, summed and divided by any tau, stay floats. */
#define LARGEST 1e13f

/* Vectors without a larger number have a direction, but no derivative: it would be as large. */
#define SMALLEST 1e-12

const char *
nw_kernel_name(int i)
{
	static const char *const names[] = {"euclidean", "gaussian", "hypersphere",
	                                    "cosine",    "dot",      NULL};

	return names[i];
}

/*
 * Return the usual temperature.  Directions are at most 2 apart, and so are cosines: at
 * temperature 1 no support would count more than e^2 times another, however well the
 * network knows them apart.  At 0.1 the scores span 20.
 */
double
nw_kernel_tau(NwKernel kernel)
{
	return kernel == NW_HYPERSPHERE || kernel == NW_COSINE ? 0.1 : 1;
}

/* Say whether scores have no bound. */
static bool
is_wide(NwKernel kernel)
{
	return kernel == NW_GAUSSIAN || kernel == NW_DOT;
}

/*
 * Emit vectors [N,d] scaled to length 1; a zero vector stays zero.  They are divided by
 * their largest number first, so that no square leaves the floats' range.  What has no
 * derivative is told after that: a derivative that is 0 already can be divided by anything.
 */
static NwT
directions(NwGraph *g, NwT z)
{
	bool recording = g->recording;
	NwT one = nw_scalar(g, 1);
	NwT top;
	NwT absent;
	NwT moves;
	NwT still;
	NwT square;

	g->recording = false; /* the scale cancels: no gradient through the maximum */
	top = nw_reduce(g, "ReduceMax", nw_unary(g, "Abs", z), 0x2, true);
	absent = nw_sub(g, one, nw_mask(g, "Greater", top, nw_scalar(g, 0)));
	moves = nw_mask(g, "Greater", top, nw_scalar(g, SMALLEST));
	top = nw_add(g, top, absent);
	still = nw_mul(g, nw_div(g, z, top), nw_sub(g, one, moves));
	g->recording = recording;
	z = nw_add(g, nw_mul(g, nw_div(g, z, top), moves), still);
	square = nw_reduce(g, "ReduceSum", nw_mul(g, z, z), 0x2, true);
	return nw_div(g, z, nw_unary(g, "Sqrt", nw_add(g, square, absent)));
}

/* Emit the squared distances of queries and supports. */
static NwT
squared_distances(NwGraph *g, const NwBatchSpec *b, NwT z)
{
	int64_t nb = b->queries;
	int64_t ns = b->supports;
	int64_t d = NW_DIM(g, z, 1);
	int64_t sets = b->shared ? 1 : nb;
	NwT query = nw_reshape(g, nw_slice1(g, z, 0, 0, nb), NW_SHAPE(nb, 1, d));
	NwT support = nw_reshape(g, nw_slice1(g, z, 0, nb, nb + sets * ns), NW_SHAPE(sets, ns, d));
	NwT diff = nw_sub(g, query, support);

	return nw_reduce(g, "ReduceSum", nw_mul(g, diff, diff), 0x4, false);
}

/* Emit the distances of queries and supports. */
static NwT
distances(NwGraph *g, const NwBatchSpec *b, NwT z)
{
	return nw_unary(g, "Sqrt", nw_add(g, squared_distances(g, b, z), nw_scalar(g, 1e-12)));
}

/* Emit the inner products of queries and supports. */
static NwT
products(NwGraph *g, const NwBatchSpec *b, NwT z)
{
	int64_t nb = b->queries;
	int64_t ns = b->supports;
	int64_t d = NW_DIM(g, z, 1);
	int64_t sets = b->shared ? 1 : nb;
	NwT query = nw_reshape(g, nw_slice1(g, z, 0, 0, nb), NW_SHAPE(sets, nb / sets, d));
	NwT support = nw_reshape(g, nw_slice1(g, z, 0, nb, nb + sets * ns), NW_SHAPE(sets, ns, d));
	NwT product = nw_matmul(g, query, nw_transpose(g, support, (int64_t[]) {0, 2, 1}));

	return nw_reshape(g, product, NW_SHAPE(nb, ns));
}

/* Emit the scores of supports. */
NwT
nw_kernel_scores(NwGraph *g, NwKernel kernel, double tau, const NwBatchSpec *b, NwT z)
{
	if (is_wide(kernel))
		z = nw_clip(g, z, -LARGEST, LARGEST);
	switch (kernel)
	{
		case NW_EUCLIDEAN:
			break;
		case NW_GAUSSIAN:
			return nw_scale(g, squared_distances(g, b, z), -1 / tau);
		case NW_HYPERSPHERE:
			z = directions(g, z);
			break;
		case NW_COSINE:
			return nw_scale(g, products(g, b, directions(g, z)), 1 / tau);
		case NW_DOT:
			return nw_scale(g, products(g, b, z), 1 / tau);
	}
	return nw_scale(g, distances(g, b, z), -1 / tau);
}
