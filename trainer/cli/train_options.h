/*
 * cli/train_options.h: the command line of "nwhead train".
 */
#ifndef NW_TRAIN_OPTIONS_H
#define NW_TRAIN_OPTIONS_H

#include "cli/options.h"
#include "run/train_settings.h"

extern const NwSubcommand nw_train_command;

void nw_train_options(int argc, char **argv, NwTrainSettings *o);

#endif
