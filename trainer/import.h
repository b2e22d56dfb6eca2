/*
 * import.h: the state of bringing a model's nodes into a graph.
 */
#ifndef NW_IMPORT_H
#define NW_IMPORT_H

#include "backbone.h"
#include "ops.h"

struct NwBackbone
{
	NwRuntime  *rt;
	char	   *path;
	char	   *output;			/* NULL: the model's first */
	bool		freeze_norm;
	Onnx__ModelProto *model;
	Onnx__ValueInfoProto *input;
};

/* a name of the file and the tensor that stands for it */
typedef struct NwBound
{
	const char *name;
	NwT			t;
} NwBound;

typedef struct NwImport
{
	NwGraph    *g;
	NwBackbone *b;
	Onnx__ModelProto *model;	/* folded */
	int64_t		opset;
	const Onnx__NodeProto *node;	/* at hand */
	NwBound    *bound;
	int			n_bound;
	int			cap_bound;
} NwImport;

void		nw_import_bind(NwImport *im, const char *name, NwT t);
NwT			nw_import_lookup(const NwImport *im, const char *name);
void		nw_import_node(NwImport *im);
void		nw_import_check(NwBackbone *b);	/* every operator known, or the end */
bool		nw_is_weight(const Onnx__TensorProto *t);

#endif
