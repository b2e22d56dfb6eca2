/*
 * cli/options.h: what the subcommands' command lines have in common.
 */
#ifndef NW_OPTIONS_H
#define NW_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/dataset.h"
#include "ort/device.h"

/* codes of long options, past any character */
enum
{
	NW_OPT_IMAGES = 1000,
	NW_OPT_IDX,
	NW_OPT_TABLE,
	NW_OPT_IMAGE,
	NW_OPT_LABEL,
	NW_OPT_ID,
	NW_OPT_DSN,
	NW_OPT_CLASS_NAMES,
	NW_OPT_PER_CLASS,
	NW_OPT_SUBSET_SEED,
	NW_OPT_HELP,
	NW_OPT_OWN /* a subcommand's own start here */
};

/* what every subcommand takes; --table is not among it, since its meaning differs */
#define NW_SHARED_OPTIONS                                                                         \
	{"images", required_argument, NULL, NW_OPT_IMAGES},                                           \
		{"idx", required_argument, NULL, NW_OPT_IDX},                                             \
		{"image", required_argument, NULL, NW_OPT_IMAGE},                                         \
		{"label", required_argument, NULL, NW_OPT_LABEL},                                         \
		{"id", required_argument, NULL, NW_OPT_ID}, {"dsn", required_argument, NULL, NW_OPT_DSN}, \
		{"class-names", required_argument, NULL, NW_OPT_CLASS_NAMES},                             \
		{"per-class", required_argument, NULL, NW_OPT_PER_CLASS},                                 \
		{"subset-seed", required_argument, NULL, NW_OPT_SUBSET_SEED},                             \
	{                                                                                             \
		"help", no_argument, NULL, NW_OPT_HELP                                                    \
	}

/* a subcommand as its command line knows it */
typedef struct NwSubcommand
{
	const char *name;
	const struct option *options;
	void (*usage)(void);
	void (*take)(void *into, int code); /* an option of its own */
} NwSubcommand;

void nw_options_read(const NwSubcommand *self, int argc, char **argv, NwDatasetOptions *dataset,
                     void *into);
void nw_options_check_dataset(const char *subcommand, NwDatasetOptions *o, const char *table_option,
                              bool labels_needed);
void nw_options_dataset_usage(const char *table_option);

int64_t nw_parse_int(const char *subcommand, const char *option, const char *text, int64_t min,
                     int64_t max);
double nw_parse_double(const char *subcommand, const char *option, const char *text, double min,
                       double max);
int nw_parse_list(const char *subcommand, const char *option, const char *text, double *into,
                  int max);
NwDevice nw_parse_device(const char *subcommand, const char *text);

#endif
