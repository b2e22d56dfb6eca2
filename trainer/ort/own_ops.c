/*
 * ort/own_ops.c: the program's own operators, as ONNX Runtime wants them described.
 *
 * They are for training on the CPU only, where standard operators would take
 * several passes or lay out the same data again and again.  The work itself is done
 * by math/conv.c and math/fused.c, on the session's threads.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "base/message.h"
#include "graph/graph.h"
#include "graph/shape.h"
#include "math/conv.h"
#include "math/fused.h"
#include "math/gemm.h"
#include "math/team.h"
#include "math/window.h"
#include "ort/own_ops.h"

#define MAX_PORTS 7

typedef struct Call Call;

/* what an operator is; its inputs and outputs are floats */
typedef struct OpKind
{
	const char *name;
	int inputs;
	int optional; /* so many of the last */
	int outputs;
	bool in_place; /* output 0 may lie over input 1 */
	void (*compute)(Call *call);
} OpKind;

typedef struct OwnOp
{
	OrtCustomOp base; /* first, so that one is the other */
	const OpKind *kind;
	NwOwnOps *all;
} OwnOp;

/* a node's operator and attributes */
typedef struct Kernel
{
	const OwnOp *op;
	NwWindow window;
	int64_t size[2];
	float epsilon;
	float momentum;
	float decay;
	int64_t nesterov;
	float beta[2];
	float fresh[2]; /* 1 - beta */
	float limit;
} Kernel;

/* one run of a node */
struct Call
{
	const OrtApi *api;
	const Kernel *kernel;
	OrtKernelContext *context;
	OrtStatus *status; /* the first error */
	NwTeam team;
	const float *in[MAX_PORTS]; /* NULL where absent */
	NwShape shape[MAX_PORTS];
};

/* Remember a call's first error. */
static void
note(Call *call, OrtStatus *status)
{
	if (call->status == NULL)
		call->status = status;
	else if (status != NULL)
		call->api->ReleaseStatus(status);
}

/* Share work over the session's threads. */
static void
run_on_session(void *state, void (*fn)(void *arg, size_t i), size_t n, void *arg)
{
	Call *call = state;

	note(call, call->api->KernelContext_ParallelFor(call->context, fn, n, 0, arg));
}

/* Take an input's elements and shape. */
static void
take_input(Call *call, int i)
{
	const OrtValue *value = NULL;
	OrtTensorTypeAndShapeInfo *info;
	void *data;
	size_t rank;

	note(call, call->api->KernelContext_GetInput(call->context, (size_t) i, &value));
	if (call->status != NULL || value == NULL)
		return;
	note(call, call->api->GetTensorTypeAndShape(value, &info));
	note(call, call->api->GetDimensionsCount(info, &rank));
	call->shape[i].rank = rank > NW_MAX_RANK ? NW_MAX_RANK : (int) rank;
	note(call, call->api->GetDimensions(info, call->shape[i].dim, (size_t) call->shape[i].rank));
	call->api->ReleaseTensorTypeAndShapeInfo(info);
	note(call, call->api->GetTensorMutableData((OrtValue *) value,
	                                           &data)); /* the only accessor; the data is read */
	call->in[i] = data;
}

/* Make an output; NULL where that failed. */
static float *
make_output(Call *call, int i, NwShape shape)
{
	OrtValue *value;
	void *data = NULL;

	if (call->status == NULL)
		note(call, call->api->KernelContext_GetOutput(call->context, (size_t) i, shape.dim,
		                                              (size_t) shape.rank, &value));
	if (call->status == NULL)
		note(call, call->api->GetTensorMutableData(value, &data));
	return data;
}

/* ------------------------------------------------------------------ operators */

/* Describe the convolution x -> y of a call. */
static NwConv
conv_of(const Call *call, const NwShape *x, const NwShape *y)
{
	return (NwConv) {.n = x->dim[0],
	                 .c = x->dim[1],
	                 .size = {x->dim[2], x->dim[3]},
	                 .out_c = y->dim[1],
	                 .out_size = {y->dim[2], y->dim[3]},
	                 .window = call->kernel->window};
}

/* Conv(x, w [, bias]) -> y */
static void
compute_conv(Call *call)
{
	const NwWindow *win = &call->kernel->window;
	NwShape to = call->shape[0];
	NwConv cv;
	float *y;

	to.dim[1] = call->shape[1].dim[0];
	for (int i = 0; i < 2; i++)
		to.dim[2 + i] = nw_window_out(to.dim[2 + i], win, i);
	y = make_output(call, 0, to);
	cv = conv_of(call, &call->shape[0], &to);
	if (y != NULL)
		nw_conv_forward(nw_gemm_best(), &call->team, &cv, call->in[0], call->in[1], call->in[2], y);
}

