/*
 * cli/watch_options.h: the command line of "nwhead watch".
 */
#ifndef NW_WATCH_OPTIONS_H
#define NW_WATCH_OPTIONS_H

#include "cli/options.h"
#include "run/watch.h"

extern const NwSubcommand nw_watch_command;

void nw_watch_options(int argc, char **argv, NwWatchSettings *o);

#endif
