/*
 * ort/runtime.h: the program's view of ONNX Runtime.  Only ort.c and ort_ops.c know its API.
 */
#ifndef NW_RUNTIME_H
#define NW_RUNTIME_H

#include "graph/graph.h"

typedef enum NwDevice
{
	NW_DEVICE_AUTO,
	NW_DEVICE_CPU,
	NW_DEVICE_WEBGPU,
	NW_DEVICE_CUDA
} NwDevice;

typedef struct NwRuntime NwRuntime;
typedef struct NwSession NwSession;
typedef struct NwBinding NwBinding;
typedef struct OrtValue NwValue;

/* an input or output of a loaded model; -1 for an open dimension */
typedef struct NwPort
{
	char *name;
	int type; /* ONNX's number */
	NwShape shape;
} NwPort;

NwRuntime *nw_runtime_open(int threads, const char *profile);
void nw_runtime_close(NwRuntime *rt);
int nw_runtime_threads(const NwRuntime *rt);
const char *nw_runtime_version(void);

bool nw_device_parse(const char *text, NwDevice *device);
const char *nw_device_name(NwDevice device);
NwDevice nw_device_choose(NwRuntime *rt, NwDevice wanted);

NwSession *nw_session_open(NwRuntime *rt, NwDevice device, int runs, const void *model, size_t len,
                           const char *what);
void nw_session_close(NwSession *s);
NwRuntime *nw_session_runtime(const NwSession *s);
int nw_session_ports(const NwSession *s, bool output, const NwPort **ports);

NwValue *nw_value_new(NwShape shape); /* floats, zero at first, in the host's memory */
NwValue *nw_value_over(NwShape shape, float *data); /* over the caller's memory */
float *nw_value_floats(NwValue *v);
NwShape nw_value_shape(const NwValue *v);
void nw_value_free(NwValue *v);

NwBinding *nw_binding_new(NwSession *s);
void nw_binding_free(NwBinding *b);
void nw_bind_input(NwBinding *b, const char *name, NwValue *v);
void nw_bind_output(NwBinding *b, const char *name, NwValue *v);
void nw_bind_output_fresh(NwBinding *b, const char *name, bool on_host);
void nw_binding_run(NwBinding *b);
int nw_binding_outputs(NwBinding *b, NwValue ***values); /* in the order they were bound */

void nw_fold_constants(NwRuntime *rt, const void *model, size_t len, const char *what, NwBuf *out);

#endif