/* ConvGradInput(dy, w) -> dx */
static void
compute_conv_grad_input(Call *call)
{
	NwShape to = call->shape[0];
	NwConv cv;
	float *dx;

	to.dim[1] = call->shape[1].dim[1];
	to.dim[2] = call->kernel->size[0];
	to.dim[3] = call->kernel->size[1];
	dx = make_output(call, 0, to);
	cv = conv_of(call, &to, &call->shape[0]);
	if (dx != NULL)
		nw_conv_by_input(nw_gemm_best(), &call->team, &cv, call->in[0], call->in[1], dx);
}

/* ConvGradWeight(x, dy) -> dw */
static void
compute_conv_grad_weight(Call *call)
{
	const NwWindow *win = &call->kernel->window;
	NwConv cv = conv_of(call, &call->shape[0], &call->shape[1]);
	float *dw = make_output(call, 0, NW_SHAPE(cv.out_c, cv.c, win->kernel[0], win->kernel[1]));

	if (dw != NULL)
		nw_conv_by_weight(nw_gemm_best(), &call->team, &cv, call->in[0], call->in[1], dw);
}

static NwPlanes
planes_of(const Call *call)
{
	const NwShape *s = &call->shape[0];

	return (NwPlanes) {s->dim[0], s->dim[1], s->dim[2] * s->dim[3]};
}

/* BatchNorm(x, scale, bias) -> y, mean, var */
static void
compute_batch_norm(Call *call)
{
	NwPlanes p = planes_of(call);
	float *y = make_output(call, 0, call->shape[0]);
	float *mean = make_output(call, 1, NW_SHAPE(p.c));
	float *var = make_output(call, 2, NW_SHAPE(p.c));

	if (var != NULL)
		nw_batch_norm_forward(&call->team, &p, call->in[0], call->in[1], call->in[2],
		                      call->kernel->epsilon, y, mean, var);
}

/* BatchNormGrad(x, dy, scale, mean, var) -> dx, dscale, dbias */
static void
compute_batch_norm_grad(Call *call)
{
	NwPlanes p = planes_of(call);
	float *dx = make_output(call, 0, call->shape[0]);
	float *dscale = make_output(call, 1, NW_SHAPE(p.c));
	float *dbias = make_output(call, 2, NW_SHAPE(p.c));

	if (dbias != NULL)
		nw_batch_norm_backward(&call->team, &p, call->in[0], call->in[1], call->in[2], call->in[3],
		                       call->in[4], call->kernel->epsilon, dx, dscale, dbias);
}

/* ReluGrad(y, dy) -> dx */
static void
compute_relu_grad(Call *call)
{
	float *dx = make_output(call, 0, call->shape[0]);

	if (dx != NULL)
		nw_relu_backward(&call->team, nw_shape_size(&call->shape[0]), call->in[0], call->in[1], dx);
}

/* Sgd(w, v, grad, lr [, factor]) -> v2, w2 */
static void
compute_sgd(Call *call)
{
	float *v2 = make_output(call, 0, call->shape[0]);
	float *w2 = make_output(call, 1, call->shape[0]);
	NwSgd o = {.momentum = call->kernel->momentum,
	           .decay = call->kernel->decay,
	           .nesterov = call->kernel->nesterov};

	if (w2 == NULL)
		return;
	o.lr = call->in[3][0];
	o.factor = call->in[4] ? call->in[4][0] : 1;
	nw_sgd(&call->team, &o, nw_shape_size(&call->shape[0]), call->in[0], call->in[1], call->in[2],
	       w2, v2);
}

/* AdamW(w, m, v, grad, lr, corrections [, factor]) -> m2, v2, w2 */
static void
compute_adamw(Call *call)
{
	const Kernel *k = call->kernel;
	float *m2 = make_output(call, 0, call->shape[0]);
	float *v2 = make_output(call, 1, call->shape[0]);
	float *w2 = make_output(call, 2, call->shape[0]);
	NwAdamW o = {.decay = k->decay,
	             .beta = {k->beta[0], k->beta[1]},
	             .fresh = {k->fresh[0], k->fresh[1]},
	             .epsilon = k->epsilon};

	if (w2 == NULL)
		return;
	o.lr = call->in[4][0];
	o.correction[0] = call->in[5][0];
	o.correction[1] = call->in[5][1];
	o.factor = call->in[6] ? call->in[6][0] : 1;
	nw_adamw(&call->team, &o, nw_shape_size(&call->shape[0]), call->in[0], call->in[1], call->in[2],
	         call->in[3], w2, m2, v2);
}

