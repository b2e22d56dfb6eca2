/*
 * cli/options.c: what the subcommands' command lines have in common.
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/message.h"
#include "base/text.h"
#include "cli/options.h"
#include "data/dataset.h"
#include "ort/device.h"

/* where images come from: the first options of subcommands that read many */
static const NwOption dataset_options[] = {
	{NULL, 0, NULL, "Images, from one of three sources", NULL},
	{"images", NW_OPT_IMAGES, "DIR", "JPEG and PNG files, one folder for each class", NULL},
	{"idx", NW_OPT_IDX, "FILE FILE", "images and labels in the MNIST format, .gz too", NULL},
	{"table", NW_OPT_TABLE, "REL", "a table, view or any relation", NULL},
	{"image", NW_OPT_IMAGE, "COL", "its column of images, JPEG or PNG as bytea", NULL},
	{"label", NW_OPT_LABEL, "COL", "its column of classes", NULL},
	{"id", NW_OPT_ID, "COL", "its column of ids (\"id\")", NULL},
	{"dsn", NW_OPT_DSN, "CONNINFO", "how to connect; else PGHOST, PGDATABASE and so on", NULL},
	{"class-names", NW_OPT_CLASS_NAMES, "FILE",
     "with --idx: one name on each line, for label 0 first", NULL},
	{"per-class", NW_OPT_PER_CLASS, "N", "use at most N images of each class", NULL},
	{"subset-seed", NW_OPT_SUBSET_SEED, "N", "which ones (0)", NULL},
	{NULL, 0, NULL, NULL, NULL}};

/* the command line that getopt_long() is reading */
static int n_words;
static char **words;

static const NwOption help_option = {"help", NW_OPT_HELP, NULL, "show this, and end", NULL};

#define NAME_COLUMNS 28 /* of an option and its value in the help */
#define HELP_COLUMNS 100

/* The options and headings of a subcommand by number; NULL past the last one. */
const NwOption *
nw_option(const NwSubcommand *self, int i)
{
	const NwOption *list[] = {self->table_option ? dataset_options : NULL, self->options,
	                          self->more};

	for (int k = 0; k < NW_LENGTH(list); k++)
		for (const NwOption *o = list[k]; o != NULL && o->help != NULL; o++)
			if (i-- == 0)
				return o;
	return i == 0 ? &help_option : NULL;
}

/* The name of an option; that for a table of images differs by subcommand. */
const char *
nw_option_name(const NwSubcommand *self, const NwOption *option)
{
	return option->code == NW_OPT_TABLE && self->table_option ? self->table_option : option->name;
}

/* What follows an option, as getopt_long() has it: a value in brackets may be left out. */
int
nw_option_argument(const NwOption *option)
{
	return option->value == NULL     ? no_argument
	       : option->value[0] == '[' ? optional_argument
	                                 : required_argument;
}

/* What there is to know of an option: the values it can have, and its help; to be freed. */
char *
nw_option_text(const NwOption *option)
{
	NwBuf text = {0};

	for (int i = 0; option->word != NULL && option->word(i) != NULL; i++)
		nw_buf_printf(&text, "%s%s", i > 0 ? ", " : "", option->word(i));
	nw_buf_printf(&text, "%s", option->help);
	return text.data;
}

/* Print text that begins in a column, broken between words. */
static void
print_wrapped(const char *text, int column)
{
	int at = column;

	while (*text)
	{
		int len = (int) strcspn(text, " ");

		if (at > column && at + 1 + len > HELP_COLUMNS)
		{
			printf("\n%*s", column, "");
			at = column;
		}
		at += printf("%s%.*s", at > column ? " " : "", len, text);
		text += len;
		text += strspn(text, " ");
	}
	putchar('\n');
}

/* Print the help of a subcommand. */
static void
usage(const NwSubcommand *self)
{
	const NwOption *o;

	printf("nwhead %s: %s.\n\nUsage:\n  nwhead %s %s\n", self->name, self->purpose, self->name,
	       self->synopsis);
	for (int i = 0; (o = nw_option(self, i)) != NULL; i++)
	{
		char *text;
		char *name;

		if (o->name == NULL)
		{
			printf("\n%s:\n", o->help);
			continue;
		}
		text = nw_option_text(o);
		name = nw_printf("--%s %s", nw_option_name(self, o), o->value ? o->value : "");
		printf("  %-*s", NAME_COLUMNS, name);
		print_wrapped(text, NAME_COLUMNS + 2);
		free(name);
		free(text);
	}
}

/*
 * Take the next word as an option's value that may be left out, where it is a number, or can be
 * nothing else: getopt_long() takes only what stands behind an equals sign.
 */
