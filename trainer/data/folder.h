/*
 * data/folder.h: images in a folder, one subfolder for each class.
 */
#ifndef NW_FOLDER_H
#define NW_FOLDER_H

#include "data/dataset.h"

NwDataset *nw_folder_open(const NwDatasetOptions *options);

#endif
