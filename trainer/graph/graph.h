/*
 * graph/graph.h: an ONNX graph under construction, with a tape for its derivative.
 *
 * Every tensor has a static shape, known when it is made.  Operators are added
 * through the functions of ops.h; while the graph is recording, each one that
 * depends on a trainable tensor also goes onto the tape, which grad.c walks
 * backwards to emit the gradient as further nodes of the same graph.
 */
#ifndef NW_GRAPH_H
#define NW_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/shape.h"
#include "graph/states.h"
#include "math/window.h"

#define NW_OWN_DOMAIN "nwhead" /* of the program's own operators */

/* a tensor of a graph, by number */
typedef int NwT;
#define NW_NONE (-1)

typedef struct NwTensor
{
	char *name;
	NwDtype type;
	NwShape shape;
	void *data;      /* value of a constant, else NULL */
	bool named;      /* input or output of the graph: the name stays */
	bool needs_grad; /* trainable, or computed from something trainable */
	NwT grad;        /* its gradient once grad.c has come by */
	NwT cnhw;        /* its transpose with the first two axes swapped, once made */
} NwTensor;

typedef enum NwAttrType
{
	NW_ATTR_INT,
	NW_ATTR_FLOAT,
	NW_ATTR_INTS,
	NW_ATTR_STRING
} NwAttrType;

typedef struct NwAttr
{
	const char *name;
	NwAttrType type; /* which of these holds the value */
	int64_t i;
	float f;
	const char *s;
	int n; /* of ints */
	int64_t ints[2 * NW_MAX_RANK];
} NwAttr;

#define NW_MAX_ATTRS 6
#define NW_MAX_OUTPUTS 3

typedef struct NwNode
{
	const char *type; /* ONNX operator */
	bool own;         /* of the program itself, in the domain NW_OWN_DOMAIN */
	int n_in;
	int n_out;
	int n_attr;
	NwT *in; /* NW_NONE for an absent optional input */
	NwT out[NW_MAX_OUTPUTS];
	NwAttr attr[NW_MAX_ATTRS];
	NwWindow window;               /* of Conv and the pools */
	bool batch_stats;              /* BatchNormalization over the batch's own statistics */
	int64_t spec[2 * NW_MAX_RANK]; /* starts and steps of Slice, pads of Pad, axes of reductions */
} NwNode;

/* what becomes of weights: inputs of a training step, or part of the file */
typedef enum NwPurpose
{
	NW_FOR_TRAINING,
	NW_FOR_EXPORT
} NwPurpose;

typedef struct NwOutput
{
	char *name;
	NwT t;
} NwOutput;

/* a state's new value at the end of a step */
typedef struct NwUpdate
{
	char *state;
	NwT value;
} NwUpdate;

typedef struct NwGraph
{
	NwTensor *tensor;
	int n_tensors;
	int cap_tensors;
	NwNode *node;
	int n_nodes;
	int cap_nodes;
	NwNode *tape; /* nodes to differentiate, in their order */
	int n_tape;
	int cap_tape;
	NwT *input;
	int n_inputs;
	int cap_inputs;
	NwOutput *output;
	int n_outputs;
	int cap_outputs;
	NwT *param; /* trainable inputs */
	int n_params;
	int cap_params;
	NwUpdate *update;
	int n_updates;
	int cap_updates;
	int *constant_slot; /* hash table over constants: tensor number or NW_NONE */
	int n_constants;
	int cap_constants;
	NwPurpose purpose;
	bool gpu;       /* emit what GPU providers can run */
	bool native;    /* emit operators of the program's own */
	bool recording; /* put operators onto the tape */
	uint64_t seed;  /* of the first weights */
	NwStates *states;
} NwGraph;

NwGraph *nw_graph_new(NwPurpose purpose, bool gpu, NwStates *states, uint64_t seed);
void nw_graph_free(NwGraph *g);

#define NW_DIM(g, t, i) ((g)->tensor[t].shape.dim[i])
#define NW_RANK(g, t) ((g)->tensor[t].shape.rank)

/* tensors */
NwShape nw_shape_of(const NwGraph *g, NwT t);
bool nw_needs_grad(const NwGraph *g, NwT t);
NwT nw_input(NwGraph *g, const char *name, NwDtype type, NwShape shape);
NwT nw_constant(NwGraph *g, NwDtype type, NwShape shape, const void *data);
NwT nw_scalar(NwGraph *g, double value);
NwT nw_int64s(NwGraph *g, int n, const int64_t *values);
void nw_output(NwGraph *g, const char *name, NwT t);

/* tensors that are states */
NwT nw_param(NwGraph *g, const char *name, NwShape shape, NwInit init);
NwT nw_buffer(NwGraph *g, const char *name, NwShape shape, NwInit init);
void nw_update(NwGraph *g, NwT state, NwT value);

/* nodes */
NwAttr nw_attr_int(const char *name, int64_t v);
NwAttr nw_attr_float(const char *name, float v);
NwAttr nw_attr_ints(const char *name, int n, const int64_t *v);
NwAttr nw_attr_string(const char *name, const char *v);
NwNode *nw_node(NwGraph *g, const char *type, int n_in, const NwT *in);
NwNode *nw_own_node(NwGraph *g, const char *type, int n_in, const NwT *in);
NwNode *nw_tape_entry(NwGraph *g, const char *type, int n_in, const NwT *in);
void nw_node_attr(NwNode *node, NwAttr attr);
NwT nw_node_out(NwGraph *g, NwNode *node, NwDtype type, NwShape shape);
void nw_record(NwGraph *g, const NwNode *node);

#endif
