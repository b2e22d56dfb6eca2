/*
 * graph/model.h: ONNX files: writing graphs and states, reading models and metadata.
 */
#ifndef NW_MODEL_H
#define NW_MODEL_H

#include "graph/graph.h"
#include "onnx.pb-c.h"

/* a model's metadata: text under names */
typedef struct NwMeta
{
	char *key;
	char *value;
} NwMeta;

typedef struct NwMetas
{
	NwMeta *item;
	int n;
	int cap;
} NwMetas;

void nw_meta_set(NwMetas *m, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
const char *nw_meta_get(const NwMetas *m, const char *key);
void nw_metas_free(NwMetas *m);

void nw_graph_pack(const NwGraph *g, const NwMetas *meta, bool any_batch, NwBuf *out);
void nw_states_pack(const NwStates *s, const NwMetas *meta, NwBuf *out);
void nw_states_unpack(const Onnx__ModelProto *m, const char *path, NwStates *into);

Onnx__ModelProto *nw_model_parse(const char *path, const NwBuf *bytes);
void nw_model_metas(const Onnx__ModelProto *m, NwMetas *into);
const Onnx__TensorProto *nw_model_initializer(const Onnx__ModelProto *m, const char *name);
float *nw_tensor_floats(const Onnx__TensorProto *t, const char *path, NwShape *shape);
int64_t *nw_tensor_ints(const Onnx__TensorProto *t, const char *path, NwShape *shape);

#endif
