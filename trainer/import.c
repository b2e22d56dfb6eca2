/*
 * import.c: an ONNX file's nodes, brought into a graph one by one.
 *
 * Operator sets from 11 on differ in where an operator's lists stand (attribute or
 * constant input); here both are read.
 */
#include <stdlib.h>
#include <string.h>

#include "import.h"

/* more than any network has; what a window costs grows with its area */
#define MAX_WINDOW 4096
#define MAX_WINDOW_WORK (INT64_C(1) << 24)
#define MAX_PICKS (INT64_C(1) << 24)

/* End because of the node at hand. */
static void __attribute__((noreturn))
unsupported(const NwImport *im, const char *why)
{
	nw_fatal("\"%s\": operator %s (node \"%s\") %s", im->b->path, im->node->op_type,
			 im->node->name ? im->node->name : "", why);
}

/* Find an attribute of the node at hand; NULL where it has none of that name. */
static const Onnx__AttributeProto *
attr(const NwImport *im, const char *name)
{
	for (size_t i = 0; i < im->node->n_attribute; i++)
		if (strcmp(im->node->attribute[i]->name, name) == 0)
			return im->node->attribute[i];
	return NULL;
}

static int64_t
attr_int(const NwImport *im, const char *name, int64_t otherwise)
{
	const Onnx__AttributeProto *a = attr(im, name);

	return a ? a->i : otherwise;
}

static float
attr_float(const NwImport *im, const char *name, float otherwise)
{
	const Onnx__AttributeProto *a = attr(im, name);

	return a ? a->f : otherwise;
}

/* Say whether the node at hand has an input at a place. */
static bool
has_input(const NwImport *im, size_t i)
{
	return i < im->node->n_input && im->node->input[i][0] != 0;
}

