/*
 * cli/classify_options.c: the command line of "nwhead classify".
 */
#include <string.h>

#include "base/message.h"
#include "cli/classify_options.h"
#include "cli/model_options.h"
#include "cli/options.h"
#include "data/dataset.h"
#include "run/classify.h"

#define WHO "classify"

enum
{
	OPT_SET = NW_OPT_OWN,
	OPT_TOP,
	OPT_MIN_CONFIDENCE,
	OPT_JSON
};

static const NwOption options[] = {
	{NULL, 0, NULL, "Answers", NULL},
	{"set", OPT_SET, "NAME", "the set of extension nwhead that answers", NULL},
	{"dsn", NW_OPT_DSN, "CONNINFO", "how to connect; else PGHOST, PGDATABASE and so on", NULL},
	{"top", OPT_TOP, "N", "reasons for each: the rows of most weight (3)", NULL},
	{"min-confidence", OPT_MIN_CONFIDENCE, "P", "no label below this probability (0)", NULL},
	{"json", OPT_JSON, NULL, "one JSON object on a line for each file", NULL},
	{NULL, 0, NULL, NULL, NULL}};

static void
take(void *into, int code)
{
	NwClassifySettings *o = into;

	switch (code)
	{
		case OPT_SET:
			o->set = optarg;
			break;
		case OPT_TOP:
			o->top = (int) nw_parse_int(WHO, "top", optarg, 0, 1000000);
			break;
		case OPT_MIN_CONFIDENCE:
			o->min_confidence = nw_parse_double(WHO, "min-confidence", optarg, 0, 1);
			break;
		case OPT_JSON:
			o->json = true;
			break;
		default:
			nw_model_option(WHO, code, &o->model, &o->quiet);
	}
}

const NwSubcommand nw_classify_command = {
	.name = WHO,
	.purpose = "say what images are, and which rows of a set say so",
	.synopsis = "FILE... --model FILE.onnx --set NAME [OPTION]...",
	.operands = "FILE",
	.options = options,
	.more = nw_model_options,
	.take = take,
};

void
nw_classify_options(int argc, char **argv, NwClassifySettings *o)
{
	NwDatasetOptions shared = {.dsn = ""};
	int first;
	int stdins = 0;

	*o = (NwClassifySettings) {.model.batch = NW_DEFAULT_BATCH, .top = 3};
	first = nw_options_read(&nw_classify_command, argc, argv, &shared, o);
	o->dsn = shared.dsn;
	o->file = argv + first;
	o->n_files = argc - first;
	if (o->n_files == 0)
		nw_usage_error(WHO, "no image given; \"-\" is the standard input");
	for (int i = 0; i < o->n_files; i++)
		stdins += strcmp(o->file[i], "-") == 0;
	if (stdins > 1)
		nw_usage_error(WHO, "the standard input is one image: \"-\" can be given once");
	if (o->model.path == NULL)
		nw_usage_error(WHO, "--model must be given");
	if (o->set == NULL)
		nw_usage_error(WHO, "--set must be given");
}
