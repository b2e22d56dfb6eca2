/*
 * net/import_node.c: what a node of an ONNX file says: its inputs, numbers, axes and windows.
 *
 * Nothing in a file is taken for granted: what is returned from here is there, of the
 * length asked for and within limits.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/message.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/onnx_read.h"
#include "graph/shape.h"
#include "graph/states.h"
#include "math/window.h"
#include "net/import_node.h"
#include "onnx.pb-c.h"

/* more than any network has; what a window costs grows with its area */
#define MAX_WINDOW 4096
#define MAX_WINDOW_WORK (INT64_C(1) << 24)

/* End because of the node at hand. */
void
nw_import_unsupported(const NwImport *im, const char *why)
{
	nw_fatal("\"%s\": operator %s (node \"%s\") %s", im->path, im->node->op_type,
	         im->node->name ? im->node->name : "", why);
}

const Onnx__AttributeProto *
nw_import_attr(const NwImport *im, const char *name)
{
	for (size_t i = 0; i < im->node->n_attribute; i++)
		if (strcmp(im->node->attribute[i]->name, name) == 0)
			return im->node->attribute[i];
	return NULL;
}

int64_t
nw_import_int(const NwImport *im, const char *name, int64_t otherwise)
{
	const Onnx__AttributeProto *a = nw_import_attr(im, name);

	return a ? a->i : otherwise;
}

float
nw_import_float(const NwImport *im, const char *name, float otherwise)
{
	const Onnx__AttributeProto *a = nw_import_attr(im, name);

	return a ? a->f : otherwise;
}

bool
nw_import_has(const NwImport *im, size_t i)
{
	return i < im->node->n_input && im->node->input[i][0] != 0;
}

void
nw_import_bind(NwImport *im, const char *name, NwT t)
{
	NW_GROW(im->bound, im->n_bound, im->cap_bound);
	im->bound[im->n_bound++] = (NwBound) {name, t};
}

/* Find the tensor of a name; the newest are the likeliest. */
NwT
nw_import_lookup(const NwImport *im, const char *name)
{
	for (int i = im->n_bound - 1; i >= 0; i--)
		if (strcmp(im->bound[i].name, name) == 0)
			return im->bound[i].t;
	return NW_NONE;
}

/* Say whether a value the file holds is a weight: floats, and more than one. */
bool
nw_import_is_weight(const Onnx__TensorProto *t)
{
	bool several = false;

	if (t == NULL || t->data_type != NW_FLOAT)
		return false;
	for (size_t i = 0; i < t->n_dims; i++)
	{
		if (t->dims[i] < 1)
			return false;
		several |= t->dims[i] > 1;
	}
	return several;
}

/* Check the shape of a value: every operator may count on these limits. */
void
nw_import_check_shape(const NwImport *im, const NwShape *shape)
{
	bool good = nw_shape_is_possible(shape);

	for (int i = 0; good && i < shape->rank; i++)
		good = shape->dim[i] > 0;
	if (!good)
		nw_import_unsupported(im, "has a value of an impossible shape");
}

/* Return the name of an input that the node at hand must have. */
const char *
nw_import_name(const NwImport *im, size_t i)
{
	if (!nw_import_has(im, i))
		nw_import_unsupported(im, "lacks an input");
	return im->node->input[i];
}

/* Find a value that the model must hold. */
static const Onnx__TensorProto *
initializer(const NwImport *im, const char *name)
{
	const Onnx__TensorProto *t = nw_model_initializer(im->model, name);

	if (t == NULL)
		nw_import_unsupported(im, "needs a constant input where the model computes one");
	return t;
}

/* Return an input that the model must hold as a constant. */
const Onnx__TensorProto *
nw_import_constant(const NwImport *im, size_t i)
{
	return initializer(im, nw_import_name(im, i));
}

