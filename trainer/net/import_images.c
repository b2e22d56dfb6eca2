/*
 * net/import_images.c: along which axis of a loaded network's values the images of a batch are.
 *
 * An embedding has to depend on its own image alone, whatever others are in the batch.  So each
 * value that depends on the images has one axis along which they are, and no operator may compute
 * across it.  The axis may hold more than the images, as windows of attention do: it has
 * (others, images, inner) numbers then.
 *
 * A batch of one image does not tell its axes apart: nothing is followed there.
 */
#include <stdint.h>

#include "base/memory.h"
#include "graph/graph.h"
#include "graph/shape.h"
#include "net/import_images.h"
#include "net/import_node.h"

static const NwAlong nowhere = {.axis = -1};

/* End because the node at hand does not keep the images apart. */
static _Noreturn void
refuse(const NwImport *im)
{
	nw_import_unsupported(im, "works across the images of a batch, which have to stay apart: take "
	                          "an --output before it");
}

static bool
is_somewhere(NwAlong a)
{
	return a.axis >= 0;
}

static NwAlong
of_tensor(const NwImport *im, NwT t)
{
	return t >= 0 && t < im->n_along ? im->along[t] : nowhere;
}

/* Say where the images are in an input of the node at hand. */
static NwAlong
of_input(const NwImport *im, size_t i)
{
	return nw_import_has(im, i) ? of_tensor(im, nw_import_lookup(im, im->node->input[i])) : nowhere;
}

/* Return the tensor of an input that depends on the images. */
static NwT
input(const NwImport *im, size_t i)
{
	return nw_import_lookup(im, im->node->input[i]);
}

/* Put what two inputs say together. */
static NwAlong
both(const NwImport *im, NwAlong a, NwAlong b)
{
	if (is_somewhere(a) && is_somewhere(b) && (a.axis != b.axis || a.inner != b.inner))
		refuse(im);
	return is_somewhere(a) ? a : b;
}

/* Refuse weights that depend on the images: they would be used for all of them. */
static void
check_weights(const NwImport *im)
{
	for (size_t i = 1; i < im->node->n_input; i++)
		if (is_somewhere(of_input(im, i)))
			refuse(im);
}

/* Say where the images of an input are once it has as many axes as the output; the last ones are
 * the same. */
static NwAlong
aligned(const NwImport *im, size_t i, NwT y)
{
	NwAlong a = of_input(im, i);

	if (is_somewhere(a))
		a.axis += NW_RANK(im->g, y) - NW_RANK(im->g, input(im, i));
	return a;
}

NwAlong
nw_follow_one(const NwImport *im, NwT y)
{
	return aligned(im, 0, y);
}

NwAlong
nw_follow_several(const NwImport *im, NwT y)
{
	NwAlong r = nowhere;

	for (size_t i = 0; i < im->node->n_input; i++)
		r = both(im, r, aligned(im, i, y));
	return r;
}

NwAlong
nw_follow_layer(const NwImport *im, NwT y)
{
	NwAlong a = nw_follow_one(im, y);

	check_weights(im);
	if (a.axis > 0)
		refuse(im);
	return a;
}

NwAlong
nw_follow_places(const NwImport *im, NwT y)
{
	NwAlong a = nw_follow_one(im, y);

	if (a.axis > 1)
		refuse(im);
	return a;
}

NwAlong
nw_follow_norm(const NwImport *im, NwT y)
{
	NwAlong a = nw_follow_one(im, y);

	check_weights(im);
	if (a.axis >= nw_import_axis(im, nw_import_int(im, "axis", -1), NW_RANK(im->g, y)))
		refuse(im);
	return a;
}

NwAlong
nw_follow_softmax(const NwImport *im, NwT y)
{
	NwAlong a = nw_follow_one(im, y);
	int64_t axis = nw_import_int(im, "axis", im->opset < 13 ? 1 : -1);

	if (a.axis == nw_import_axis(im, axis, NW_RANK(im->g, y)))
		refuse(im);
	return a;
}

NwAlong
nw_follow_reduce(const NwImport *im, NwT y)
{
	NwAlong a = of_input(im, 0);
	int64_t list[NW_MAX_RANK];
	int n = nw_import_integers(im, "axes", 1, list, NW_MAX_RANK);
	unsigned axes;
	int before = 0;

	(void) y;
	if (!is_somewhere(a))
		return a;
	axes = n > 0 ? nw_import_axes(im, list, n, NW_RANK(im->g, input(im, 0))) : ~0u;
	if (axes & (1u << a.axis))
		refuse(im);
	for (int i = 0; i < a.axis && !nw_import_int(im, "keepdims", 1); i++)
		before += (axes >> i) & 1;
	a.axis -= before;
	return a;
}

