/*
 * cli/model_options.h: how a model is run, for all subcommands that run one.
 */
#ifndef NW_MODEL_OPTIONS_H
#define NW_MODEL_OPTIONS_H

#include <stdbool.h>

#include "cli/options.h"
#include "run/embedder.h"

#define NW_DEFAULT_BATCH 64 /* as the help says */

extern const NwOption nw_model_options[];

void nw_model_option(const char *who, int code, NwEmbedderOptions *o, bool *quiet);

#endif
