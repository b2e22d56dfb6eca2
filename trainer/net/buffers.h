/*
 * net/buffers.h: values of an ONNX file that no network has learned.
 */
#ifndef NW_BUFFERS_H
#define NW_BUFFERS_H

#include "onnx.pb-c.h"

void nw_fix_buffers(Onnx__ModelProto *m, const char *path);

#endif