/* Bring a weight of the file into the graph. */
NwT
nw_import_weight(NwImport *im, const char *name, bool trainable)
{
	char *state = nw_printf("backbone.%s", name);
	NwShape shape;
	float *v = nw_tensor_floats(initializer(im, name), im->path, &shape);
	NwT r;

	nw_import_check_shape(im, &shape);
	if (nw_state_find(im->g->states, state) == NULL)
		nw_state_add(im->g->states, state, shape, v);
	free(v);
	r = trainable ? nw_param(im->g, state, shape, NW_INIT_ZERO)
	              : nw_buffer(im->g, state, shape, NW_INIT_ZERO);
	free(state);
	nw_import_bind(im, name, r);
	return r;
}

/* Return an input of the node at hand: a value, a weight or a constant. */
NwT
nw_import_operand(NwImport *im, size_t i)
{
	const char *name = nw_import_name(im, i);
	NwT t = nw_import_lookup(im, name);
	const Onnx__TensorProto *init;
	NwShape shape;
	float *v;

	if (t != NW_NONE)
		return t;
	init = nw_model_initializer(im->model, name);
	if (init == NULL || init->data_type != NW_FLOAT)
		nw_import_unsupported(im,
		                      "has an input that is neither an image's value nor a float constant");
	if (nw_import_is_weight(nw_model_initializer(im->file, name)))
		return nw_import_weight(im, name, true);
	v = nw_tensor_floats(init, im->path, &shape);
	nw_import_check_shape(im, &shape);
	t = nw_constant(im->g, NW_FLOAT, shape, v);
	free(v);
	nw_import_bind(im, name, t);
	return t;
}

float
nw_import_number(const NwImport *im, size_t i)
{
	NwShape shape;
	float *v = nw_tensor_floats(nw_import_constant(im, i), im->path, &shape);
	float r;

	if (nw_shape_size(&shape) != 1)
		nw_import_unsupported(im, "needs a single number as its constant input");
	r = v[0];
	free(v);
	return r;
}

/* Read integers from an attribute, or in newer operator sets an input; their number, -1 for none.
 */
int
nw_import_integers(const NwImport *im, const char *name, size_t input, int64_t *into, int max)
{
	const Onnx__AttributeProto *a = nw_import_attr(im, name);
	NwShape shape;
	int64_t *v;
	int64_t n;

	if (a != NULL)
	{
		if (a->n_ints > (size_t) max)
			nw_import_unsupported(im, "has more dimensions than are supported");
		if (a->n_ints > 0)
			memcpy(into, a->ints, a->n_ints * sizeof(int64_t));
		return (int) a->n_ints;
	}
	if (!nw_import_has(im, input))
		return -1;
	v = nw_tensor_ints(nw_import_constant(im, input), im->path, &shape);
	n = nw_shape_size(&shape);
	if (n > max)
		nw_import_unsupported(im, "has more dimensions than are supported");
	memcpy(into, v, (size_t) n * sizeof(int64_t));
	free(v);
	return (int) n;
}

/* Read exactly so many integers, within limits; false, and nothing read, for none. */
bool
nw_import_exactly(const NwImport *im, const char *name, size_t input, int64_t *into, int want,
                  int64_t min, int64_t max)
{
	int64_t list[2 * NW_MAX_RANK];
	int n = nw_import_integers(im, name, input, list, NW_LENGTH(list));

	if (n < 0)
		return false;
	if (n != want)
		nw_import_unsupported(im, "has a list of a wrong length");
	for (int i = 0; i < n; i++)
	{
		if (list[i] < min || list[i] > max)
			nw_import_unsupported(im, "has a number out of range");
		into[i] = list[i];
	}
	return true;
}

/* Count an axis from the front. */
int64_t
nw_import_axis(const NwImport *im, int64_t axis, int rank)
{
	if (axis < 0)
		axis += rank;
	if (axis < 0 || axis >= rank)
		nw_import_unsupported(im, "has an axis out of range");
	return axis;
}

/* Count axes from the front, and put them into a bit mask; none may be there twice. */
unsigned
nw_import_axes(const NwImport *im, int64_t *list, int n, int rank)
{
	unsigned axes = 0;

	for (int i = 0; i < n; i++)
	{
		list[i] = nw_import_axis(im, list[i], rank);
		if (axes & (1u << list[i]))
			nw_import_unsupported(im, "has an axis twice");
		axes |= 1u << list[i];
	}
	return axes;
}

