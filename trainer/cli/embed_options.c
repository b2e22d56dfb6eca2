/*
 * cli/embed_options.c: the command line of "nwhead embed".
 */
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "base/text.h"
#include "cli/embed_options.h"
#include "cli/options.h"
#include "run/embed.h"

#define WHO "embed"

enum
{
	OPT_MODEL = NW_OPT_OWN,
	OPT_TABLE,
	OPT_SET,
	OPT_HEAD_SET,
	OPT_KERNEL,
	OPT_TAU,
	OPT_APPEND,
	OPT_REPLACE,
	OPT_NORMALIZE,
	OPT_OUTPUT,
	OPT_INPUT_SIZE,
	OPT_RESIZE,
	OPT_MEAN,
	OPT_STD,
	OPT_BATCH,
	OPT_DEVICE,
	OPT_THREADS,
	OPT_PROFILE,
	OPT_QUIET
};

/* The kernels there are. */
static const char *
kernel_name(int i)
{
	static const char *const names[] = {"euclidean", "gaussian", "hypersphere",
	                                    "cosine",    "dot",      NULL};

	return names[i];
}

static const NwOption options[] = {
	{NULL, 0, NULL, "Table (id, label, embedding), all in one transaction", NULL},
	{"table", OPT_TABLE, "REL", "created when missing", NULL},
	{"append", OPT_APPEND, NULL, "add to the rows it has", NULL},
	{"replace", OPT_REPLACE, NULL, "delete the rows it has", NULL},
	{"set", OPT_SET, "NAME", "register the table as a set of extension nwhead", NULL},
	{"head-set", OPT_HEAD_SET, "NAME",
     "where an FC model's head goes (SET_head): a table and a set with one row for each class, for "
     "predictions with kernel dot",
     NULL},
	{"kernel", OPT_KERNEL, "NAME", " (as the model says)", kernel_name},
	{"tau", OPT_TAU, "T", "temperature of the set (as the model says)", NULL},
	{"normalize", OPT_NORMALIZE, NULL, "scale embeddings to length 1", NULL},

	{NULL, 0, NULL, "Model; one of nwhead train needs --model alone", NULL},
	{"model", OPT_MODEL, "FILE.onnx", "a model of images", NULL},
	{"output", OPT_OUTPUT, "NAME", "tensor to take (\"embedding\", else the first output)", NULL},
	{"input-size", OPT_INPUT_SIZE, "N", "side of the images, or HxW (as the model says)", NULL},
	{"resize", OPT_RESIZE, "N", "scale the shorter side to N, then cut the centre", NULL},
	{"mean", OPT_MEAN, "A,B,C", "of pixels in [0,1], for each channel (0)", NULL},
	{"std", OPT_STD, "A,B,C", "their standard deviation (1)", NULL},

	{NULL, 0, NULL, "Run", NULL},
	{"batch", OPT_BATCH, "N", "images a run (64)", NULL},
	{"device", OPT_DEVICE, "NAME", " (auto: the fastest that works)", nw_device_name},
	{"threads", OPT_THREADS, "N", "threads to use (one for each core)", NULL},
	{"profile", OPT_PROFILE, "PREFIX", "write ONNX Runtime's profile", NULL},
	{"quiet", OPT_QUIET, NULL, "no progress", NULL},
	{NULL, 0, NULL, NULL, NULL}};

/* Read "224" or "224x320". */
static void
parse_size(const char *text, int *height, int *width)
{
	char *copy = nw_strdup(text);
	char *x = strchr(copy, 'x');

	if (x != NULL)
		*x++ = 0;
	*height = (int) nw_parse_int(WHO, "input-size", copy, 1, 8192);
	*width = x ? (int) nw_parse_int(WHO, "input-size", x, 1, 8192) : *height;
	free(copy);
}

static void
take(void *into, int code)
{
	NwEmbedSettings *o = into;

	switch (code)
	{
		case OPT_MODEL:
			o->model.path = optarg;
			break;
		case OPT_TABLE:
			o->table = optarg;
			break;
		case OPT_SET:
			o->set = optarg;
			break;
		case OPT_HEAD_SET:
			o->head_set = optarg;
			break;
		case OPT_KERNEL:
			o->kernel = optarg;
			break;
		case OPT_TAU:
			o->tau = nw_parse_double(WHO, "tau", optarg, 1e-12, 1e12);
			break;
		case OPT_APPEND:
			o->append = true;
			break;
		case OPT_REPLACE:
			o->replace = true;
			break;
		case OPT_NORMALIZE:
			o->normalize = true;
			break;
		case OPT_OUTPUT:
			o->model.output = optarg;
			break;
		case OPT_INPUT_SIZE:
			parse_size(optarg, &o->model.height, &o->model.width);
			break;
		case OPT_RESIZE:
			o->model.resize = (int) nw_parse_int(WHO, "resize", optarg, 1, 8192);
			break;
		case OPT_MEAN:
			o->model.n_mean = nw_parse_list(WHO, "mean", optarg, o->model.mean, 3);
			break;
		case OPT_STD:
			o->model.n_std = nw_parse_list(WHO, "std", optarg, o->model.std, 3);
			break;
		case OPT_BATCH:
			o->model.batch = (int) nw_parse_int(WHO, "batch", optarg, 1, 65536);
			break;
		case OPT_DEVICE:
			o->device = nw_parse_device(WHO, optarg);
			break;
		case OPT_THREADS:
			o->threads = (int) nw_parse_int(WHO, "threads", optarg, 1, 1024);
			break;
		case OPT_PROFILE:
			o->profile = optarg;
			break;
		case OPT_QUIET:
			o->quiet = true;
			break;
	}
}

const NwSubcommand nw_embed_command = {
	.name = WHO,
	.purpose = "run a model over images and fill a PostgreSQL table",
	.synopsis = "--model FILE.onnx SOURCE --table REL [OPTION]...",
	.table_option = "from-table",
	.options = options,
	.take = take,
};

void
nw_embed_options(int argc, char **argv, NwEmbedSettings *o)
{
	bool known = false;

	*o = (NwEmbedSettings) {.model.batch = 64};
	nw_options_read(&nw_embed_command, argc, argv, &o->dataset, o);
	nw_options_check_dataset(&nw_embed_command, &o->dataset, false);
	if (o->model.path == NULL)
		nw_usage_error(WHO, "--model must be given");
	if (o->table == NULL)
		nw_usage_error(WHO, "--table must be given");
	if (o->append && o->replace)
		nw_usage_error(WHO, "only one of --append and --replace can be given");
	for (int i = 0; kernel_name(i) != NULL; i++)
		known |= o->kernel && strcmp(o->kernel, kernel_name(i)) == 0;
	if (o->kernel && !known)
		nw_usage_error(WHO, "there is no kernel \"%s\"", o->kernel);
}
