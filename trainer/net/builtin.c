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

/* Emit a block: images [N,C,h,w] -> [N,outs or more,h/stride,w/stride]. */
typedef NwT Block(NwGraph *g, const NwBuiltin *net, const char *name, NwT x, int64_t outs,
                  int64_t stride);

/* Emit what a residual block adds to: its input, projected where the shape changes. */
static NwT
skip(NwGraph *g, const char *name, NwT x, int64_t outs, int64_t stride)
{
	char buf[MAX_NAME];

	if (stride == 1 && NW_DIM(g, x, 1) == outs)
		return x;
	x = conv(g, join(buf, name, ".downsample.0"), x, outs, 1, stride, 0);
	return norm(g, join(buf, name, ".downsample.1"), x);
}

/* Emit a residual block of two convolutions. */
static NwT
basic_block(NwGraph *g, const NwBuiltin *net, const char *name, NwT x, int64_t outs, int64_t stride)
{
	char buf[MAX_NAME];
	NwT y;

	y = conv(g, join(buf, name, ".conv1"), x, outs, 3, stride, 1);
	y = act(g, net, norm(g, join(buf, name, ".bn1"), y));
	y = conv(g, join(buf, name, ".conv2"), y, outs, 3, 1, 1);
	y = norm(g, join(buf, name, ".bn2"), y);
	return act(g, net, nw_add(g, y, skip(g, name, x, outs, stride)));
}

/*
 * Emit a residual block with a bottleneck of `mids` channels.  The middle convolution
 * has the stride, as torchvision has it, not the first, as the paper has it.
 */
static NwT
bottleneck(NwGraph *g, const NwBuiltin *net, const char *name, NwT x, int64_t mids, int64_t stride)
{
	char buf[MAX_NAME];
	NwT y;

	y = conv(g, join(buf, name, ".conv1"), x, mids, 1, 1, 0);
	y = act(g, net, norm(g, join(buf, name, ".bn1"), y));
	y = conv(g, join(buf, name, ".conv2"), y, mids, 3, stride, 1);
	y = act(g, net, norm(g, join(buf, name, ".bn2"), y));
	y = conv(g, join(buf, name, ".conv3"), y, 4 * mids, 1, 1, 0);
	y = norm(g, join(buf, name, ".bn3"), y);
	return act(g, net, nw_add(g, y, skip(g, name, x, 4 * mids, stride)));
}

/*
 * Emit a pre-activated residual block: nothing comes after its sum.  A projection
 * takes the activated input and has no normalisation of its own.
 */
static NwT
preact_block(NwGraph *g, const NwBuiltin *net, const char *name, NwT x, int64_t outs,
             int64_t stride)
{
	char buf[MAX_NAME];
	NwT a = act(g, net, norm(g, join(buf, name, ".bn1"), x));
	NwT y;

	if (stride != 1 || NW_DIM(g, x, 1) != outs)
		x = conv(g, join(buf, name, ".shortcut.0"), a, outs, 1, stride, 0);
	y = conv(g, join(buf, name, ".conv1"), a, outs, 3, stride, 1);
	y = act(g, net, norm(g, join(buf, name, ".bn2"), y));
	y = conv(g, join(buf, name, ".conv2"), y, outs, 3, 1, 1);
	return nw_add(g, y, x);
}

/* Emit four layers of residual blocks, each but the first with half the places of the last. */
static NwT
residual_layers(NwGraph *g, const NwBuiltin *net, NwT x, Block *block, const int blocks[4])
{
	for (int layer = 0; layer < 4; layer++)
		for (int i = 0; i < blocks[layer]; i++)
		{
			char name[32];

			snprintf(name, sizeof(name), "layer%d.%d", layer + 1, i);
			x = block(g, net, name, x, (int64_t) net->width << layer, layer > 0 && i == 0 ? 2 : 1);
		}
	return x;
}

static const int resnet18_blocks[4] = {2, 2, 2, 2};
static const int resnet50_blocks[4] = {3, 4, 6, 3};