/* Add padding at the end, so that a last window is not cut off. */
static void
round_up(const NwImport *im, NwWindow *win, int i, int64_t size, int64_t reach)
{
	int64_t rest = (size + win->pad[i] + win->pad[i + 2] - reach) % win->stride[i];

	if (rest <= 0)
		return;
	if (win->count_pad)
		nw_import_unsupported(im, "with ceil_mode and count_include_pad is not supported");
	win->pad[i + 2] += win->stride[i] - rest;
}

/* Check that a window has no place outside the image, and few enough elements to go through. */
static void
check_window(const NwImport *im, const NwWindow *win, const NwShape *x)
{
	int64_t work = win->kernel[0] * win->kernel[1];

	if (work > MAX_WINDOW)
		nw_import_unsupported(im, "has a window that is too large");
	for (int i = 0; i < 2; i++)
	{
		int64_t size = x->dim[2 + i];
		int64_t reach = win->dilation[i] * (win->kernel[i] - 1) + 1;
		int64_t places = (size + win->pad[i] + win->pad[i + 2] - reach) / win->stride[i] + 1;

		if (reach > MAX_WINDOW)
			nw_import_unsupported(im, "has a window that is too large");
		if (win->pad[i] >= reach || (places - 1) * win->stride[i] >= size + win->pad[i])
			nw_import_unsupported(im, "has a window outside the image");
		work *= places > 0 ? places : 1;
		if (work > MAX_WINDOW_WORK)
			nw_import_unsupported(im, "has a window that is too large");
	}
}

/* Read the window of Conv and the pools; kernel from the weight where there is one. */
NwWindow
nw_import_window(const NwImport *im, NwT x, NwT w)
{
	NwWindow win = nw_window(1, 1, 0);
	const Onnx__AttributeProto *a = nw_import_attr(im, "auto_pad");
	bool given = nw_import_exactly(im, "kernel_shape", SIZE_MAX, win.kernel, 2, 1, MAX_WINDOW);

	if (NW_RANK(im->g, x) != 4 || (w != NW_NONE && NW_RANK(im->g, w) != 4))
		nw_import_unsupported(im, "is supported for two-dimensional images only");
	for (int i = 0; w != NW_NONE && i < 2; i++)
	{
		if (given && win.kernel[i] != NW_DIM(im->g, w, 2 + i))
			nw_import_unsupported(im, "has a kernel of another size than its weight");
		win.kernel[i] = NW_DIM(im->g, w, 2 + i);
		if (win.kernel[i] > MAX_WINDOW)
			nw_import_unsupported(im, "has a window that is too large");
	}
	nw_import_exactly(im, "strides", SIZE_MAX, win.stride, 2, 1, MAX_WINDOW);
	nw_import_exactly(im, "dilations", SIZE_MAX, win.dilation, 2, 1, MAX_WINDOW);
	nw_import_exactly(im, "pads", SIZE_MAX, win.pad, 4, 0, MAX_WINDOW);
	win.group = nw_import_int(im, "group", 1);
	win.count_pad = nw_import_int(im, "count_include_pad", 0);
	for (int i = 0; i < 2; i++)
	{
		int64_t size = NW_DIM(im->g, x, 2 + i);
		int64_t reach = win.dilation[i] * (win.kernel[i] - 1) + 1;

		if (a != NULL && a->s.len > 4 && memcmp(a->s.data, "SAME", 4) == 0)
		{
			int64_t outs = (size + win.stride[i] - 1) / win.stride[i];
			int64_t total = (outs - 1) * win.stride[i] + reach - size;
			bool lower = a->s.len == 10 && a->s.data[5] == 'L';

			total = total < 0 ? 0 : total;
			win.pad[i] = (total + lower) / 2;
			win.pad[i + 2] = total - win.pad[i];
		}
		if (nw_import_int(im, "ceil_mode", 0))
			round_up(im, &win, i, size, reach);
	}
	check_window(im, &win, &im->g->tensor[x].shape);
	return win;
}
