/*
 * data/known.h: images whose ids a table has already.
 */
#ifndef NW_KNOWN_H
#define NW_KNOWN_H

#include "data/dataset.h"

void nw_known_leave_out(NwDataset *d, const NwDatasetOptions *options);

#endif
