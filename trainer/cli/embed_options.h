/*
 * cli/embed_options.h: the command line of "nwhead embed".
 */
#ifndef NW_EMBED_OPTIONS_H
#define NW_EMBED_OPTIONS_H

#include "cli/options.h"
#include "run/embed.h"

extern const NwSubcommand nw_embed_command;

void nw_embed_options(int argc, char **argv, NwEmbedSettings *o);

#endif
