/*
 * cli/options.c: what the subcommands' command lines have in common.
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "base/text.h"
#include "cli/options.h"
#include "data/dataset.h"
#include "ort/device.h"

int64_t
nw_parse_int(const char *subcommand, const char *option, const char *text, int64_t min, int64_t max)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(text, &end, 10);
	if (errno != 0 || end == text || *end != 0 || v < min || v > max)
		nw_usage_error(subcommand, "option --%s wants a whole number from %lld to %lld, not \"%s\"",
		               option, (long long) min, (long long) max, text);
	return v;
}

double
nw_parse_double(const char *subcommand, const char *option, const char *text, double min,
                double max)
{
	char *end;
	double v;

	errno = 0;
	v = strtod(text, &end);
	if (errno != 0 || end == text || *end != 0 || !isfinite(v) || v < min || v > max)
		nw_usage_error(subcommand, "option --%s wants a number from %g to %g, not \"%s\"", option,
		               min, max, text);
	return v;
}

/* Read numbers with commas between them; their number. */
int
nw_parse_list(const char *subcommand, const char *option, const char *text, double *into, int max)
{
	char *copy = nw_strdup(text);
	char *rest;
	int n = 0;

	for (char *item = strtok_r(copy, ",", &rest); item; item = strtok_r(NULL, ",", &rest))
	{
		if (n == max)
			nw_usage_error(subcommand, "option --%s takes at most %d numbers", option, max);
		into[n++] = nw_parse_double(subcommand, option, item, -1e12, 1e12);
	}
	free(copy);
	return n;
}

NwDevice
nw_parse_device(const char *subcommand, const char *text)
{
	NwDevice d;

	if (!nw_device_parse(text, &d))
		nw_usage_error(subcommand, "option --device wants auto, cpu, webgpu or cuda, not \"%s\"",
		               text);
	return d;
}

/* Take an option that says where images come from; false where it is not one. */
static bool
take_dataset_option(const char *subcommand, int code, int argc, char **argv, NwDatasetOptions *into)
{
	switch (code)
	{
		case NW_OPT_IMAGES:
			into->folder = optarg;
			return true;
		case NW_OPT_IDX:
			if (optind >= argc || argv[optind][0] == '-')
				nw_usage_error(subcommand, "option --idx takes two files: IMAGES LABELS");
			into->idx_images = optarg;
			into->idx_labels = argv[optind++];
			return true;
		case NW_OPT_TABLE:
			into->table = optarg;
			return true;
		case NW_OPT_IMAGE:
			into->image_column = optarg;
			return true;
		case NW_OPT_LABEL:
			into->label_column = optarg;
			return true;
		case NW_OPT_ID:
			into->id_column = optarg;
			return true;
		case NW_OPT_DSN:
			into->dsn = optarg;
			return true;
		case NW_OPT_CLASS_NAMES:
			into->class_names = optarg;
			return true;
		case NW_OPT_PER_CLASS:
			into->per_class = (int) nw_parse_int(subcommand, "per-class", optarg, 1, INT32_MAX);
			return true;
		case NW_OPT_SUBSET_SEED:
			into->subset_seed =
				(uint64_t) nw_parse_int(subcommand, "subset-seed", optarg, 0, INT64_MAX);
			return true;
		default:
			return false;
	}
}

/* Read the options of a subcommand, one by one. */
void
nw_options_read(const NwSubcommand *self, int argc, char **argv, NwDatasetOptions *dataset,
                void *into)
{
	int code;

	opterr = 0;
	while ((code = getopt_long(argc, argv, "", self->options, NULL)) != -1)
	{
		if (code == NW_OPT_HELP)
		{
			self->usage();
			exit(0);
		}
		if (code == '?')
			nw_usage_error(self->name, "unknown option, or one without its value: \"%s\"",
			               argv[optind - 1]);
		if (!take_dataset_option(self->name, code, argc, argv, dataset))
			self->take(into, code);
	}
	if (optind < argc)
		nw_usage_error(self->name, "too many arguments: \"%s\"", argv[optind]);
}

/* Check that the images' place is named once, and completely. */
void
nw_options_check_dataset(const char *subcommand, NwDatasetOptions *o, const char *table_option,
                         bool labels_needed)
{
	int n = (o->folder != NULL) + (o->idx_images != NULL) + (o->table != NULL);

	if (n != 1)
		nw_usage_error(subcommand, "%s of --images, --idx and --%s must be given",
		               n ? "only one" : "one", table_option);
	if (o->table != NULL && o->image_column == NULL)
		nw_usage_error(subcommand, "--%s needs --image, the column of images", table_option);
	if (o->table != NULL && labels_needed && o->label_column == NULL)
		nw_usage_error(subcommand, "--%s needs --label, the column of classes", table_option);
	if (o->table == NULL && (o->image_column || o->label_column || o->id_column))
		nw_usage_error(subcommand, "--image, --label and --id go with --%s", table_option);
	if (o->class_names != NULL && o->idx_images == NULL)
		nw_usage_error(subcommand, "--class-names goes with --idx");
	if (o->id_column == NULL)
		o->id_column = "id";
	if (o->dsn == NULL)
		o->dsn = "";
}

/* Print the part of the help that says where images come from. */
void
nw_options_dataset_usage(const char *table_option)
{
	char *table = nw_printf("--%s REL", table_option);

	printf("Images, one of:\n"
	       "  --images DIR              JPEG and PNG files, one folder for each class\n"
	       "  --idx IMAGES LABELS       two files in the MNIST format, .gz too\n"
	       "  %-25s a table with --image COL (bytea), --label COL, --id COL (\"id\")\n"
	       "  --dsn CONNINFO            how to connect; else PGHOST, PGDATABASE and so on\n"
	       "  --class-names FILE        with --idx: one name on each line, label 0 first\n"
	       "  --per-class N             use at most N images of each class\n"
	       "  --subset-seed N           which ones (0)\n\n",
	       table);
	free(table);
}
