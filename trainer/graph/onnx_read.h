/*
 * graph/onnx_read.h: what the bytes of an ONNX file hold.
 */
#ifndef NW_ONNX_READ_H
#define NW_ONNX_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "graph/meta.h"
#include "graph/shape.h"
#include "graph/states.h"
#include "onnx.pb-c.h"

Onnx__ModelProto *nw_model_try_parse(const NwBuf *bytes);
Onnx__ModelProto *nw_model_parse(const char *path, const NwBuf *bytes);
void nw_model_metas(const Onnx__ModelProto *m, NwMetas *into);
const Onnx__TensorProto *nw_model_initializer(const Onnx__ModelProto *m, const char *name);
bool nw_model_computes(const Onnx__ModelProto *m, const char *name);
float *nw_tensor_floats(const Onnx__TensorProto *t, const char *path, NwShape *shape);
int64_t *nw_tensor_ints(const Onnx__TensorProto *t, const char *path, NwShape *shape);
void nw_states_unpack(const Onnx__ModelProto *m, const char *path, NwStates *into);

#endif
