/*
 * data/table.h: images in a bytea column of a table.
 */
#ifndef NW_TABLE_H
#define NW_TABLE_H

#include "data/dataset.h"

NwDataset *nw_table_open(const NwDatasetOptions *options);

#endif