NwAlong
nw_follow_gemm(const NwImport *im, NwT y)
{
	NwAlong a = of_input(im, 0);
	NwAlong b = of_input(im, 1);

	if (is_somewhere(a) && a.axis != (nw_import_int(im, "transA", 0) ? 1 : 0))
		refuse(im);
	if (is_somewhere(b) && b.axis != (nw_import_int(im, "transB", 0) ? 0 : 1))
		refuse(im);
	a.axis = is_somewhere(a) ? 0 : -1;
	b.axis = is_somewhere(b) ? 1 : -1;
	return both(im, both(im, a, b), aligned(im, 2, y));
}

NwAlong
nw_follow_matmul(const NwImport *im, NwT y)
{
	NwAlong a = aligned(im, 0, y);
	NwAlong b = aligned(im, 1, y);

	/* what is summed over: the last axis of one, the last but one of the other */
	if (a.axis == NW_RANK(im->g, y) - 1 || b.axis == NW_RANK(im->g, y) - 2)
		refuse(im);
	return both(im, a, b);
}

/*
 * The numbers lie as before, and those of an image `stride` apart from those of the next: look for
 * the axis that has all images.
 */
NwAlong
nw_follow_reshape(const NwImport *im, NwT y)
{
	NwAlong a = of_input(im, 0);
	int64_t stride = a.inner;
	int64_t below = 1;

	if (!is_somewhere(a))
		return a;
	for (int i = a.axis + 1; i < NW_RANK(im->g, input(im, 0)); i++)
		stride *= NW_DIM(im->g, input(im, 0), i);
	for (int i = NW_RANK(im->g, y) - 1; i >= 0; i--)
	{
		int64_t upto = below * NW_DIM(im->g, y, i);

		if (stride % below == 0 && upto % (stride * im->images) == 0)
			return (NwAlong) {.axis = i, .inner = stride / below};
		below = upto;
	}
	refuse(im);
}

NwAlong
nw_follow_permuted(const NwImport *im, NwT y)
{
	NwAlong a = of_input(im, 0);
	int rank = NW_RANK(im->g, y);
	int64_t perm[NW_MAX_RANK];

	if (!nw_import_exactly(im, "perm", SIZE_MAX, perm, rank, 0, rank - 1))
		for (int i = 0; i < rank; i++)
			perm[i] = rank - 1 - i;
	for (int i = 0; i < rank; i++)
		if (perm[i] == a.axis)
			return (NwAlong) {.axis = i, .inner = a.inner};
	return nowhere;
}

NwAlong
nw_follow_range(const NwImport *im, NwT y)
{
	NwAlong a = of_input(im, 0);

	if (is_somewhere(a) && NW_DIM(im->g, y, a.axis) != NW_DIM(im->g, input(im, 0), a.axis))
		refuse(im);
	return a;
}

NwAlong
nw_follow_gather(const NwImport *im, NwT y)
{
	NwAlong a = of_input(im, 0);
	int rank;
	int64_t axis;

	if (!is_somewhere(a))
		return a;
	rank = NW_RANK(im->g, input(im, 0));
	axis = nw_import_axis(im, nw_import_int(im, "axis", 0), rank);
	if (a.axis == axis)
		refuse(im);
	if (NW_RANK(im->g, y) < rank && axis < a.axis)
		a.axis--;
	return a;
}

NwAlong
nw_follow_concat(const NwImport *im, NwT y)
{
	NwAlong a = nw_follow_several(im, y);

	if (a.axis == nw_import_axis(im, nw_import_int(im, "axis", 0), NW_RANK(im->g, y)))
		refuse(im);
	return a;
}

/* Note where the images are in a tensor. */
static void
note(NwImport *im, NwT t, NwAlong a)
{
	while (im->n_along <= t)
	{
		NW_GROW(im->along, im->n_along, im->cap_along);
		im->along[im->n_along++] = nowhere;
	}
	im->along[t] = a;
}

/* Begin with the images [N,C,H,W] themselves. */
void
nw_images_begin(NwImport *im, NwT images)
{
	im->images = NW_DIM(im->g, images, 0);
	if (im->images > 1)
		note(im, images, (NwAlong) {.axis = 0, .inner = 1});
}

/* Follow the images through the node at hand, which has been brought into the graph. */
void
nw_images_follow(NwImport *im, NwFollow *rule)
{
	for (size_t i = 0; i < im->node->n_output; i++)
	{
		NwT y = nw_import_lookup(im, im->node->output[i]);

		if (y != NW_NONE)
			note(im, y, rule(im, y));
	}
}

/* Say whether a value has the images along its first axis, and nothing else there. */
bool
nw_images_are_first(const NwImport *im, NwT y)
{
	NwAlong a = of_tensor(im, y);

	return !is_somewhere(a) || (a.axis == 0 && NW_DIM(im->g, y, 0) == im->images);
}
