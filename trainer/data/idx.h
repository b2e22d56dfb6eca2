/*
 * data/idx.h: images and labels in the MNIST format, plain or compressed.
 */
#ifndef NW_IDX_H
#define NW_IDX_H

#include "data/dataset.h"

NwDataset *nw_idx_open(const NwDatasetOptions *options);

#endif
