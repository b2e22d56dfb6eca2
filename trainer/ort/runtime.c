/*
 * ort/runtime.c: ONNX Runtime's C API, which only this file and own_ops.c know.
 */
#include <onnxruntime_c_api.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hush.h"
#include "base/memory.h"
#include "base/message.h"
#include "base/text.h"
#include "base/thread.h"
#include "graph/shape.h"
#include "ort/device.h"
#include "ort/own_ops.h"
#include "ort/runtime.h"

struct NwRuntime
{
	OrtEnv *env;
	int threads;
	char *profile;
	NwOwnOps *own_ops;
};

struct NwSession
{
	NwRuntime *rt;
	OrtSession *session;
	bool profiled;
	OrtMemoryInfo *host;
	OrtMemoryInfo *memory; /* where the device keeps its tensors */
	NwPort *port[2];       /* inputs, outputs */
	int n_ports[2];
};

struct NwBinding
{
	NwSession *s;
	OrtIoBinding *io;
};

static const OrtApi *ort;
static OrtAllocator *host_allocator;

/* End with the runtime's own words where a call failed. */
static void
check(OrtStatus *status, const char *what)
{
	if (status != NULL)
		nw_fatal("%s: %s", what, ort->GetErrorMessage(status));
}

/* Pass the runtime's messages on as the program's own. */
static void ORT_API_CALL
log_message(void *param, OrtLoggingLevel severity, const char *category, const char *id,
            const char *where, const char *text)
{
	(void) param;
	(void) severity;
	(void) category;
	(void) id;
	(void) where;
	if (getenv("NWHEAD_DEBUG") != NULL)
		fprintf(stderr, "nwhead: onnxruntime: %s\n", text);
}

/*
 * Start the runtime; threads 0 means one for each core.  From version 1.29 on it notes in the
 * home folder, and sends to its makers, what machine this is, unless its environment forbids it
 * before it starts.
 */
NwRuntime *
nw_runtime_open(int threads, const char *profile)
{
	NwRuntime *rt = nw_alloc0(sizeof(NwRuntime));

	setenv("ORT_DISABLE_TELEMETRY", "1", 1);
	nw_hush();
	ort = OrtGetApiBase()->GetApi(ORT_API_VERSION);
	if (ort == NULL)
		nw_fatal("ONNX Runtime %s is too old: version 1.%d or later is needed",
		         OrtGetApiBase()->GetVersionString(), ORT_API_VERSION);
	check(ort->CreateEnvWithCustomLogger(log_message, NULL, ORT_LOGGING_LEVEL_ERROR, "nwhead",
	                                     &rt->env),
	      "could not start ONNX Runtime");
	nw_unhush();
	check(ort->DisableTelemetryEvents(rt->env), "ONNX Runtime");
	check(ort->GetAllocatorWithDefaultOptions(&host_allocator), "ONNX Runtime");
	rt->threads = threads > 0 ? threads : (int) sysconf(_SC_NPROCESSORS_ONLN);
	rt->profile = profile ? nw_strdup(profile) : NULL;
	rt->own_ops = nw_own_ops_new(ort, rt->threads);
	return rt;
}

void
nw_runtime_close(NwRuntime *rt)
{
	ort->ReleaseEnv(rt->env);
	nw_own_ops_free(rt->own_ops);
	free(rt->profile);
	free(rt);
}

int
nw_runtime_threads(const NwRuntime *rt)
{
	return rt->threads;
}

const char *
nw_runtime_version(void)
{
	return OrtGetApiBase()->GetVersionString();
}

