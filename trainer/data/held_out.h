/*
 * data/held_out.h: images that are held out from training, and samples of those that are not.
 */
#ifndef NW_HELD_OUT_H
#define NW_HELD_OUT_H

#include <stdint.h>

#include "data/dataset.h"

NwDataset *nw_held_out_open(const NwDatasetOptions *options, const NwDataset *training);
NwDataset *nw_held_out_split(NwDataset *training, double share, uint64_t seed);
int64_t *nw_stratified_sample(const NwDataset *d, int64_t most, int64_t *n);

#endif
