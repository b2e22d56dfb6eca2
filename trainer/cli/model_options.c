/*
 * cli/model_options.c: how a model is run, for all subcommands that run one.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/model_options.h"
#include "cli/options.h"
#include "ort/device.h"
#include "run/embedder.h"

enum
{
	OPT_MODEL = NW_OPT_MODEL,
	OPT_OUTPUT,
	OPT_INPUT_SIZE,
	OPT_RESIZE,
	OPT_MEAN,
	OPT_STD,
	OPT_NORMALIZE,
	OPT_BATCH,
	OPT_DEVICE,
	OPT_THREADS,
	OPT_PROFILE,
	OPT_QUIET
};

const NwOption nw_model_options[] = {
	{NULL, 0, NULL, "Model; one of nwhead train needs --model alone", NULL},
	{"model", OPT_MODEL, "FILE.onnx", "a model of images", NULL},
	{"output", OPT_OUTPUT, "NAME", "tensor to take (\"embedding\", else the first output)", NULL},
	{"input-size", OPT_INPUT_SIZE, "N", "side of the images, or HxW (as the model says)", NULL},
	{"resize", OPT_RESIZE, "N", "scale the shorter side to N, then cut the centre", NULL},
	{"mean", OPT_MEAN, "A,B,C", "of pixels in [0,1], for each channel (0)", NULL},
	{"std", OPT_STD, "A,B,C", "their standard deviation (1)", NULL},
	{"normalize", OPT_NORMALIZE, NULL, "scale embeddings to length 1", NULL},

	{NULL, 0, NULL, "Run", NULL},
	{"batch", OPT_BATCH, "N", "images a run (64)", NULL},
	{"device", OPT_DEVICE, "NAME", " (auto: the fastest that works)", nw_device_name},
	{"threads", OPT_THREADS, "N", "threads to use (one for each core)", NULL},
	{"profile", OPT_PROFILE, "PREFIX", "write ONNX Runtime's profile", NULL},
	{"quiet", OPT_QUIET, NULL, "no progress", NULL},
	{NULL, 0, NULL, NULL, NULL}};

/* Read "224" or "224x320". */
static void
parse_size(const char *who, const char *text, int *height, int *width)
{
	char *copy = nw_strdup(text);
	char *x = strchr(copy, 'x');

	if (x != NULL)
		*x++ = 0;
	*height = (int) nw_parse_int(who, "input-size", copy, 1, 8192);
	*width = x ? (int) nw_parse_int(who, "input-size", x, 1, 8192) : *height;
	free(copy);
}

/* Take one of these options. */
void
nw_model_option(const char *who, int code, NwEmbedderOptions *o, bool *quiet)
{
	switch (code)
	{
		case OPT_MODEL:
			o->path = optarg;
			break;
		case OPT_OUTPUT:
			o->output = optarg;
			break;
		case OPT_INPUT_SIZE:
			parse_size(who, optarg, &o->height, &o->width);
			break;
		case OPT_RESIZE:
			o->resize = (int) nw_parse_int(who, "resize", optarg, 1, 8192);
			break;
		case OPT_MEAN:
			o->n_mean = nw_parse_list(who, "mean", optarg, "numbers", o->mean, 3);
			break;
		case OPT_STD:
			o->n_std = nw_parse_list(who, "std", optarg, "numbers", o->std, 3);
			break;
		case OPT_NORMALIZE:
			o->normalize = true;
			break;
		case OPT_BATCH:
			o->batch = (int) nw_parse_int(who, "batch", optarg, 1, 65536);
			break;
		case OPT_DEVICE:
			o->device = nw_parse_device(who, optarg);
			break;
		case OPT_THREADS:
			o->threads = (int) nw_parse_int(who, "threads", optarg, 1, 1024);
			break;
		case OPT_PROFILE:
			o->profile = optarg;
			break;
		case OPT_QUIET:
			*quiet = true;
			break;
	}
}