/* Make a session's options; an error is the caller's to tell. */
static OrtStatus *
session_options(NwRuntime *rt, NwDevice device, int runs, OrtSessionOptions **out)
{
	OrtStatus *status = ort->CreateSessionOptions(out);

	if (status == NULL)
		status = ort->SetIntraOpNumThreads(*out, rt->threads - runs + 1);
	if (status == NULL)
		status = ort->SetSessionExecutionMode(*out, ORT_SEQUENTIAL);
	if (status == NULL) /* idle threads sleep: the decoder and the server need the cores */
		status = ort->AddSessionConfigEntry(*out, "session.intra_op.allow_spinning", "0");
	if (status == NULL &&
	    device == NW_DEVICE_CPU) /* a plan of all tensors would keep its own memory for them */
		status = ort->DisableMemPattern(*out);
	if (status == NULL && device == NW_DEVICE_CPU)
		status = nw_own_ops_register(rt->own_ops, *out);
	if (status == NULL && device == NW_DEVICE_WEBGPU)
	{
		const char *keys[] = {"dawnBackendType"};
		const char *values[] = {"Vulkan"};

		status = ort->SessionOptionsAppendExecutionProvider(*out, "WebGPU", keys, values, 1);
	}
	if (status == NULL && device == NW_DEVICE_CUDA)
	{
		OrtCUDAProviderOptionsV2 *cuda;

		status = ort->CreateCUDAProviderOptions(&cuda);
		if (status == NULL)
		{
			status = ort->SessionOptionsAppendExecutionProvider_CUDA_V2(*out, cuda);
			ort->ReleaseCUDAProviderOptions(cuda);
		}
	}
	return status;
}

/*
 * Create a session with all signals blocked: the runtime's threads shall not take them.
 * Debian's runtime registers hundreds of operators twice for the first one, and complains
 * of each on stderr.
 */
static OrtStatus *
create_session(NwRuntime *rt, const OrtSessionOptions *options, const NwBuf *model,
               OrtSession **out)
{
	sigset_t old;
	OrtStatus *status;

	nw_signals_block(&old);
	nw_hush();
	status = ort->CreateSessionFromArray(rt->env, model->data, model->len, options, out);
	nw_unhush();
	nw_signals_restore(&old);
	return status;
}

/* Read the names, types and shapes of a session's inputs or outputs. */
static void
read_ports(NwSession *s, int output)
{
	size_t n;

	check(output ? ort->SessionGetOutputCount(s->session, &n)
	             : ort->SessionGetInputCount(s->session, &n),
	      "model");
	s->port[output] = nw_alloc0(n * sizeof(NwPort));
	s->n_ports[output] = (int) n;
	for (size_t i = 0; i < n; i++)
	{
		NwPort *p = &s->port[output][i];
		OrtTypeInfo *info;
		const OrtTensorTypeAndShapeInfo *tensor;
		ONNXTensorElementDataType type;
		size_t rank;
		char *name;

		check(output ? ort->SessionGetOutputName(s->session, i, host_allocator, &name)
		             : ort->SessionGetInputName(s->session, i, host_allocator, &name),
		      "model");
		p->name = nw_strdup(name);
		check(ort->AllocatorFree(host_allocator, name), "model");
		check(output ? ort->SessionGetOutputTypeInfo(s->session, i, &info)
		             : ort->SessionGetInputTypeInfo(s->session, i, &info),
		      "model");
		check(ort->CastTypeInfoToTensorInfo(info, &tensor), "model");
		if (tensor != NULL)
		{
			check(ort->GetTensorElementType(tensor, &type), "model");
			check(ort->GetDimensionsCount(tensor, &rank), "model");
			p->type = (int) type;
			p->shape.rank = rank > NW_MAX_RANK ? NW_MAX_RANK : (int) rank;
			check(ort->GetDimensions(tensor, p->shape.dim, (size_t) p->shape.rank), "model");
		}
		ort->ReleaseTypeInfo(info);
	}
}

/* Take an error's own words: no source position before them, no line break after. */
static char *
reason(OrtStatus *status)
{
	const char *text = ort->GetErrorMessage(status);
	const char *start = strstr(text, " was false. ");
	char *copy = nw_strdup(start ? start + strlen(" was false. ") : text);

	nw_trim_end(copy, "\n ");
	ort->ReleaseStatus(status);
	return copy;
}

