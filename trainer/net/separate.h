/*
 * net/separate.h: a weight of its own for each use of a value that an ONNX file holds once.
 */
#ifndef NW_SEPARATE_H
#define NW_SEPARATE_H

#include <stdbool.h>

#include "onnx.pb-c.h"

int nw_separate_weights(Onnx__ModelProto *m, const char *path, bool freeze_norm);

#endif
