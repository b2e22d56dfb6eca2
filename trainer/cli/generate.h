/*
 * cli/generate.h: the manual page and the completions of shells, out of the options.
 */
#ifndef NW_GENERATE_H
#define NW_GENERATE_H

#include <stdbool.h>

#include "cli/options.h"

bool nw_generate(const char *what, const char *version, const NwSubcommand *const *commands);

#endif
