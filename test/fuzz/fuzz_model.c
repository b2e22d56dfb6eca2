/*
 * fuzz_model.c
 *		An ONNX file to embed with, its metadata and FC head; and a checkpoint to
 *		go on from.
 *
 * The input: what the runtime says about the model, then the file.
 *
 * options: -max_len=2048 -malloc_limit_mb=1100
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/image.h"
#include "fake_ort.h"
#include "graph/graph.h"
#include "graph/meta.h"
#include "graph/shape.h"
#include "graph/states.h"
#include "harness.h"
#include "ort/device.h"
#include "ort/runtime.h"
#include "run/best.h"
#include "run/checkpoint.h"
#include "run/embedder.h"

/* Take a shape: dimensions of a byte, 0xff for an open one. */
static NwShape
take_shape(FuzzInput *in, bool open)
{
	uint8_t rank = fuzz_byte(in);
	NwShape s = {.rank = rank % (NW_MAX_RANK + 1)};

	for (int i = 0; i < s.rank; i++)
	{
		uint8_t b = fuzz_byte(in);

		/* what a run returns is there: a runtime has memory for it */
		s.dim[i] = open && b == 0xff   ? -1
		           : open && b == 0xfe ? INT64_C(0x100000003)
		                               : b % (s.rank > 4 ? 4 : 32);
	}
	return s;
}

/* Take the ports of one side. */
static void
take_ports(FuzzInput *in, int side)
{
	static char *const names[] = {"images", "embedding", "y", ""};

	fake_model.n_ports[side] = (fuzz_byte(in) & 7) % (FAKE_PORTS + 1);
	for (int i = 0; i < fake_model.n_ports[side]; i++)
	{
		uint8_t b = fuzz_byte(in);

		fake_model.port[side][i] =
			(NwPort) {names[b & 3], b & 4 ? NW_INT64 : NW_FLOAT, take_shape(in, true)};
	}
}

/* Embed two images as "nwhead embed" does. */
static void
embed(void *arg)
{
	NwEmbedderOptions *o = arg;
	NwEmbedder *e = nw_embedder_open(NULL, NW_DEVICE_CPU, o);
	size_t image = nw_preprocess_size(&e->pre);
	float *images;
	float *z;
	int n = e->batch < 2 ? e->batch : 2;

	if (e->batch < 1 || image < 1 || e->dim < 1)
		fuzz_broken("a model has sizes");
	if (!(e->pre.zoom >= 1 && e->pre.zoom <= 1e6))
		fuzz_broken("images are zoomed");
	for (int c = 0; c < e->pre.channels; c++)
		if (!isfinite(e->pre.mean[c]) || !(e->pre.std[c] > 0) || !isfinite(1 / e->pre.std[c]))
			fuzz_broken("pixels can be normalised");
	images = nw_alloc0((size_t) e->batch * image * sizeof(float));
	z = nw_embedder_run(e, images, n);
	fuzz_use(z, (size_t) n * (size_t) e->dim * sizeof(float));
	free(z);
	free(images);
	for (int c = 0; c < e->classes; c++)
	{
		fuzz_use(e->class_name[c], strlen(e->class_name[c]));
		fuzz_use(e->head + (size_t) c * (size_t) e->dim, (size_t) e->dim * sizeof(float));
	}
	nw_embedder_close(e);
}

/* Load a checkpoint, and use a state as a network does. */
static void
resume(void *arg)
{
	NwStates states = {0};
	NwBest best = {0};
	NwMetas settings = {0};
	NwGraph *g;
	int64_t step = nw_checkpoint_load(((NwEmbedderOptions *) arg)->path, &states, &best, &settings);

	if (step < 0)
		fuzz_broken("a step is not negative");
	g = nw_graph_new(NW_FOR_EXPORT, false, &states, 0);
	if (states.n > 0)
		nw_param(g, states.item[0].name, states.item[0].shape, NW_INIT_ZERO);
	nw_graph_free(g);
	nw_states_free(&states);
	nw_states_free(&best.states);
	nw_metas_free(&settings);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FuzzInput in = {data, size};
	uint8_t how = fuzz_byte(&in);
	NwEmbedderOptions o = {.output = how & 1 ? "y" : NULL, .batch = 2};

	if (how & 2)
		o.height = o.width = 8;
	if (how & 4)
		o.resize = 10;
	take_ports(&in, 0);
	take_ports(&in, 1);
	fake_model.result = take_shape(&in, false);
	o.path = fuzz_file(0, in);
	fuzz_call(embed, &o);
	fuzz_call(resume, &o);
	return 0;
}
