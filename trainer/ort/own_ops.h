/*
 * ort/own_ops.h: the program's own operators, for ort.c to register.
 */
#ifndef NW_OWN_OPS_H
#define NW_OWN_OPS_H

#include <onnxruntime_c_api.h>

typedef struct NwOwnOps NwOwnOps;

NwOwnOps *nw_own_ops_new(const OrtApi *api, int threads);
void nw_own_ops_free(NwOwnOps *ops);
OrtStatus *nw_own_ops_register(NwOwnOps *ops, OrtSessionOptions *options);

#endif
