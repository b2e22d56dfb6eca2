/*
 * net/builtin.c: the built-in networks.
 *
 * Layers carry torchvision's names, so that weights can be compared one by one.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "graph/graph.h"
#include "graph/ops.h"
#include "graph/ops_image.h"
#include "graph/shape.h"
#include "graph/states.h"
#include "math/window.h"
#include "net/builtin.h"

#define MAX_NAME 96 /* of a weight */

static const NwArch archs[] = {
	{"cnn", 0, 16, 8},            /* three convolutions, for images of 28 x 28 or so */
	{"resnet18-small", 0, 64, 8}, /* with a 3 x 3 stem, for small images */
	{"resnet18", 224, 64, 32},
	{"densenet121", 224, 32, 32},
};

/* The name of the network of a number; NULL past the last one. */
const char *
nw_arch_name(int i)
{
	return i < NW_LENGTH(archs) ? archs[i].name : NULL;
}

const NwArch *
nw_arch_find(const char *name)
{
	for (int i = 0; i < NW_LENGTH(archs); i++)
		if (strcmp(archs[i].name, name) == 0)
			return &archs[i];
	return NULL;
}

/* Put two parts of a weight's name together. */
static const char *
join(char *into, const char *prefix, const char *suffix)
{
	snprintf(into, MAX_NAME, "%s%s", prefix, suffix);
	return into;
}

/* Convolve without bias: [N,C,H,W] -> [N,outs,h,w]. */
static NwT
conv(NwGraph *g, const char *name, NwT x, int64_t outs, int64_t kernel, int64_t stride, int64_t pad)
{
	char buf[MAX_NAME];
	NwWindow win = nw_window(kernel, stride, pad);
	NwT w = nw_param(g, join(buf, name, ".weight"), NW_SHAPE(outs, NW_DIM(g, x, 1), kernel, kernel),
	                 NW_INIT_HE);

	return nw_conv(g, x, w, NW_NONE, &win);
}

static NwT
norm(NwGraph *g, const char *name, NwT x)
{
	char buf[MAX_NAME];
	NwShape c = NW_SHAPE(NW_DIM(g, x, 1));
	NwT scale = nw_param(g, join(buf, name, ".weight"), c, NW_INIT_ONE);
	NwT bias = nw_param(g, join(buf, name, ".bias"), c, NW_INIT_ZERO);
	NwT mean = nw_buffer(g, join(buf, name, ".running_mean"), c, NW_INIT_ZERO);
	NwT var = nw_buffer(g, join(buf, name, ".running_var"), c, NW_INIT_ONE);

	return nw_batch_norm(g, x, scale, bias, mean, var, 1e-5f, g->purpose == NW_FOR_TRAINING);
}

/* Apply the network's non-linearity. */
static NwT
act(NwGraph *g, const NwBuiltin *net, NwT x)
{
	return nw_unary(g, net->smooth ? "Softplus" : "Relu", x);
}

/* Average over the image: [N,C,H,W] -> [N,C]. */
static NwT
pool_all(NwGraph *g, NwT x)
{
	return nw_reduce(g, "ReduceMean", x, 0xc, false);
}

/*
 * Emit the tiny network.  Its features keep their places instead of being averaged
 * over the image: few supports tell classes apart by where things are, and with
 * averaged features the NW loss had a much higher error on few images.
 */
static NwT
cnn(NwGraph *g, const NwBuiltin *net, NwT x)
{
	int64_t w = net->width;
	NwWindow halve = nw_window(2, 2, 0);

	x = nw_max_pool(g, act(g, net, norm(g, "norm1", conv(g, "conv1", x, w, 3, 1, 1))), &halve);
	x = nw_max_pool(g, act(g, net, norm(g, "norm2", conv(g, "conv2", x, 2 * w, 3, 1, 1))), &halve);
	x = act(g, net, norm(g, "norm3", conv(g, "conv3", x, 4 * w, 3, 2, 1)));
	return nw_reshape(
		g, x, NW_SHAPE(NW_DIM(g, x, 0), NW_DIM(g, x, 1) * NW_DIM(g, x, 2) * NW_DIM(g, x, 3)));
}

