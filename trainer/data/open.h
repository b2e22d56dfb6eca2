/*
 * data/open.h: the dataset that the command line names.
 */
#ifndef NW_OPEN_H
#define NW_OPEN_H

#include <stdbool.h>

#include "data/dataset.h"

NwDataset *nw_dataset_open(const NwDatasetOptions *options, bool training);

#endif