/* Remember the tensor of a name. */
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
nw_is_weight(const Onnx__TensorProto *t)
{
	bool		several = false;

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
static void
check_shape(const NwImport *im, const NwShape *shape)
{
	bool		good = nw_shape_is_possible(shape);

	for (int i = 0; good && i < shape->rank; i++)
		good = shape->dim[i] > 0;
	if (!good)
		unsupported(im, "has a value of an impossible shape");
}

/* Return the name of an input that the node at hand must have. */
static const char *
input_name(const NwImport *im, size_t i)
{
	if (!has_input(im, i))
		unsupported(im, "lacks an input");
	return im->node->input[i];
}

/* Return an input that the model must hold as a constant. */
static const Onnx__TensorProto *
constant(const NwImport *im, size_t i)
{
	const Onnx__TensorProto *t = nw_model_initializer(im->model, input_name(im, i));

	if (t == NULL)
		unsupported(im, "needs a constant input where the model computes one");
	return t;
}

/* Bring a weight of the file into the graph. */
static NwT
weight(NwImport *im, const char *name, bool trainable)
{
	const Onnx__TensorProto *t = nw_model_initializer(im->model, name);
	char	   *state = nw_printf("backbone.%s", name);
	NwShape		shape;
	float	   *v;
	NwT			r;

	if (t == NULL)
		unsupported(im, "needs a constant input where the model computes one");
	v = nw_tensor_floats(t, im->b->path, &shape);
	check_shape(im, &shape);
	if (nw_state_find(im->g->states, state) == NULL)
		nw_state_add(im->g->states, state, shape, v);
	free(v);
	r = trainable ? nw_param(im->g, state, shape, NW_INIT_ZERO) : nw_buffer(im->g, state, shape, NW_INIT_ZERO);
	free(state);
	nw_import_bind(im, name, r);
	return r;
}

/* Return an input of the node at hand: a value, a weight or a constant. */
static NwT
operand(NwImport *im, size_t i)
{
	const char *name = input_name(im, i);
	NwT			t = nw_import_lookup(im, name);
	const Onnx__TensorProto *init;
	NwShape		shape;
	float	   *v;

	if (t != NW_NONE)
		return t;
	init = nw_model_initializer(im->model, name);
	if (init == NULL || init->data_type != NW_FLOAT)
		unsupported(im, "has an input that is neither an image's value nor a float constant");
	if (nw_is_weight(nw_model_initializer(im->b->model, name)))
		return weight(im, name, true);
	v = nw_tensor_floats(init, im->b->path, &shape);
	check_shape(im, &shape);
	t = nw_constant(im->g, NW_FLOAT, shape, v);
	free(v);
	nw_import_bind(im, name, t);
	return t;
}

/* Read a constant float input. */
static float
constant_float(NwImport *im, size_t i)
{
	NwShape		shape;
	float	   *v = nw_tensor_floats(constant(im, i), im->b->path, &shape);
	float		r;

	if (nw_shape_size(&shape) != 1)
		unsupported(im, "needs a single number as its constant input");
	r = v[0];
	free(v);
	return r;
}

/* Read integers from an attribute, or a constant input in newer operator sets; their number, -1 for none. */
static int
integers(NwImport *im, const char *name, size_t input, int64_t *into, int max)
{
	const Onnx__AttributeProto *a = attr(im, name);
	NwShape		shape;
	int64_t    *v;
	int64_t		n;

	if (a != NULL)
	{
		if (a->n_ints > (size_t) max)
			unsupported(im, "has more dimensions than are supported");
		if (a->n_ints > 0)
			memcpy(into, a->ints, a->n_ints * sizeof(int64_t));
		return (int) a->n_ints;
	}
	if (!has_input(im, input))
		return -1;
	v = nw_tensor_ints(constant(im, input), im->b->path, &shape);
	n = nw_shape_size(&shape);
	if (n > max)
		unsupported(im, "has more dimensions than are supported");
	memcpy(into, v, (size_t) n * sizeof(int64_t));
	free(v);
	return (int) n;
}

/* Read exactly so many integers, within limits; false, and nothing read, for none. */
static bool
exactly(NwImport *im, const char *name, size_t input, int64_t *into, int want, int64_t min, int64_t max)
{
	int64_t		list[2 * NW_MAX_RANK];
	int			n = integers(im, name, input, list, NW_LENGTH(list));

	if (n < 0)
		return false;
	if (n != want)
		unsupported(im, "has a list of a wrong length");
	for (int i = 0; i < n; i++)
	{
		if (list[i] < min || list[i] > max)
			unsupported(im, "has a number out of range");
		into[i] = list[i];
	}
	return true;
}

/* Count an axis from the front. */
static int64_t
axis_of(const NwImport *im, int64_t axis, int rank)
{
	if (axis < 0)
		axis += rank;
	if (axis < 0 || axis >= rank)
		unsupported(im, "has an axis out of range");
	return axis;
}

/* Count axes from the front, and put them into a bit mask; none may be there twice. */
static unsigned
distinct_axes(const NwImport *im, int64_t *list, int n, int rank)
{
	unsigned	axes = 0;

	for (int i = 0; i < n; i++)
	{
		list[i] = axis_of(im, list[i], rank);
		if (axes & (1u << list[i]))
			unsupported(im, "has an axis twice");
		axes |= 1u << list[i];
	}
	return axes;
}

/* Add padding at the end, so that a last window is not cut off. */
static void
round_up(const NwImport *im, NwWindow *win, int i, int64_t size, int64_t reach)
{
	int64_t		rest = (size + win->pad[i] + win->pad[i + 2] - reach) % win->stride[i];

	if (rest <= 0)
		return;
	if (win->count_pad)
		unsupported(im, "with ceil_mode and count_include_pad is not supported");
	win->pad[i + 2] += win->stride[i] - rest;
}

/* Check that a window has no place outside the image, and few enough elements to go through one by one. */
static void
check_window(const NwImport *im, const NwWindow *win, const NwShape *x)
{
	int64_t		work = win->kernel[0] * win->kernel[1];

	if (work > MAX_WINDOW)
		unsupported(im, "has a window that is too large");
	for (int i = 0; i < 2; i++)
	{
		int64_t		size = x->dim[2 + i];
		int64_t		reach = win->dilation[i] * (win->kernel[i] - 1) + 1;
		int64_t		places = (size + win->pad[i] + win->pad[i + 2] - reach) / win->stride[i] + 1;

		if (reach > MAX_WINDOW)
			unsupported(im, "has a window that is too large");
		if (win->pad[i] >= reach || (places - 1) * win->stride[i] >= size + win->pad[i])
			unsupported(im, "has a window outside the image");
		work *= places > 0 ? places : 1;
		if (work > MAX_WINDOW_WORK)
			unsupported(im, "has a window that is too large");
	}
}

/* Read the window of Conv and the pools; kernel from the weight where there is one. */
static NwWindow
read_window(NwImport *im, NwT x, NwT w)
{
	NwWindow	win = nw_window(1, 1, 0);
	const Onnx__AttributeProto *a = attr(im, "auto_pad");
	bool		given = exactly(im, "kernel_shape", SIZE_MAX, win.kernel, 2, 1, MAX_WINDOW);

	if (NW_RANK(im->g, x) != 4 || (w != NW_NONE && NW_RANK(im->g, w) != 4))
		unsupported(im, "is supported for two-dimensional images only");
	for (int i = 0; w != NW_NONE && i < 2; i++)
	{
		if (given && win.kernel[i] != NW_DIM(im->g, w, 2 + i))
			unsupported(im, "has a kernel of another size than its weight");
		win.kernel[i] = NW_DIM(im->g, w, 2 + i);
		if (win.kernel[i] > MAX_WINDOW)
			unsupported(im, "has a window that is too large");
	}
	exactly(im, "strides", SIZE_MAX, win.stride, 2, 1, MAX_WINDOW);
	exactly(im, "dilations", SIZE_MAX, win.dilation, 2, 1, MAX_WINDOW);
	exactly(im, "pads", SIZE_MAX, win.pad, 4, 0, MAX_WINDOW);
	win.group = attr_int(im, "group", 1);
	win.count_pad = attr_int(im, "count_include_pad", 0);
	for (int i = 0; i < 2; i++)
	{
		int64_t		size = NW_DIM(im->g, x, 2 + i);
		int64_t		reach = win.dilation[i] * (win.kernel[i] - 1) + 1;

		if (a != NULL && a->s.len > 4 && memcmp(a->s.data, "SAME", 4) == 0)
		{
			int64_t		outs = (size + win.stride[i] - 1) / win.stride[i];
			int64_t		total = (outs - 1) * win.stride[i] + reach - size;
			bool		lower = a->s.len == 10 && a->s.data[5] == 'L';

			total = total < 0 ? 0 : total;
			win.pad[i] = (total + lower) / 2;
			win.pad[i + 2] = total - win.pad[i];
		}
		if (attr_int(im, "ceil_mode", 0))
			round_up(im, &win, i, size, reach);
	}
	check_window(im, &win, &im->g->tensor[x].shape);
	return win;
}

static NwT
import_conv(NwImport *im)
{
	NwT			x = operand(im, 0);
	NwT			w = operand(im, 1);
	NwT			bias = has_input(im, 2) ? operand(im, 2) : NW_NONE;
	NwWindow	win = read_window(im, x, w);
	int64_t		outs = NW_DIM(im->g, w, 0);

	if (win.group < 1 || win.group > outs || outs % win.group != 0)
		unsupported(im, "has channels that its groups do not divide");
	if (bias != NW_NONE && (NW_RANK(im->g, bias) != 1 || NW_DIM(im->g, bias, 0) != outs))
		unsupported(im, "has a bias of a wrong shape");
	return nw_conv(im->g, x, w, bias, &win);
}

static NwT
import_pool(NwImport *im)
{
	NwT			x = operand(im, 0);
	NwWindow	win = read_window(im, x, NW_NONE);

	if (!attr(im, "kernel_shape"))
		unsupported(im, "has no kernel_shape");
	if (strcmp(im->node->op_type, "MaxPool") != 0 && (win.dilation[0] != 1 || win.dilation[1] != 1))
		unsupported(im, "with dilations is not supported");
	return strcmp(im->node->op_type, "MaxPool") == 0 ? nw_max_pool(im->g, x, &win) : nw_average_pool(im->g, x, &win);
}

static NwT
import_global_average_pool(NwImport *im)
{
	NwT			x = operand(im, 0);

	if (NW_RANK(im->g, x) != 4)
		unsupported(im, "is supported for two-dimensional images only");
	return nw_reduce(im->g, "ReduceMean", x, 0xc, true);
}

static NwT
import_batch_norm(NwImport *im)
{
	bool		train = im->g->purpose == NW_FOR_TRAINING && !im->b->freeze_norm;
	NwT			x = operand(im, 0);
	NwT			v[4];

	if (NW_RANK(im->g, x) != 4)
		unsupported(im, "is supported for two-dimensional images only");
	for (size_t i = 0; i < 4; i++)
	{
		const char *name = input_name(im, i + 1);

		v[i] = nw_import_lookup(im, name);
		if (v[i] == NW_NONE)
			v[i] = weight(im, name, i < 2 && !im->b->freeze_norm);
		if (NW_RANK(im->g, v[i]) != 1 || NW_DIM(im->g, v[i], 0) != NW_DIM(im->g, x, 1))
			unsupported(im, "has statistics of another number of channels");
	}
	return nw_batch_norm(im->g, x, v[0], v[1], v[2], v[3], attr_float(im, "epsilon", 1e-5f), train);
}

static NwT
import_layer_norm(NwImport *im)
{
	NwT			x = operand(im, 0);
	int64_t		axis = axis_of(im, attr_int(im, "axis", -1), NW_RANK(im->g, x));

	return nw_layer_norm(im->g, x, operand(im, 1), has_input(im, 2) ? operand(im, 2) : NW_NONE, axis,
						 attr_float(im, "epsilon", 1e-5f));
}

static NwT
import_unary(NwImport *im)
{
	static const char *const types[] = {"Relu", "Sigmoid", "Tanh", "Softplus", "Erf", "Exp", "Log", "Sqrt",
	"Reciprocal", "Neg", "Abs"};

	for (int i = 0; i < NW_LENGTH(types); i++)
		if (strcmp(types[i], im->node->op_type) == 0)
			return nw_unary(im->g, types[i], operand(im, 0));
	unsupported(im, "is not supported");
}

static NwT
import_binary(NwImport *im)
{
	static const char *const types[] = {"Add", "Sub", "Mul", "Div"};
	NwT			a = operand(im, 0);
	NwT			b = operand(im, 1);

	for (int i = 0; i < NW_LENGTH(types); i++)
		if (strcmp(types[i], im->node->op_type) == 0)
			return nw_binary(im->g, types[i], a, b);
	unsupported(im, "is not supported");
}

static NwT
import_sum(NwImport *im)
{
	NwT			sum = operand(im, 0);

	for (size_t i = 1; i < im->node->n_input; i++)
		sum = nw_add(im->g, sum, operand(im, i));
	return sum;
}

static NwT
import_pass(NwImport *im)
{
	return operand(im, 0);
}

static NwT
import_cast(NwImport *im)
{
	if (attr_int(im, "to", 0) != NW_FLOAT)
		unsupported(im, "is supported to float only");
	return operand(im, 0);
}

static NwT
import_leaky_relu(NwImport *im)
{
	return nw_leaky_relu(im->g, operand(im, 0), attr_float(im, "alpha", 0.01f));
}

static NwT
import_hard_sigmoid(NwImport *im)
{
	return nw_hard_sigmoid(im->g, operand(im, 0), attr_float(im, "alpha", 0.2f), attr_float(im, "beta", 0.5f));
}

static NwT
import_hard_swish(NwImport *im)
{
	NwT			x = operand(im, 0);

	return nw_mul(im->g, x, nw_hard_sigmoid(im->g, x, 1.0f / 6, 0.5f));
}

static NwT
import_gelu(NwImport *im)
{
	NwGraph    *g = im->g;
	NwT			x = operand(im, 0);
	const Onnx__AttributeProto *a = attr(im, "approximate");
	NwT			t;

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
	float		low = attr_float(im, "min", -3.4e38f);
	float		high = attr_float(im, "max", 3.4e38f);

	if (has_input(im, 1))
		low = constant_float(im, 1);
	if (has_input(im, 2))
		high = constant_float(im, 2);
	return nw_clip(im->g, operand(im, 0), low, high);
}

static NwT
import_pow(NwImport *im)
{
	return nw_pow(im->g, operand(im, 0), constant_float(im, 1));
}

/* Check that a value can be added to another without changing that one's shape. */
static void
check_fits(const NwImport *im, NwT x, NwT y)
{
	NwShape		to = nw_shape_of(im->g, y);
	NwShape		both = nw_shape_broadcast(&im->g->tensor[x].shape, &to, im->node->op_type);

	if (!nw_shape_equal(&both, &to))
		unsupported(im, "has an input of a wrong shape");
}

static NwT
import_gemm(NwImport *im)
{
	NwT			a = operand(im, 0);
	NwT			b = operand(im, 1);
	NwT			c = has_input(im, 2) ? operand(im, 2) : NW_NONE;
	NwT			y = nw_gemm(im->g, a, b, c, attr_int(im, "transA", 0), attr_int(im, "transB", 0),
							attr_float(im, "alpha", 1), attr_float(im, "beta", 1));

	if (c != NW_NONE)
		check_fits(im, c, y);
	return y;
}

static NwT
import_matmul(NwImport *im)
{
	NwT			a = operand(im, 0);

	return nw_matmul(im->g, a, operand(im, 1));
}

static NwT
import_softmax(NwImport *im)
{
	NwT			x = operand(im, 0);
	int			rank = NW_RANK(im->g, x);
	int64_t		axis = axis_of(im, attr_int(im, "axis", im->opset < 13 ? 1 : -1), rank);

	if (im->opset < 13 && axis != rank - 1)
		unsupported(im, "over several axes is not supported");
	return nw_softmax(im->g, x, axis);
}

static NwT
import_reduce(NwImport *im)
{
	NwT			x = operand(im, 0);
	int64_t		list[NW_MAX_RANK];
	int			n = integers(im, "axes", 1, list, NW_MAX_RANK);
	int			rank = NW_RANK(im->g, x);
	unsigned	axes = n > 0 ? distinct_axes(im, list, n, rank) : (1u << rank) - 1;

	return nw_reduce(im->g, strcmp(im->node->op_type, "ReduceMean") == 0 ? "ReduceMean" : "ReduceSum",
					 x, axes, attr_int(im, "keepdims", 1));
}

static NwT
import_reshape(NwImport *im)
{
	NwT			x = operand(im, 0);
	NwShape		from = nw_shape_of(im->g, x);
	NwShape		to = {0};
	int			open = -1;

	to.rank = integers(im, "shape", 1, to.dim, NW_MAX_RANK);
	for (int i = 0; i < to.rank; i++)
	{
		if (to.dim[i] == 0 && !attr_int(im, "allowzero", 0))
			to.dim[i] = i < from.rank ? from.dim[i] : 1;
		if (to.dim[i] == -1 && open >= 0)
			unsupported(im, "leaves more than one dimension open");
		if (to.dim[i] == -1)
		{
			open = i;
			to.dim[i] = 1;
		}
	}
	check_shape(im, &to);
	if (open >= 0)
		to.dim[open] = nw_shape_size(&from) / nw_shape_size(&to);
	check_shape(im, &to);
	return nw_reshape(im->g, x, to);
}

static NwT
import_flatten(NwImport *im)
{
	NwT			x = operand(im, 0);
	NwShape		from = nw_shape_of(im->g, x);
	int64_t		axis = attr_int(im, "axis", 1);
	int64_t		rows = 1;

	if (axis != from.rank)		/* past the last is an axis, too */
		axis = axis_of(im, axis, from.rank);
	for (int i = 0; i < axis; i++)
		rows *= from.dim[i];
	return nw_reshape(im->g, x, NW_SHAPE(rows, nw_shape_size(&from) / rows));
}

static NwT
import_squeeze(NwImport *im)
{
	NwT			x = operand(im, 0);
	NwShape		from = nw_shape_of(im->g, x);
	NwShape		to = {0};
	int64_t		list[NW_MAX_RANK];
	int			n = integers(im, "axes", 1, list, NW_MAX_RANK);
	unsigned	axes = n > 0 ? distinct_axes(im, list, n, from.rank) : 0;

	for (int i = 0; i < from.rank; i++)
		if (n > 0 ? !(axes & (1u << i)) : from.dim[i] != 1)
			to.dim[to.rank++] = from.dim[i];
	return nw_reshape(im->g, x, to);
}

static NwT
import_unsqueeze(NwImport *im)
{
	NwT			x = operand(im, 0);
	NwShape		from = nw_shape_of(im->g, x);
	NwShape		to = {0};
	int64_t		list[NW_MAX_RANK];
	int			n = integers(im, "axes", 1, list, NW_MAX_RANK);
	unsigned	axes;

	if (n < 1 || from.rank + n > NW_MAX_RANK)
		unsupported(im, "has more dimensions than are supported");
	to.rank = from.rank + n;
	axes = distinct_axes(im, list, n, to.rank);
	for (int i = 0, at = 0; i < to.rank; i++)
		to.dim[i] = axes & (1u << i) ? 1 : from.dim[at++];
	return nw_reshape(im->g, x, to);
}

static NwT
import_transpose(NwImport *im)
{
	NwT			x = operand(im, 0);
	int			rank = NW_RANK(im->g, x);
	int64_t		perm[NW_MAX_RANK];

	if (!exactly(im, "perm", SIZE_MAX, perm, rank, 0, rank - 1))
		for (int i = 0; i < rank; i++)
			perm[i] = rank - 1 - i;
	distinct_axes(im, perm, rank, rank);
	return nw_transpose(im->g, x, perm);
}

static NwT
import_slice(NwImport *im)
{
	NwT			x = operand(im, 0);
	int64_t		starts[NW_MAX_RANK];
	int64_t		ends[NW_MAX_RANK];
	int64_t		axes[NW_MAX_RANK];
	int64_t		steps[NW_MAX_RANK];
	int			n = integers(im, "starts", 1, starts, NW_MAX_RANK);

	if (n < 0 || !exactly(im, "ends", 2, ends, n, INT64_MIN, INT64_MAX))
		unsupported(im, "lacks an input");
	if (!exactly(im, "axes", 3, axes, n, INT64_MIN, INT64_MAX))
		for (int i = 0; i < n; i++)
			axes[i] = i;
	if (!exactly(im, "steps", 4, steps, n, INT64_MIN, INT32_MAX))
		for (int i = 0; i < n; i++)
			steps[i] = 1;
	distinct_axes(im, axes, n, NW_RANK(im->g, x));
	for (int i = 0; i < n; i++)
	{
		int64_t		size = NW_DIM(im->g, x, axes[i]);

		if (steps[i] < 1)
			unsupported(im, "with a negative step is not supported");
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
	NwT			x = operand(im, 0);
	const Onnx__AttributeProto *mode = attr(im, "mode");
	int64_t		pads[2 * NW_MAX_RANK];

	if (mode != NULL && (mode->s.len != 8 || memcmp(mode->s.data, "constant", 8) != 0))
		unsupported(im, "is supported with mode \"constant\" only");
	if (has_input(im, 3))
		unsupported(im, "with axes is not supported");
	if (!exactly(im, "pads", 1, pads, 2 * NW_RANK(im->g, x), INT64_MIN, INT32_MAX))
		unsupported(im, "lacks an input");
	for (int i = 0; i < 2 * NW_RANK(im->g, x); i++)
		if (pads[i] < 0)
			unsupported(im, "with negative pads is not supported");
	return nw_pad(im->g, x, pads, has_input(im, 2) ? constant_float(im, 2) : attr_float(im, "value", 0));
}

static NwT
import_concat(NwImport *im)
{
	size_t		n = im->node->n_input;
	NwT		   *x = nw_alloc(n * sizeof(NwT));
	NwShape		first = nw_shape_of(im->g, operand(im, 0));
	int64_t		axis = axis_of(im, attr_int(im, "axis", 0), first.rank);
	NwT			y;

	for (size_t i = 0; i < n; i++)
	{
		NwShape		other = nw_shape_of(im->g, x[i] = operand(im, i));

		other.dim[axis] = first.dim[axis];
		if (!nw_shape_equal(&other, &first))
			unsupported(im, "has inputs that do not fit together");
	}
	y = nw_concat(im->g, (int) n, x, axis);
	free(x);
	return y;
}

static NwT
import_gather(NwImport *im)
{
	NwT			x = operand(im, 0);
	NwShape		to = nw_shape_of(im->g, x);
	int64_t		axis = axis_of(im, attr_int(im, "axis", 0), to.rank);
	int64_t		size = to.dim[axis];
	NwShape		shape;
	int64_t    *index = nw_tensor_ints(constant(im, 1), im->b->path, &shape);
	NwT			y;

	if (shape.rank > 1)
		unsupported(im, "with indices of more than one dimension is not supported");
	check_shape(im, &shape);
	if (nw_shape_size(&shape) * size > MAX_PICKS)
		unsupported(im, "has too many indices");
	for (int64_t i = 0; i < nw_shape_size(&shape); i++)
		if (index[i] < -size || index[i] >= size)
			unsupported(im, "has an index out of range");
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
	NwT			x = operand(im, 0);
	NwShape		to = {0};

	to.rank = integers(im, "shape", 1, to.dim, NW_MAX_RANK);
	check_shape(im, &to);
	return nw_expand(im->g, x, to);
}

/* Split has several outputs: all but the first are bound here. */
static NwT
import_split(NwImport *im)
{
	NwT			x = operand(im, 0);
	int64_t		axis = axis_of(im, attr_int(im, "axis", 0), NW_RANK(im->g, x));
	int64_t		n = (int64_t) im->node->n_output;
	int64_t		whole = NW_DIM(im->g, x, axis);
	int64_t		sizes[64];
	int64_t		left = whole;
	int64_t		at = 0;
	int			given;
	NwT			first = NW_NONE;

	if (n > NW_LENGTH(sizes))
		unsupported(im, "has too many outputs");
	given = integers(im, "split", 1, sizes, NW_LENGTH(sizes));
	if (given < 0)
		for (int64_t i = 0, part = (whole + n - 1) / n; i < n; i++)
			sizes[i] = i < n - 1 ? part : whole - part * (n - 1);
	for (int64_t i = 0; i < n && (given < 0 || given == n); left -= sizes[i++])
		if (sizes[i] < 1 || sizes[i] > left)
			unsupported(im, "has parts of an impossible size");
	if (left != 0)
		unsupported(im, "has parts of an impossible size");
	for (int64_t i = 0; i < n; at += sizes[i++])
	{
		NwT			t = nw_slice1(im->g, x, axis, at, at + sizes[i]);

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
	NwT			(*import) (NwImport *im);
}			imports[] =
{
	{"Abs", import_unary}, {"Add", import_binary}, {"AveragePool", import_pool},
	{"BatchNormalization", import_batch_norm}, {"Cast", import_cast}, {"Clip", import_clip},
	{"Concat", import_concat}, {"Conv", import_conv}, {"Div", import_binary}, {"Dropout", import_pass},
	{"Erf", import_unary}, {"Exp", import_unary}, {"Expand", import_expand}, {"Flatten", import_flatten},
	{"Gather", import_gather}, {"Gelu", import_gelu}, {"Gemm", import_gemm},
	{"GlobalAveragePool", import_global_average_pool}, {"HardSigmoid", import_hard_sigmoid},
	{"HardSwish", import_hard_swish}, {"Identity", import_pass}, {"LayerNormalization", import_layer_norm},
	{"LeakyRelu", import_leaky_relu}, {"Log", import_unary}, {"MatMul", import_matmul}, {"MaxPool", import_pool},
	{"Mul", import_binary}, {"Neg", import_unary}, {"Pad", import_pad}, {"Pow", import_pow},
	{"Reciprocal", import_unary}, {"ReduceMean", import_reduce}, {"ReduceSum", import_reduce},
	{"Relu", import_unary}, {"Reshape", import_reshape}, {"Sigmoid", import_unary}, {"Slice", import_slice},
	{"Softmax", import_softmax}, {"Softplus", import_unary}, {"Split", import_split}, {"Sqrt", import_unary},
	{"Squeeze", import_squeeze}, {"Sub", import_binary}, {"Sum", import_sum}, {"Tanh", import_unary},
	{"Transpose", import_transpose}, {"Unsqueeze", import_unsqueeze},
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
				NwT			y;

				if (im->node->n_output == 0)
					unsupported(im, "has no output");
				y = imports[i].import(im);
				check_shape(im, &im->g->tensor[y].shape);
				nw_import_bind(im, im->node->output[0], y);
				return;
			}
	unsupported(im, "is not supported for training");
}

/* Check that every operator is supported before the runtime rewrites any. */
void
nw_import_check(NwBackbone *b)
{
	static const char *const folded[] = {"Constant", "Shape", "ConstantOfShape", "Range", "Where", "Equal"};
	NwImport		im = {.b = b, .model = b->model};

	for (size_t i = 0; i < b->model->graph->n_node; i++)
	{
		bool		known = false;

		im.node = b->model->graph->node[i];
		for (int j = 0; j < NW_LENGTH(imports); j++)
			known |= strcmp(imports[j].type, im.node->op_type) == 0;
		for (int j = 0; j < NW_LENGTH(folded); j++)
			known |= strcmp(folded[j], im.node->op_type) == 0;
		if (!known)
			unsupported(&im, "is not supported for training");
	}
}

