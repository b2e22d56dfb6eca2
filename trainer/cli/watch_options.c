/*
 * cli/watch_options.c: the command line of "nwhead watch".
 */
#include "cli/watch_options.h"
#include "base/message.h"
#include "cli/model_options.h"
#include "cli/options.h"
#include "data/dataset.h"
#include "run/watch.h"

#define WHO "watch"

enum
{
	OPT_PATH = NW_OPT_OWN,
	OPT_TARGET,
	OPT_EMBEDDING,
	OPT_INSTALL,
	OPT_UNINSTALL,
	OPT_MIX,
	OPT_INTERVAL,
	OPT_ONCE
};

static const NwOption options[] = {
	{NULL, 0, NULL, "Images, in a table that is being written to", NULL},
	{"from-table", NW_OPT_TABLE, "REL", "the table", NULL},
	{"image", NW_OPT_IMAGE, "COL", "its column of images, JPEG or PNG as bytea", NULL},
	{"path", OPT_PATH, "DIR", "the column holds paths of files instead, which are below DIR", NULL},
	{"id", NW_OPT_ID, "COL", "its column of ids, which is unique (\"id\")", NULL},
	{"label", NW_OPT_LABEL, "COL", "with --table: its column of classes, to be copied", NULL},
	{"dsn", NW_OPT_DSN, "CONNINFO", "how to connect; else PGHOST, PGDATABASE and so on", NULL},

	{NULL, 0, NULL, "Embeddings", NULL},
	{"table", OPT_TARGET, "REL", "the table (id, label, embedding) that they go to", NULL},
	{"embedding", OPT_EMBEDDING, "COL",
     "without --table: the column of the table of images (\"embedding\")", NULL},

	{NULL, 0, NULL, "Watch", NULL},
	{"install", OPT_INSTALL, NULL, "make the queue, its triggers and what is missing, and end",
     NULL},
	{"uninstall", OPT_UNINSTALL, NULL, "remove queue and triggers, and end; embeddings stay", NULL},
	{"mix-models", OPT_MIX, NULL, "with --install: embed all rows anew, by another model", NULL},
	{"interval", OPT_INTERVAL, "S", "seconds between looks where no notification comes (30)", NULL},
	{"once", OPT_ONCE, NULL, "end when nothing waits any more", NULL},
	{NULL, 0, NULL, NULL, NULL}};

static void
take(void *into, int code)
{
	NwWatchSettings *o = into;

	switch (code)
	{
		case OPT_PATH:
			o->folder = optarg;
			break;
		case OPT_TARGET:
			o->place.table = optarg;
			break;
		case OPT_EMBEDDING:
			o->place.embedding = optarg;
			break;
		case OPT_INSTALL:
			o->install = true;
			break;
		case OPT_UNINSTALL:
			o->uninstall = true;
			break;
		case OPT_MIX:
			o->mix_models = true;
			break;
		case OPT_INTERVAL:
			o->interval = nw_parse_double(WHO, "interval", optarg, 0.1, 86400);
			break;
		case OPT_ONCE:
			o->once = true;
			break;
		default:
			nw_model_option(WHO, code, &o->model, &o->quiet);
	}
}

const NwSubcommand nw_watch_command = {
	.name = WHO,
	.purpose = "embed the images of a table as they arrive",
	.synopsis = "--model FILE.onnx --from-table REL --image COL [OPTION]...",
	.options = options,
	.more = nw_model_options,
	.take = take,
};

void
nw_watch_options(int argc, char **argv, NwWatchSettings *o)
{
	NwDatasetOptions shared = {.dsn = "", .id_column = "id"};

	*o = (NwWatchSettings) {.model.batch = NW_DEFAULT_BATCH, .interval = 30};
	nw_options_read(&nw_watch_command, argc, argv, &shared, o);
	o->dsn = shared.dsn;
	o->place.source = shared.table;
	o->place.id = shared.id_column;
	o->place.image = shared.image_column;
	o->place.label = shared.label_column;
	o->place.paths = o->folder != NULL;
	if (o->place.source == NULL)
		nw_usage_error(WHO, "--from-table must be given");
	if (o->place.image == NULL)
		nw_usage_error(WHO, "--image must be given");
	if (o->model.path == NULL && !o->uninstall)
		nw_usage_error(WHO, "--model must be given");
	if (o->place.table && o->place.embedding)
		nw_usage_error(WHO, "only one of --table and --embedding can be given");
	if (o->place.label && !o->place.table)
		nw_usage_error(WHO, "--label goes with --table");
	if (o->install && o->uninstall)
		nw_usage_error(WHO, "only one of --install and --uninstall can be given");
	if (o->mix_models && !o->install)
		nw_usage_error(WHO, "--mix-models goes with --install");
	if (o->place.embedding == NULL)
		o->place.embedding = "embedding";
}
