/*
 * cli/embed_options.c: the command line of "nwhead embed".
 */
#include <string.h>

#include "base/message.h"
#include "base/text.h"
#include "cli/embed_options.h"
#include "cli/model_options.h"
#include "cli/options.h"
#include "net/kernel.h"
#include "run/embed.h"

#define WHO "embed"

enum
{
	OPT_TABLE = NW_OPT_OWN,
	OPT_SET,
	OPT_HEAD_SET,
	OPT_KERNEL,
	OPT_TAU,
	OPT_APPEND,
	OPT_REPLACE,
	OPT_SKIP_EXISTING,
	OPT_SKIP_BAD,
	OPT_MIX,
	OPT_NEW
};

static const NwOption options[] = {
	{NULL, 0, NULL, "Table (id, label, embedding), all in one transaction", NULL},
	{"table", OPT_TABLE, "REL", "created when missing", NULL},
	{"append", OPT_APPEND, NULL, "add to the rows it has", NULL},
	{"replace", OPT_REPLACE, NULL, "delete the rows it has", NULL},
	{"skip-existing", OPT_SKIP_EXISTING, NULL, "add only images whose id it does not have", NULL},
	{"skip-bad", OPT_SKIP_BAD, NULL, "leave out images that cannot be read, and say which", NULL},
	{"mix-models", OPT_MIX, NULL, "add also to rows that another model made", NULL},
	{"into-new-set", OPT_NEW, "NAME",
     "--set NAME and, unless given, --table NAME; neither may be there, nor may what --head-set names",
     NULL},
	{"set", OPT_SET, "NAME",
     "register the table as a set of extension nwhead; one that is this table's stays as it is",
     NULL},
	{"head-set", OPT_HEAD_SET, "NAME",
     "where an FC model's head goes (SET_head): a table and a set with one row for each class, for "
     "predictions with kernel dot",
     NULL},
	{"kernel", OPT_KERNEL, "NAME", " (as the model says)", nw_kernel_name},
	{"tau", OPT_TAU, "T", "temperature of the set (as the model says)", NULL},
	{NULL, 0, NULL, NULL, NULL}};

/* Quote a name as an identifier of SQL. */
static char *
quoted(const char *name)
{
	NwBuf b = {0};

	nw_buf_add(&b, "\"", 1);
	for (; *name; name++)
		nw_buf_add(&b, *name == '"' ? "\"\"" : name, *name == '"' ? 2 : 1);
	nw_buf_add(&b, "\"", 1);
	return b.data;
}

static void
take(void *into, int code)
{
	NwEmbedSettings *o = into;

	switch (code)
	{
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
			o->kernel = nw_kernel_name(nw_parse_word(WHO, "kernel", optarg, nw_kernel_name));
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
		case OPT_SKIP_EXISTING:
			o->skip_existing = true;
			break;
		case OPT_SKIP_BAD:
			o->skip_bad = true;
			break;
		case OPT_MIX:
			o->mix_models = true;
			break;
		case OPT_NEW:
			o->new_set = optarg;
			break;
		default:
			nw_model_option(WHO, code, &o->model, &o->quiet);
	}
}

const NwSubcommand nw_embed_command = {
	.name = WHO,
	.purpose = "run a model over images and fill a PostgreSQL table",
	.synopsis = "--model FILE.onnx SOURCE --table REL [OPTION]...",
	.table_option = "from-table",
	.options = options,
	.more = nw_model_options,
	.take = take,
};

void
nw_embed_options(int argc, char **argv, NwEmbedSettings *o)
{
	*o = (NwEmbedSettings) {.model.batch = NW_DEFAULT_BATCH};
	nw_options_read(&nw_embed_command, argc, argv, &o->dataset, o);
	nw_options_check_dataset(&nw_embed_command, &o->dataset, false);
	if (o->model.path == NULL)
		nw_usage_error(WHO, "--model must be given");
	if (o->new_set && (o->set || o->append || o->replace || o->skip_existing || o->mix_models))
		nw_usage_error(WHO, "--into-new-set goes without --set, --append, --replace,"
		                    " --skip-existing and --mix-models");
	if (o->new_set)
	{
		o->set = o->new_set;
		if (o->table == NULL)
			o->table = quoted(o->new_set);
	}
	if (o->table == NULL)
		nw_usage_error(WHO, "--table must be given");
	if (o->set == NULL && (o->kernel || o->tau > 0))
		nw_usage_error(WHO, "--%s goes with --set", o->kernel ? "kernel" : "tau");
	if (o->head_set && strcmp(o->head_set, o->table) == 0)
		nw_usage_error(WHO, "--head-set and --table cannot be the same table");
	if (o->head_set && o->set && strcmp(o->head_set, o->set) == 0)
		nw_usage_error(WHO, "--head-set and --set cannot be the same set");
	if (o->replace && (o->append || o->skip_existing))
		nw_usage_error(WHO, "only one of --%s and --replace can be given",
		               o->append ? "append" : "skip-existing");
	if (o->skip_existing)
	{
		o->append = true;
		o->dataset.known = o->table;
	}
}
