/*
 * cli/classify_options.h: the command line of "nwhead classify".
 */
#ifndef NW_CLASSIFY_OPTIONS_H
#define NW_CLASSIFY_OPTIONS_H

#include "cli/options.h"
#include "run/classify.h"

extern const NwSubcommand nw_classify_command;

void nw_classify_options(int argc, char **argv, NwClassifySettings *o);

#endif