/* Open a session; why not (to be freed), else NULL. */
static char *
try_session(NwRuntime *rt, NwDevice device, int runs, bool profiled, const NwBuf *model,
            NwSession **out)
{
	NwSession *s = nw_alloc0(sizeof(NwSession));
	OrtSessionOptions *options = NULL;
	OrtStatus *status = session_options(rt, device, runs, &options);

	if (status == NULL && profiled)
		status = ort->EnableProfiling(options, rt->profile);
	if (status == NULL)
		status = create_session(rt, options, model, &s->session);
	if (options != NULL)
		ort->ReleaseSessionOptions(options);
	if (status != NULL)
	{
		free(s);
		return reason(status);
	}
	s->rt = rt;
	s->profiled = profiled;
	check(ort->CreateMemoryInfo("Cpu", OrtArenaAllocator, 0, OrtMemTypeDefault, &s->host),
	      "ONNX Runtime");
	if (device == NW_DEVICE_CPU)
		s->memory = s->host;
	else
		check(ort->CreateMemoryInfo(device == NW_DEVICE_CUDA ? "Cuda" : "WebGPU_Buf",
		                            OrtDeviceAllocator, 0, OrtMemTypeDefault, &s->memory),
		      "ONNX Runtime");
	read_ports(s, 0);
	read_ports(s, 1);
	*out = s;
	return NULL;
}

/*
 * Open a session over the bytes of a model; `what` names it in messages.  So many runs
 * at a time, each on a thread of its caller, share the runtime's threads.  A profile of
 * them is written where it is asked for, of the runtime and here.
 */
NwSession *
nw_session_open(NwRuntime *rt, NwDevice device, int runs, bool profiled, const NwBuf *model,
                const char *what)
{
	NwSession *s;
	char *why = try_session(rt, device, runs, profiled && rt->profile != NULL, model, &s);

	if (why != NULL)
		nw_fatal("could not load %s on device \"%s\": %s", what, nw_device_name(device), why);
	return s;
}

/* Say whether the library was built with a device's provider. */
static bool
provider_built_in(NwDevice device)
{
	const char *name =
		device == NW_DEVICE_CUDA ? "CUDAExecutionProvider" : "WebGpuExecutionProvider";
	char **list;
	int n;
	bool found = device == NW_DEVICE_CPU;

	check(ort->GetAvailableProviders(&list, &n), "ONNX Runtime");
	for (int i = 0; i < n; i++)
		found |= strcmp(list[i], name) == 0;
	check(ort->ReleaseAvailableProviders(list, n), "ONNX Runtime");
	return found;
}

/* Open a session to see whether a device works; why it does not (to be freed), else NULL. */
char *
nw_session_try(NwRuntime *rt, NwDevice device, const NwBuf *model, NwSession **out)
{
	if (!provider_built_in(device))
		return nw_printf("this ONNX Runtime (%s) was built without it", nw_runtime_version());
	return try_session(rt, device, 1, false, model, out);
}

void
nw_session_close(NwSession *s)
{
	if (s->profiled)
	{
		char *path;

		check(ort->SessionEndProfiling(s->session, host_allocator, &path), "profile");
		nw_info("profile written to \"%s\"", path);
		check(ort->AllocatorFree(host_allocator, path), "profile");
	}
	ort->ReleaseSession(s->session);
	if (s->memory != s->host)
		ort->ReleaseMemoryInfo(s->memory);
	ort->ReleaseMemoryInfo(s->host);
	for (int k = 0; k < 2; k++)
	{
		for (int i = 0; i < s->n_ports[k]; i++)
			free(s->port[k][i].name);
		free(s->port[k]);
	}
	free(s);
}

NwRuntime *
nw_session_runtime(const NwSession *s)
{
	return s->rt;
}

/* List the inputs or outputs of a session. */
int
nw_session_ports(const NwSession *s, bool output, const NwPort **ports)
{
	*ports = s->port[output];
	return s->n_ports[output];
}

/* Make a tensor of zeros in the memory of the host. */
NwValue *
nw_value_new(NwShape shape)
{
	NwValue *v;

	check(ort->CreateTensorAsOrtValue(host_allocator, shape.dim, (size_t) shape.rank,
	                                  ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &v),
	      "tensor");
	memset(nw_value_floats(v), 0, (size_t) nw_shape_size(&shape) * sizeof(float));
	return v;
}

/* Make a tensor over memory that the caller keeps. */
NwValue *
nw_value_over(NwShape shape, float *data)
{
	OrtMemoryInfo *host;
	NwValue *v;

	check(ort->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &host), "tensor");
	check(ort->CreateTensorWithDataAsOrtValue(
			  host, data, (size_t) nw_shape_size(&shape) * sizeof(float), shape.dim,
			  (size_t) shape.rank, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &v),
	      "tensor");
	ort->ReleaseMemoryInfo(host);
	return v;
}

