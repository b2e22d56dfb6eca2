/*
 * net/import.h: the state of bringing a model's nodes into a graph.
 */
#ifndef NW_IMPORT_H
#define NW_IMPORT_H

#include "graph/ops.h"
#include "net/backbone.h"

struct NwBackbone
{
	NwRuntime *rt;
	char *path;
	char *output; /* NULL: the model's first */
	bool freeze_norm;
	Onnx__ModelProto *model;
	Onnx__ValueInfoProto *input;
};

/* a name of the file and the tensor that stands for it */
typedef struct NwBound
{
	const char *name;
	NwT t;
} NwBound;

typedef struct NwImport
{
	NwGraph *g;
	NwBackbone *b;
	Onnx__ModelProto *model; /* folded */
	int64_t opset;
	const Onnx__NodeProto *node; /* at hand */
	NwBound *bound;
	int n_bound;
	int cap_bound;
} NwImport;

/* the node at hand (import_args.c); what it lacks or has wrong is the end */
void nw_import_unsupported(const NwImport *im, const char *why) __attribute__((noreturn));
const Onnx__AttributeProto *nw_import_attr(const NwImport *im, const char *name); /* or NULL */
int64_t nw_import_int(const NwImport *im, const char *name, int64_t otherwise);
float nw_import_float(const NwImport *im, const char *name, float otherwise);
bool nw_import_has(const NwImport *im, size_t i);
const char *nw_import_name(const NwImport *im, size_t i);
NwT nw_import_operand(NwImport *im, size_t i);
NwT nw_import_weight(NwImport *im, const char *name, bool trainable);
const Onnx__TensorProto *nw_import_constant(const NwImport *im, size_t i);
float nw_import_number(NwImport *im, size_t i);
int nw_import_integers(NwImport *im, const char *name, size_t input, int64_t *into, int max);
bool nw_import_exactly(NwImport *im, const char *name, size_t input, int64_t *into, int want,
                       int64_t min, int64_t max);
int64_t nw_import_axis(const NwImport *im, int64_t axis, int rank);
unsigned nw_import_axes(const NwImport *im, int64_t *list, int n, int rank);
NwWindow nw_import_window(NwImport *im, NwT x, NwT w);
void nw_import_check_shape(const NwImport *im, const NwShape *shape);

void nw_import_bind(NwImport *im, const char *name, NwT t);
NwT nw_import_lookup(const NwImport *im, const char *name);
void nw_import_node(NwImport *im);
void nw_import_check(NwBackbone *b); /* every operator known, or the end */
bool nw_is_weight(const Onnx__TensorProto *t);

#endif