/* Emit what a residual network of large images begins with. */
static NwT
large_stem(NwGraph *g, const NwBuiltin *net, NwT x)
{
	NwWindow pool = nw_window(3, 2, 1);

	x = conv(g, "conv1", x, net->width, 7, 2, 3);
	return nw_max_pool(g, act(g, net, norm(g, "bn1", x)), &pool);
}

static NwT
resnet18(NwGraph *g, const NwBuiltin *net, NwT x)
{
	return pool_all(g,
	                residual_layers(g, net, large_stem(g, net, x), basic_block, resnet18_blocks));
}

static NwT
resnet50(NwGraph *g, const NwBuiltin *net, NwT x)
{
	return pool_all(g, residual_layers(g, net, large_stem(g, net, x), bottleneck, resnet50_blocks));
}

static NwT
resnet18_small(NwGraph *g, const NwBuiltin *net, NwT x)
{
	x = act(g, net, norm(g, "bn1", conv(g, "conv1", x, net->width, 3, 1, 1)));
	return pool_all(g, residual_layers(g, net, x, basic_block, resnet18_blocks));
}

/* Emit the pre-activated ResNet-18: its blocks activate what they get, so the stem does not. */
static NwT
resnet18_preact(NwGraph *g, const NwBuiltin *net, NwT x)
{
	x = conv(g, "conv1", x, net->width, 3, 1, 1);
	x = residual_layers(g, net, x, preact_block, resnet18_blocks);
	return pool_all(g, act(g, net, norm(g, "bn", x)));
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

/* Emit dense blocks of so many layers; between two, channels and places are halved. */
static NwT
dense_blocks(NwGraph *g, const NwBuiltin *net, NwT x, int blocks, const int *layers)
{
	NwWindow halve = nw_window(2, 2, 0);
	char name[64];

	for (int block = 0; block < blocks; block++)
	{
		for (int layer = 0; layer < layers[block]; layer++)
		{
			NwT both[2] = {x, NW_NONE};

			snprintf(name, sizeof(name), "features.denseblock%d.denselayer%d", block + 1,
			         layer + 1);
			both[1] = dense_layer(g, net, name, x);
			x = nw_concat(g, 2, both, 1);
		}
		if (block == blocks - 1)
			break;
		snprintf(name, sizeof(name), "features.transition%d.norm", block + 1);
		x = act(g, net, norm(g, name, x));
		snprintf(name, sizeof(name), "features.transition%d.conv", block + 1);
		x = conv(g, name, x, NW_DIM(g, x, 1) / 2, 1, 1, 0);
		x = nw_average_pool(g, x, &halve);
	}
	return pool_all(g, act(g, net, norm(g, "features.norm5", x)));
}

static NwT
densenet121(NwGraph *g, const NwBuiltin *net, NwT x)
{
	static const int layers[] = {6, 12, 24, 16};
	NwWindow stem = nw_window(3, 2, 1);

	x = conv(g, "features.conv0", x, 2 * net->width, 7, 2, 3);
	x = act(g, net, norm(g, "features.norm0", x));
	return dense_blocks(g, net, nw_max_pool(g, x, &stem), NW_LENGTH(layers), layers);
}

/* Emit DenseNet-BC of depth 100, as its paper has it for small images. */
static NwT
densenet100_small(NwGraph *g, const NwBuiltin *net, NwT x)
{
	static const int layers[] = {16, 16, 16};

	x = conv(g, "features.conv0", x, 2 * net->width, 3, 1, 1);
	return dense_blocks(g, net, x, NW_LENGTH(layers), layers);
}

static const NwArch archs[] = {
	{"cnn", 0, 16, 8, cnn}, /* three convolutions, for images of 28 x 28 or so */
	{"resnet18-small", 0, 64, 8, resnet18_small}, /* with a 3 x 3 stem, for small images */
	{"resnet18-preact", 0, 64, 8, resnet18_preact},
	{"resnet18", 224, 64, 32, resnet18},
	{"resnet50", 224, 64, 32, resnet50},
	{"densenet100-small", 0, 12, 8, densenet100_small},
	{"densenet121", 224, 32, 32, densenet121},
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

NwT
nw_builtin_features(NwGraph *g, const NwBuiltin *net, NwT images)
{
	return net->arch->features(g, net, images);
}