float *
nw_value_floats(NwValue *v)
{
	void *data;

	check(ort->GetTensorMutableData(v, &data), "tensor");
	return data;
}

NwShape
nw_value_shape(const NwValue *v)
{
	OrtTensorTypeAndShapeInfo *info;
	NwShape s = {0};
	size_t rank;

	check(ort->GetTensorTypeAndShape(v, &info), "tensor");
	check(ort->GetDimensionsCount(info, &rank), "tensor");
	s.rank = rank > NW_MAX_RANK ? NW_MAX_RANK : (int) rank;
	check(ort->GetDimensions(info, s.dim, (size_t) s.rank), "tensor");
	ort->ReleaseTensorTypeAndShapeInfo(info);
	return s;
}

void
nw_value_free(NwValue *v)
{
	ort->ReleaseValue(v);
}

/* Start a binding of tensors to a session's inputs and outputs. */
NwBinding *
nw_binding_new(NwSession *s)
{
	NwBinding *b = nw_alloc0(sizeof(NwBinding));

	b->s = s;
	check(ort->CreateIoBinding(s->session, &b->io), "binding");
	return b;
}

void
nw_binding_free(NwBinding *b)
{
	ort->ReleaseIoBinding(b->io);
	free(b);
}

/* Bind an input; a device takes its copy at once. */
void
nw_bind_input(NwBinding *b, const char *name, NwValue *v)
{
	check(ort->BindInput(b->io, name, v), name);
}

/* Bind an output to a tensor that is there already. */
void
nw_bind_output(NwBinding *b, const char *name, NwValue *v)
{
	check(ort->BindOutput(b->io, name, v), name);
}

/* Bind an output to a tensor that each run makes anew. */
void
nw_bind_output_fresh(NwBinding *b, const char *name, bool on_host)
{
	check(ort->BindOutputToDevice(b->io, name, on_host ? b->s->host : b->s->memory), name);
}

void
nw_binding_run(NwBinding *b)
{
	check(ort->RunWithBinding(b->s->session, NULL, b->io), "model run");
}

/* Run the session; why that failed (to be freed), else NULL. */
char *
nw_binding_try_run(NwBinding *b)
{
	OrtStatus *status = ort->RunWithBinding(b->s->session, NULL, b->io);

	return status != NULL ? reason(status) : NULL;
}

/* Take the outputs of the last run, in the order they were bound, the caller's to free. */
int
nw_binding_outputs(NwBinding *b, NwValue ***values)
{
	OrtValue **got;
	size_t n;

	check(ort->GetBoundOutputValues(b->io, host_allocator, &got, &n), "binding");
	*values = nw_alloc(n * sizeof(NwValue *));
	memcpy(*values, got, n * sizeof(NwValue *));
	check(ort->AllocatorFree(host_allocator, got), "binding");
	return (int) n;
}

/*
 * Have the runtime fold a model's constant parts (chains of Shape, Gather, Concat)
 * and give the result back as bytes.  Batch normalisation stays as it is.
 */
void
nw_fold_constants(NwRuntime *rt, const NwBuf *model, const char *what, NwBuf *out)
{
	const char *folder = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
	char *path = nw_printf("%s/nwhead-XXXXXX", folder);
	int fd = mkstemp(path);
	OrtSessionOptions *options;
	OrtSession *session;
	OrtStatus *status;

	if (fd < 0)
		nw_fatal("could not create a file in \"%s\"", folder);
	close(fd);
	check(session_options(rt, NW_DEVICE_CPU, 1, &options), what);
	check(ort->SetSessionGraphOptimizationLevel(options, ORT_ENABLE_BASIC), what);
	check(ort->SetOptimizedModelFilePath(options, path), what);
	check(ort->AddSessionConfigEntry(
			  options, "optimization.disable_specified_optimizers",
			  "ConvBNFusion;ConvMulFusion;ConvAddFusion;MatmulBNFusion;ReluClip"),
	      what);
	status = create_session(rt, options, model, &session);
	if (status != NULL)
	{
		unlink(path);
		nw_fatal("could not load \"%s\": %s", what, ort->GetErrorMessage(status));
	}
	ort->ReleaseSession(session);
	ort->ReleaseSessionOptions(options);
	nw_read_file(path, out);
	unlink(path);
	free(path);
}
