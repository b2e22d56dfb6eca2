/*
 * fuzz_import.c
 *		An ONNX file to train further: read, brought into a graph, differentiated
 *		and written again, or refused.
 *
 * options: -max_len=4096 -malloc_limit_mb=64
 */
#include "base/memory.h"
#include "base/text.h"
#include "graph/grad.h"
#include "graph/graph.h"
#include "graph/onnx_write.h"
#include "graph/ops.h"
#include "graph/shape.h"
#include "graph/states.h"
#include "harness.h"
#include "net/backbone.h"

#define BATCH 2
#define SIDE 8

typedef struct Work
{
	const char *path;
	bool gpu;
	bool freeze;
	bool inner;
} Work;

/* Import a network as "nwhead train --backbone" does. */
static void
import(void *arg)
{
	Work *w = arg;
	NwBackbone *b = nw_backbone_load(NULL, w->path, w->inner ? "y" : NULL, w->freeze);
	NwStates states = {0};
	int channels;
	int height;
	int width;

	nw_backbone_input(b, &channels, &height, &width);
	if (channels < 0 || height < 0 || width < 0)
		fuzz_broken("sizes are not negative");
	for (int purpose = NW_FOR_TRAINING; purpose <= NW_FOR_EXPORT; purpose++)
	{
		NwGraph *g = nw_graph_new((NwPurpose) purpose, w->gpu, &states, 1);
		NwT images =
			nw_input(g, "images", NW_FLOAT, NW_SHAPE(BATCH, channels == 1 ? 1 : 3, SIDE, SIDE));
		NwT y = nw_backbone_features(g, b, images);
		NwBuf packed;

		if (NW_RANK(g, y) != 2 || NW_DIM(g, y, 0) != BATCH || NW_DIM(g, y, 1) < 1)
			fuzz_broken("features are [N,F]");
		nw_output(g, "features", y);
		if (purpose == NW_FOR_TRAINING && nw_needs_grad(g, y))
			nw_backward(g, nw_reduce(g, "ReduceSum", y, 0x3, false));
		nw_graph_pack(g, NULL, false, &packed);
		nw_buf_free(&packed);
		nw_graph_free(g);
	}
	nw_states_free(&states);
	nw_backbone_free(b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FuzzInput in = {data, size};
	uint8_t how = fuzz_byte(&in);
	Work w = {.gpu = how & 1, .freeze = how & 2, .inner = how & 4};

	w.path = fuzz_file(0, in);
	fuzz_call(import, &w);
	return 0;
}
