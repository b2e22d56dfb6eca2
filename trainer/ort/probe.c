/*
 * ort/probe.c: the choice of a device.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/hush.h"
#include "base/memory.h"
#include "base/message.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/onnx_write.h"
#include "graph/ops.h"
#include "graph/ops_image.h"
#include "graph/shape.h"
#include "graph/states.h"
#include "math/window.h"
#include "ort/device.h"
#include "ort/probe.h"
#include "ort/runtime.h"

/* Build a convolution big enough to tell a fast device from a slow one. */
static void
probe_model(NwBuf *out)
{
	NwStates states = {0};
	NwGraph *g = nw_graph_new(NW_FOR_TRAINING, true, &states, 1);
	NwWindow win = nw_window(3, 1, 1);
	NwT x = nw_input(g, "x", NW_FLOAT, NW_SHAPE(16, 64, 32, 32));
	NwT w = nw_input(g, "w", NW_FLOAT, NW_SHAPE(64, 64, 3, 3));

	nw_output(g, "y", nw_reduce(g, "ReduceSum", nw_conv(g, x, w, NW_NONE, &win), 0xf, false));
	nw_graph_pack(g, NULL, false, out);
	nw_graph_free(g);
	nw_states_free(&states);
}

/* Time a device on the probe; why it does not work, else NULL. */
static char *
probe_device(NwRuntime *rt, NwDevice device, double *seconds)
{
	NwBuf model;
	NwSession *s;
	NwBinding *b;
	NwValue *x;
	NwValue *w;
	char *why;

	probe_model(&model);
	why = nw_session_try(rt, device, &model, &s);
	nw_buf_free(&model);
	if (why != NULL)
		return why;
	x = nw_value_new(NW_SHAPE(16, 64, 32, 32));
	w = nw_value_new(NW_SHAPE(64, 64, 3, 3));
	b = nw_binding_new(s);
	nw_bind_input(b, "x", x);
	nw_bind_input(b, "w", w);
	nw_bind_output_fresh(b, "y", true);
	for (int i = 0; i < 3 && why == NULL; i++) /* the first run compiles, the last one counts */
	{
		double start = nw_now();

		why = nw_binding_try_run(b);
		*seconds = nw_now() - start;
	}
	nw_binding_free(b);
	nw_session_close(s);
	nw_value_free(x);
	nw_value_free(w);
	return why;
}

/* Probe a device while the drivers, which write to stderr as they please, are not heard. */
static char *
probe(NwRuntime *rt, NwDevice device, double *seconds)
{
	char *why;

	nw_hush();
	why = probe_device(rt, device, seconds);
	nw_unhush();
	return why;
}

/* Settle on a device: the one asked for, or the fastest that works. */
NwDevice
nw_device_choose(NwRuntime *rt, NwDevice wanted)
{
	NwDevice best = NW_DEVICE_CPU;
	double best_time = 0;
	char *why;

	if (wanted == NW_DEVICE_CPU)
		return wanted;
	if (wanted != NW_DEVICE_AUTO)
	{
		double seconds;

		why = probe(rt, wanted, &seconds);
		if (why != NULL)
			nw_fatal("device \"%s\" is not available: %s", nw_device_name(wanted), why);
		return wanted;
	}
	for (NwDevice d = NW_DEVICE_CPU; d <= NW_DEVICE_CUDA; d++)
	{
		double seconds = 0;

		why = probe(rt, d, &seconds);
		if (why == NULL && (d == NW_DEVICE_CPU || seconds < best_time))
		{
			best = d;
			best_time = seconds;
		}
		free(why);
	}
	nw_info("device: %s", nw_device_name(best));
	return best;
}