/* Norm(x) -> [1] */
static void
compute_norm(Call *call)
{
	float *norm = make_output(call, 0, NW_SHAPE(1));

	if (norm != NULL)
		norm[0] = (float) nw_norm(&call->team, nw_shape_size(&call->shape[0]), call->in[0]);
}

/* ClipFactor(norms) -> [1]: what brings the norm of all down to the limit, as PyTorch has it */
static void
compute_clip_factor(Call *call)
{
	float *to = make_output(call, 0, NW_SHAPE(1));
	double factor;

	if (to == NULL)
		return;
	factor = call->kernel->limit /
	         (nw_norm(&call->team, nw_shape_size(&call->shape[0]), call->in[0]) + 1e-6);
	to[0] = factor > 1 ? 1 : (float) factor;
}

static const OpKind kinds[] = {
	{"Conv", 3, 1, 1, false, compute_conv},
	{"ConvGradInput", 2, 0, 1, false, compute_conv_grad_input},
	{"ConvGradWeight", 2, 0, 1, false, compute_conv_grad_weight},
	{"BatchNorm", 3, 0, 3, false, compute_batch_norm},
	{"BatchNormGrad", 5, 0, 3, true, compute_batch_norm_grad},
	{"ReluGrad", 2, 0, 1, true, compute_relu_grad},
	{"Sgd", 5, 1, 2, false, compute_sgd},
	{"AdamW", 7, 1, 3, false, compute_adamw},
	{"Norm", 1, 0, 1, false, compute_norm},
	{"ClipFactor", 1, 0, 1, false, compute_clip_factor},
};

struct NwOwnOps
{
	const OrtApi *api;
	int threads;
	OrtCustomOpDomain *domain;
	OwnOp op[NW_LENGTH(kinds)];
};

/* ------------------------------------------------------------------ what the runtime calls */

static const OwnOp *
own(const OrtCustomOp *op)
{
	return (const OwnOp *) op;
}

static const char *ORT_API_CALL
get_name(const OrtCustomOp *op)
{
	return own(op)->kind->name;
}

static const char *ORT_API_CALL
get_provider(const OrtCustomOp *op)
{
	(void) op;
	return NULL; /* the CPU's */
}

static ONNXTensorElementDataType ORT_API_CALL
get_type(const OrtCustomOp *op, size_t index)
{
	(void) op;
	(void) index;
	return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
}

static size_t ORT_API_CALL
count_inputs(const OrtCustomOp *op)
{
	return (size_t) own(op)->kind->inputs;
}

static size_t ORT_API_CALL
count_outputs(const OrtCustomOp *op)
{
	return (size_t) own(op)->kind->outputs;
}

static OrtCustomOpInputOutputCharacteristic ORT_API_CALL
input_character(const OrtCustomOp *op, size_t index)
{
	return (int) index >= own(op)->kind->inputs - own(op)->kind->optional ? INPUT_OUTPUT_OPTIONAL
	                                                                      : INPUT_OUTPUT_REQUIRED;
}

static OrtCustomOpInputOutputCharacteristic ORT_API_CALL
output_character(const OrtCustomOp *op, size_t index)
{
	(void) op;
	(void) index;
	return INPUT_OUTPUT_REQUIRED;
}

static OrtMemType ORT_API_CALL
memory_type(const OrtCustomOp *op, size_t index)
{
	(void) op;
	(void) index;
	return OrtMemTypeDefault;
}

/* Let the derivative of an element-wise operator lie over what comes in. */
static size_t ORT_API_CALL
may_lie_over(int **inputs, int **outputs)
{
	*inputs = nw_alloc(sizeof(int));
	*outputs = nw_alloc(sizeof(int));
	**inputs = 1;
	**outputs = 0;
	return 1;
}

static void ORT_API_CALL
release_lists(int *inputs, int *outputs)
{
	free(inputs);
	free(outputs);
}

static int ORT_API_CALL
version_one(const OrtCustomOp *op)
{
	(void) op;
	return 1;
}

/* Read a list of integers where a node has it. */
static void
read_ints(const OrtApi *api, const OrtKernelInfo *info, const char *name, size_t n, int64_t *into)
{
	OrtStatus *status = api->KernelInfoGetAttributeArray_int64(info, name, into, &n);

	if (status != NULL)
		api->ReleaseStatus(status);
}

