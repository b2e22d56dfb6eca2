/*
 * ort/runtime.h: models on a device, by ONNX Runtime.
 */
#ifndef NW_RUNTIME_H
#define NW_RUNTIME_H

#include <stdbool.h>

#include "base/text.h"
#include "graph/shape.h"
#include "ort/device.h"

typedef struct NwRuntime NwRuntime;
typedef struct NwSession NwSession; /* a loaded model */
typedef struct NwBinding NwBinding; /* which tensors it reads and writes */
typedef struct OrtValue NwValue;    /* a tensor */

/* an input or output of a loaded model */
typedef struct NwPort
{
	char *name;
	int type;      /* ONNX's number */
	NwShape shape; /* -1 for an open dimension */
} NwPort;

NwRuntime *nw_runtime_open(int threads, const char *profile);
void nw_runtime_close(NwRuntime *rt);
int nw_runtime_threads(const NwRuntime *rt);
const char *nw_runtime_version(void);
void nw_fold_constants(NwRuntime *rt, const NwBuf *model, const char *what, NwBuf *out);

NwSession *nw_session_open(NwRuntime *rt, NwDevice device, int runs, bool profiled,
                           const NwBuf *model, const char *what);
char *nw_session_try(NwRuntime *rt, NwDevice device, const NwBuf *model, NwSession **out);
void nw_session_close(NwSession *s);
NwRuntime *nw_session_runtime(const NwSession *s);
int nw_session_ports(const NwSession *s, bool output, const NwPort **ports);

NwValue *nw_value_new(NwShape shape);
NwValue *nw_value_over(NwShape shape, float *data);
float *nw_value_floats(NwValue *v);
NwShape nw_value_shape(const NwValue *v);
void nw_value_free(NwValue *v);

NwBinding *nw_binding_new(NwSession *s);
void nw_binding_free(NwBinding *b);
void nw_bind_input(NwBinding *b, const char *name, NwValue *v);
void nw_bind_output(NwBinding *b, const char *name, NwValue *v);
void nw_bind_output_fresh(NwBinding *b, const char *name, bool on_host);
void nw_binding_run(NwBinding *b);
char *nw_binding_try_run(NwBinding *b);
int nw_binding_outputs(NwBinding *b, NwValue ***values);

#endif
