/*
 * run/train.h: a training run.
 */
#ifndef NW_TRAIN_H
#define NW_TRAIN_H

#include "run/train_settings.h"

int nw_train(NwTrainSettings *o);

#endif