/* Read an integer where a node has it. */
static void
read_int(const OrtApi *api, const OrtKernelInfo *info, const char *name, int64_t *into)
{
	OrtStatus *status = api->KernelInfoGetAttribute_int64(info, name, into);

	if (status != NULL)
		api->ReleaseStatus(status);
}

/* Read a number where a node has it. */
static void
read_float(const OrtApi *api, const OrtKernelInfo *info, const char *name, float *into)
{
	OrtStatus *status = api->KernelInfoGetAttribute_float(info, name, into);

	if (status != NULL)
		api->ReleaseStatus(status);
}

static OrtStatusPtr ORT_API_CALL
create_kernel(const OrtCustomOp *op, const OrtApi *api, const OrtKernelInfo *info, void **kernel)
{
	Kernel *k = nw_alloc0(sizeof(Kernel));

	k->op = own(op);
	k->window.group = 1;
	read_ints(api, info, "kernel_shape", 2, k->window.kernel);
	read_ints(api, info, "strides", 2, k->window.stride);
	read_ints(api, info, "pads", 4, k->window.pad);
	read_ints(api, info, "dilations", 2, k->window.dilation);
	read_ints(api, info, "size", 2, k->size);
	read_float(api, info, "epsilon", &k->epsilon);
	read_float(api, info, "momentum", &k->momentum);
	read_float(api, info, "decay", &k->decay);
	read_int(api, info, "nesterov", &k->nesterov);
	read_float(api, info, "beta1", &k->beta[0]);
	read_float(api, info, "beta2", &k->beta[1]);
	read_float(api, info, "fresh1", &k->fresh[0]);
	read_float(api, info, "fresh2", &k->fresh[1]);
	read_float(api, info, "limit", &k->limit);
	*kernel = k;
	return NULL;
}

static void ORT_API_CALL
destroy_kernel(void *kernel)
{
	free(kernel);
}

static OrtStatusPtr ORT_API_CALL
compute_kernel(void *kernel, OrtKernelContext *context)
{
	const Kernel *k = kernel;
	Call call = {.api = k->op->all->api, .kernel = k, .context = context};
	size_t given;

	call.team = (NwTeam) {k->op->all->threads, run_on_session, &call};
	note(&call, call.api->KernelContext_GetInputCount(context, &given));
	for (int i = 0; i < k->op->kind->inputs && i < (int) given; i++)
		take_input(&call, i);
	if (call.status == NULL)
		k->op->kind->compute(&call);
	return call.status;
}

/* ------------------------------------------------------------------ registration */

/* Describe the operators to a runtime whose sessions have so many threads. */
NwOwnOps *
nw_own_ops_new(const OrtApi *api, int threads)
{
	NwOwnOps *ops = nw_alloc0(sizeof(NwOwnOps));
	OrtStatus *status;

	ops->api = api;
	ops->threads = threads;
	status = api->CreateCustomOpDomain(NW_OWN_DOMAIN, &ops->domain);
	for (int i = 0; i < NW_LENGTH(kinds) && status == NULL; i++)
	{
		ops->op[i] = (OwnOp) {.base = {.version = ORT_API_VERSION,
		                               .GetName = get_name,
		                               .GetExecutionProviderType = get_provider,
		                               .GetInputType = get_type,
		                               .GetInputTypeCount = count_inputs,
		                               .GetOutputType = get_type,
		                               .GetOutputTypeCount = count_outputs,
		                               .GetInputCharacteristic = input_character,
		                               .GetOutputCharacteristic = output_character,
		                               .GetInputMemoryType = memory_type,
		                               .GetStartVersion = version_one,
		                               .GetEndVersion = version_one,
		                               .CreateKernelV2 = create_kernel,
		                               .KernelComputeV2 = compute_kernel,
		                               .KernelDestroy = destroy_kernel},
		                      .kind = &kinds[i],
		                      .all = ops};
		if (kinds[i].in_place)
		{
			ops->op[i].base.GetMayInplace = may_lie_over;
			ops->op[i].base.ReleaseMayInplace = release_lists;
		}
		status = api->CustomOpDomain_Add(ops->domain, &ops->op[i].base);
	}
	if (status != NULL)
		nw_fatal("could not register operators: %s", api->GetErrorMessage(status));
	return ops;
}

void
nw_own_ops_free(NwOwnOps *ops)
{
	ops->api->ReleaseCustomOpDomain(ops->domain);
	free(ops);
}

/* Let a session use the operators. */
OrtStatus *
nw_own_ops_register(NwOwnOps *ops, OrtSessionOptions *options)
{
	return ops->api->AddCustomOpDomain(options, ops->domain);
}
