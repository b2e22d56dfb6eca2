/*
 * cli/options.h: what the subcommands' command lines have in common.
 */
#ifndef NW_OPTIONS_H
#define NW_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

#include "data/dataset.h"
#include "ort/device.h"

/* codes of options, past any character */
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
	NW_OPT_OWN,         /* a subcommand's own start here */
	NW_OPT_MODEL = 2000 /* those of a model here */
};

/* an option, as it is read, shown by --help and the manual page, and completed by shells */
typedef struct NwOption
{
	const char *name;           /* NULL: no option, but the heading over those that follow */
	int code;                   /* what it is known by once it is read */
	const char *value;          /* what its value is called; FILE and DIR are completed as such;
	                             * in brackets: a number that may be left out */
	const char *help;           /* what it does, its default in brackets; or the heading */
	const char *(*word)(int i); /* the values it can have, up to NULL; they precede `help` */
} NwOption;

/* a subcommand as its command line knows it */
typedef struct NwSubcommand
{
	const char *name;
	const char *purpose;
	const char *synopsis;
	const char *table_option; /* for a table of images; NULL: no source of images at all */
	const char *operands;     /* what follows the options is called; NULL: nothing may */
	const NwOption *options;  /* its own, up to one without `help` */
	const NwOption *more;     /* further ones that it shares, likewise; or NULL */
	void (*take)(void *into, int code); /* an option of its own */
} NwSubcommand;

const NwOption *nw_option(const NwSubcommand *self, int i);
const char *nw_option_name(const NwSubcommand *self, const NwOption *option);
int nw_option_argument(const NwOption *option);
char *nw_option_text(const NwOption *option);

int nw_options_read(const NwSubcommand *self, int argc, char **argv, NwDatasetOptions *dataset,
                    void *into);
void nw_options_check_dataset(const NwSubcommand *self, NwDatasetOptions *o, bool labels_needed);

int64_t nw_parse_int(const char *subcommand, const char *option, const char *text, int64_t min,
                     int64_t max);
double nw_parse_double(const char *subcommand, const char *option, const char *text, double min,
                       double max);
int nw_parse_list(const char *subcommand, const char *option, const char *text, const char *wants,
                  double *into, int max);
int nw_parse_word(const char *subcommand, const char *option, const char *text,
                  const char *(*word)(int i));
const char *nw_second_value(const char *subcommand, const char *option);
NwDevice nw_parse_device(const char *subcommand, const char *text);

#endif
