/*
 * net/backbone.h: a network loaded from an ONNX file, to be trained further.
 */
#ifndef NW_BACKBONE_H
#define NW_BACKBONE_H

#include <stdbool.h>

#include "graph/graph.h"
#include "ort/runtime.h"

typedef struct NwBackbone NwBackbone;

NwBackbone *nw_backbone_load(NwRuntime *rt, const char *path, const char *output, bool freeze_norm);
void nw_backbone_free(NwBackbone *b);
void nw_backbone_input(const NwBackbone *b, int *channels, int *height, int *width);
int nw_backbone_separated(const NwBackbone *b);
uint64_t nw_backbone_hash(const NwBackbone *b);
NwT nw_backbone_features(NwGraph *g, NwBackbone *b, NwT images); /* [N,C,H,W] -> [N,F] */

#endif