/* Emit a residual block of two convolutions. */
static NwT
basic_block(NwGraph *g, const NwBuiltin *net, const char *name, NwT x, int64_t outs, int64_t stride)
{
	char buf[MAX_NAME];
	NwT y;
	NwT skip = x;

	y = conv(g, join(buf, name, ".conv1"), x, outs, 3, stride, 1);
	y = act(g, net, norm(g, join(buf, name, ".bn1"), y));
	y = conv(g, join(buf, name, ".conv2"), y, outs, 3, 1, 1);
	y = norm(g, join(buf, name, ".bn2"), y);
	if (stride != 1 || NW_DIM(g, x, 1) != outs)
	{
		skip = conv(g, join(buf, name, ".downsample.0"), x, outs, 1, stride, 0);
		skip = norm(g, join(buf, name, ".downsample.1"), skip);
	}
	return act(g, net, nw_add(g, y, skip));
}

static NwT
resnet18(NwGraph *g, const NwBuiltin *net, NwT x, bool small)
{
	NwWindow pool = nw_window(3, 2, 1);

	x = small ? conv(g, "conv1", x, net->width, 3, 1, 1) : conv(g, "conv1", x, net->width, 7, 2, 3);
	x = act(g, net, norm(g, "bn1", x));
	if (!small)
		x = nw_max_pool(g, x, &pool);
	for (int layer = 0; layer < 4; layer++)
		for (int block = 0; block < 2; block++)
		{
			char name[32];

			snprintf(name, sizeof(name), "layer%d.%d", layer + 1, block);
			x = basic_block(g, net, name, x, (int64_t) net->width << layer,
			                layer > 0 && block == 0 ? 2 : 1);
		}
	return pool_all(g, x);
}

/* Emit one layer of a dense block: the channels it adds. */
static NwT
dense_layer(NwGraph *g, const NwBuiltin *net, const char *name, NwT x)
{
	char buf[MAX_NAME];
	NwT y;

	y = act(g, net, norm(g, join(buf, name, ".norm1"), x));
	y = conv(g, join(buf, name, ".conv1"), y, 4 * net->width, 1, 1, 0);
	y = act(g, net, norm(g, join(buf, name, ".norm2"), y));
	return conv(g, join(buf, name, ".conv2"), y, net->width, 3, 1, 1);
}

/* Emit DenseNet-121; its width is the growth rate. */
static NwT
densenet121(NwGraph *g, const NwBuiltin *net, NwT x)
{
	static const int layers[] = {6, 12, 24, 16};
	NwWindow stem = nw_window(3, 2, 1);
	NwWindow halve = nw_window(2, 2, 0);
	char name[64];

	x = conv(g, "features.conv0", x, 2 * net->width, 7, 2, 3);
	x = act(g, net, norm(g, "features.norm0", x));
	x = nw_max_pool(g, x, &stem);
	for (int block = 0; block < 4; block++)
	{
		for (int layer = 0; layer < layers[block]; layer++)
		{
			NwT both[2] = {x, NW_NONE};

			snprintf(name, sizeof(name), "features.denseblock%d.denselayer%d", block + 1,
			         layer + 1);
			both[1] = dense_layer(g, net, name, x);
			x = nw_concat(g, 2, both, 1);
		}
		if (block == 3)
			break;
		snprintf(name, sizeof(name), "features.transition%d.norm", block + 1);
		x = act(g, net, norm(g, name, x));
		snprintf(name, sizeof(name), "features.transition%d.conv", block + 1);
		x = conv(g, name, x, NW_DIM(g, x, 1) / 2, 1, 1, 0);
		x = nw_average_pool(g, x, &halve);
	}
	x = act(g, net, norm(g, "features.norm5", x));
	return pool_all(g, x);
}

NwT
nw_builtin_features(NwGraph *g, const NwBuiltin *net, NwT images)
{
	const char *name = net->arch->name;

	if (strcmp(name, "cnn") == 0)
		return cnn(g, net, images);
	if (strcmp(name, "densenet121") == 0)
		return densenet121(g, net, images);
	return resnet18(g, net, images, strcmp(name, "resnet18-small") == 0);
}
