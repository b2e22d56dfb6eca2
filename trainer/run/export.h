/*
 * run/export.h: a trained model as one ONNX file with all that is needed to use it.
 */
#ifndef NW_EXPORT_H
#define NW_EXPORT_H

#include <stdint.h>

#include "base/text.h"
#include "data/dataset.h"
#include "data/image.h"
#include "graph/meta.h"
#include "graph/states.h"
#include "net/model.h"

char *nw_export(const char *path, const NwModelSpec *spec, NwStates *states,
                const NwPreprocess *pre, const NwDataset *dataset, const NwMetas *settings);
void nw_export_bytes(const NwModelSpec *spec, NwStates *states, int64_t batch, NwBuf *out);
void nw_export_states(const NwModelSpec *spec, NwStates *states, NwStates *into);

#endif
