/*
 * net/import_node.h: what a node of an ONNX file says: its inputs, numbers, axes and windows.
 */
#ifndef NW_IMPORT_NODE_H
#define NW_IMPORT_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/graph.h"
#include "graph/shape.h"
#include "math/window.h"
#include "onnx.pb-c.h"

/* a name of the file and the tensor that stands for it */
typedef struct NwBound
{
	const char *name;
	NwT t;
} NwBound;

/* where the images of a batch are in a value */
typedef struct NwAlong
{
	int axis;      /* -1: it does not depend on them */
	int64_t inner; /* numbers of an image in a row there */
} NwAlong;

/* a file's nodes on their way into a graph */
typedef struct NwImport
{
	NwGraph *g;
	const char *path;              /* of the file, for messages */
	bool freeze_norm;              /* leave batch normalisation as it is */
	const Onnx__ModelProto *file;  /* as it was read: tells weights from constants */
	const Onnx__ModelProto *model; /* with constants folded */
	int64_t opset;
	const Onnx__NodeProto *node; /* at hand */
	NwBound *bound;
	int n_bound;
	int cap_bound;
	int64_t images; /* in a batch */
	NwAlong *along; /* of each tensor */
	int n_along;
	int cap_along;
} NwImport;

void nw_import_unsupported(const NwImport *im, const char *why) __attribute__((noreturn));
void nw_import_check_shape(const NwImport *im, const NwShape *shape);

/* names */
void nw_import_bind(NwImport *im, const char *name, NwT t);
NwT nw_import_lookup(const NwImport *im, const char *name);
bool nw_import_is_weight(const Onnx__TensorProto *t);
NwT nw_import_weight(NwImport *im, const char *name, bool trainable);

/* inputs of the node at hand */
bool nw_import_has(const NwImport *im, size_t i);
const char *nw_import_name(const NwImport *im, size_t i);
NwT nw_import_operand(NwImport *im, size_t i);
const Onnx__TensorProto *nw_import_constant(const NwImport *im, size_t i);
float nw_import_number(const NwImport *im, size_t i);

/* its attributes; lists may be inputs instead */
const Onnx__AttributeProto *nw_import_attr(const NwImport *im, const char *name);
int64_t nw_import_int(const NwImport *im, const char *name, int64_t otherwise);
float nw_import_float(const NwImport *im, const char *name, float otherwise);
int nw_import_integers(const NwImport *im, const char *name, size_t input, int64_t *into, int max);
bool nw_import_exactly(const NwImport *im, const char *name, size_t input, int64_t *into, int want,
                       int64_t min, int64_t max);
int64_t nw_import_axis(const NwImport *im, int64_t axis, int rank);
unsigned nw_import_axes(const NwImport *im, int64_t *list, int n, int rank);
NwWindow nw_import_window(const NwImport *im, NwT x, NwT w);

#endif
