/*
 * run/checkpoint.h: a run's states and settings in a file, to go on from.
 */
#ifndef NW_CHECKPOINT_H
#define NW_CHECKPOINT_H

#include <stdint.h>

#include "graph/meta.h"
#include "graph/states.h"
#include "run/best.h"

bool nw_checkpoint_is(const char *path);
bool nw_checkpoint_fits(const NwStates *states, const NwStates *best);
char *nw_checkpoint_save(const char *path, const NwStates *states, const NwBest *best,
                         const NwMetas *settings, int64_t step);
int64_t nw_checkpoint_load(const char *path, NwStates *states, NwBest *best, NwMetas *settings);

#endif
