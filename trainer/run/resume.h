/*
 * run/resume.h: whether a run can go on from a checkpoint.
 */
#ifndef NW_RESUME_H
#define NW_RESUME_H

#include <stdbool.h>
#include <stdint.h>

#include "data/dataset.h"
#include "graph/meta.h"
#include "run/train_settings.h"

void nw_resume_check(const NwTrainSettings *asked, const NwTrainSettings *o, const NwDataset *d,
                     const NwDataset *held, int64_t step, const NwMetas *was, NwMetas *settings);

#endif