static void
take_number(const NwSubcommand *self, const struct option *o, int argc, char **argv)
{
	const char *word = optind < argc ? argv[optind] : NULL;
	const char *digits = word && word[0] == '-' ? word + 1 : word;

	if (o->has_arg == optional_argument && optarg == NULL && word != NULL &&
	    ((digits[0] != 0 && strchr(".0123456789", digits[0])) ||
	     (word[0] != '-' && self->operands == NULL)))
		optarg = argv[optind++];
}

/* Make the table that getopt_long() wants; to be freed. */
static struct option *
long_options(const NwSubcommand *self)
{
	struct option *list;
	const NwOption *o;
	int n = 0;

	while (nw_option(self, n) != NULL)
		n++;
	list = nw_alloc0((size_t) (n + 1) * sizeof(struct option));
	n = 0;
	for (int i = 0; (o = nw_option(self, i)) != NULL; i++)
		if (o->name != NULL)
			list[n++] =
				(struct option) {nw_option_name(self, o), nw_option_argument(o), NULL, o->code};
	return list;
}

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

/* Read a finite number within bounds; false where a text is none. */
static bool
read_double(const char *text, double min, double max, double *into)
{
	char *end;

	errno = 0;
	*into = strtod(text, &end);
	return errno == 0 && end != text && *end == 0 && isfinite(*into) && *into >= min &&
	       *into <= max;
}

double
nw_parse_double(const char *subcommand, const char *option, const char *text, double min,
                double max)
{
	double v;

	if (!read_double(text, min, max, &v))
		nw_usage_error(subcommand, "option --%s wants a number from %g to %g, not \"%s\"", option,
		               min, max, text);
	return v;
}

/* Read numbers with commas between them; their number.  `wants` says which ones can be given. */
int
nw_parse_list(const char *subcommand, const char *option, const char *text, const char *wants,
              double *into, int max)
{
	char *copy = nw_strdup(text);
	char *rest;
	int n = 0;

	for (char *item = strtok_r(copy, ",", &rest); item; item = strtok_r(NULL, ",", &rest))
	{
		if (n == max)
			nw_usage_error(subcommand, "option --%s takes at most %d numbers", option, max);
		if (!read_double(item, -1e12, 1e12, &into[n++]))
			nw_usage_error(subcommand, "option --%s wants %s, not \"%s\"", option, wants, text);
	}
	free(copy);
	return n;
}

/* Find a value among those that an option can have; its number. */
int
nw_parse_word(const char *subcommand, const char *option, const char *text,
              const char *(*word)(int i))
{
	NwBuf known = {0};

	for (int i = 0; word(i) != NULL; i++)
		if (strcmp(text, word(i)) == 0)
			return i;
	for (int i = 0; word(i) != NULL; i++)
		nw_buf_printf(&known, "%s%s", i == 0 ? "" : word(i + 1) ? ", " : " or ", word(i));
	nw_usage_error(subcommand, "option --%s wants %s, not \"%s\"", option, known.data, text);
}

/* Take the word that follows an option's value: the second one of a pair of files. */
const char *
nw_second_value(const char *subcommand, const char *option)
{
	if (optind >= n_words || words[optind][0] == '-')
		nw_usage_error(subcommand, "option --%s takes two files: IMAGES LABELS", option);
	return words[optind++];
}

NwDevice
nw_parse_device(const char *subcommand, const char *text)
{
	return (NwDevice) nw_parse_word(subcommand, "device", text, nw_device_name);
}

/* Take an option that says where images come from; false where it is not one. */
static bool
take_dataset_option(const char *subcommand, int code, NwDatasetOptions *into)
{
	switch (code)
	{
		case NW_OPT_IMAGES:
			into->folder = optarg;
			return true;
		case NW_OPT_IDX:
			into->idx_images = optarg;
			into->idx_labels = nw_second_value(subcommand, "idx");
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

/* Read the options of a subcommand, one by one; the place of the first operand. */
int
nw_options_read(const NwSubcommand *self, int argc, char **argv, NwDatasetOptions *dataset,
                void *into)
{
	struct option *list = long_options(self);
	int code;
	int which = 0;

	n_words = argc;
	words = argv;
	opterr = 0;
	while ((code = getopt_long(argc, argv, "", list, &which)) != -1)
	{
		if (code == NW_OPT_HELP)
		{
			usage(self);
			exit(0);
		}
		if (code == '?')
			nw_usage_error(self->name, "unknown option, or one without its value: \"%s\"",
			               argv[optind - 1]);
		take_number(self, &list[which], argc, argv);
		if (!take_dataset_option(self->name, code, dataset))
			self->take(into, code);
	}
	if (optind < argc && self->operands == NULL)
		nw_usage_error(self->name, "too many arguments: \"%s\"", argv[optind]);
	free(list);
	return optind;
}

/* Check that the images' place is named once, and completely. */
void
nw_options_check_dataset(const NwSubcommand *self, NwDatasetOptions *o, bool labels_needed)
{
	const char *subcommand = self->name;
	const char *table_option = self->table_option;
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
