/*
 * cli/embed_options.c: the command line of "nwhead embed".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
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

static const struct option long_options[] = {
	NW_SHARED_OPTIONS,
	{"from-table", required_argument, NULL, NW_OPT_TABLE},
	{"model", required_argument, NULL, OPT_MODEL},
	{"table", required_argument, NULL, OPT_TABLE},
	{"set", required_argument, NULL, OPT_SET},
	{"head-set", required_argument, NULL, OPT_HEAD_SET},
	{"kernel", required_argument, NULL, OPT_KERNEL},
	{"tau", required_argument, NULL, OPT_TAU},
	{"append", no_argument, NULL, OPT_APPEND},
	{"replace", no_argument, NULL, OPT_REPLACE},
	{"normalize", no_argument, NULL, OPT_NORMALIZE},
	{"output", required_argument, NULL, OPT_OUTPUT},
	{"input-size", required_argument, NULL, OPT_INPUT_SIZE},
	{"resize", required_argument, NULL, OPT_RESIZE},
	{"mean", required_argument, NULL, OPT_MEAN},
	{"std", required_argument, NULL, OPT_STD},
	{"batch", required_argument, NULL, OPT_BATCH},
	{"device", required_argument, NULL, OPT_DEVICE},
	{"threads", required_argument, NULL, OPT_THREADS},
	{"profile", required_argument, NULL, OPT_PROFILE},
	{"quiet", no_argument, NULL, OPT_QUIET},
	{NULL, 0, NULL, 0}};

static const char *const kernels[] = {"euclidean", "gaussian", "hypersphere", "cosine", "dot"};

static void
usage(void)
{
	printf("nwhead embed: run a model over images and fill a PostgreSQL table.\n\n"
	       "Usage:\n"
	       "  nwhead embed --model FILE.onnx SOURCE --table REL [OPTION]...\n\n");
	nw_options_dataset_usage("from-table");
	printf(
		"Table (id, label, embedding), all in one transaction:\n"
		"  --table REL               created when missing\n"
		"  --append, --replace       add to the rows it has, or delete them first\n"
		"  --set NAME                register the table as a set of extension nwhead\n"
		"  --head-set NAME           where an FC model's head goes (SET_head): a table and a set with\n"
		"                            one row for each class, for predictions with kernel dot\n"
		"  --kernel NAME             euclidean, gaussian, hypersphere, cosine, dot (as the model says)\n"
		"  --tau T                   (as the model says)\n"
		"  --normalize               scale embeddings to length 1\n\n"
		"Model, where it is not one of nwhead train:\n"
		"  --output NAME             tensor to take (\"embedding\", else the first output)\n"
		"  --input-size N or HxW     size of the images\n"
		"  --resize N                scale the shorter side to N, then cut the centre\n"
		"  --mean A,B,C --std A,B,C  of pixels in [0,1] (0 and 1)\n\n"
		"Run:\n"
		"  --batch N                 images a run (64)\n"
		"  --device NAME             auto, cpu, webgpu, cuda (auto: the fastest that works)\n"
		"  --threads N               (one for each core)\n"
		"  --profile PREFIX          write ONNX Runtime's profile\n"
		"  --quiet                   no progress\n"
		"  --help\n");
}

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

void
nw_embed_options(int argc, char **argv, NwEmbedSettings *o)
{
	static const NwSubcommand self = {WHO, long_options, usage, take};
	bool known = false;

	*o = (NwEmbedSettings) {.model.batch = 64};
	nw_options_read(&self, argc, argv, &o->dataset, o);
	nw_options_check_dataset(WHO, &o->dataset, "from-table", false);
	if (o->model.path == NULL)
		nw_usage_error(WHO, "--model must be given");
	if (o->table == NULL)
		nw_usage_error(WHO, "--table must be given");
	if (o->append && o->replace)
		nw_usage_error(WHO, "only one of --append and --replace can be given");
	for (int i = 0; i < NW_LENGTH(kernels); i++)
		known |= o->kernel && strcmp(o->kernel, kernels[i]) == 0;
	if (o->kernel && !known)
		nw_usage_error(WHO, "there is no kernel \"%s\"", o->kernel);
}
