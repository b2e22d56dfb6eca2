/*
 * graph/onnx_write.h: graphs and states as the bytes of ONNX files.
 */
#ifndef NW_ONNX_WRITE_H
#define NW_ONNX_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/meta.h"
#include "graph/shape.h"
#include "graph/states.h"
#include "onnx.pb-c.h"

void nw_graph_pack(const NwGraph *g, const NwMetas *meta, bool any_batch, NwBuf *out);
void nw_states_pack(const NwStates *s, const NwMetas *meta, NwBuf *out);
void nw_model_pack(const Onnx__ModelProto *m, NwBuf *out);
Onnx__ValueInfoProto *nw_value_info(NwPool *p, const char *name, NwDtype type, size_t rank,
                                    const int64_t *dim, bool any_batch);

#endif
