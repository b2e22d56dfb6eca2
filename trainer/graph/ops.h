/*
 * graph/ops.h: operators on single tensors, shapes and matrices, each with its shape rule.
 *
 * Shapes in the comments: N images, C channels, H height, W width; d a size of
 * any kind; [...] any shape.
 */
#ifndef NW_OPS_H
#define NW_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/graph.h"
#include "graph/shape.h"

/* element-wise: [...] -> [...] */
NwT nw_unary(NwGraph *g, const char *type, NwT x);
NwT nw_leaky_relu(NwGraph *g, NwT x, float alpha);
NwT nw_hard_sigmoid(NwGraph *g, NwT x, float alpha, float beta);
NwT nw_clip(NwGraph *g, NwT x, float low, float high);
NwT nw_pow(NwGraph *g, NwT x, float exponent);
NwT nw_cast_float(NwGraph *g, NwT x);

/* element-wise with broadcasting */
NwT nw_binary(NwGraph *g, const char *type, NwT a, NwT b);
NwT nw_add(NwGraph *g, NwT a, NwT b);
NwT nw_sub(NwGraph *g, NwT a, NwT b);
NwT nw_mul(NwGraph *g, NwT a, NwT b);
NwT nw_div(NwGraph *g, NwT a, NwT b);
NwT nw_scale(NwGraph *g, NwT a, double factor);
NwT nw_mask(NwGraph *g, const char *type, NwT a, NwT b); /* -> 0.0 or 1.0 */

/* shapes */
NwT nw_reshape(NwGraph *g, NwT x, NwShape to);
NwT nw_transpose(NwGraph *g, NwT x, const int64_t *perm);
NwT nw_cnhw(NwGraph *g, NwT x); /* [N,C,H,W] -> [C,N,H,W], made once */
NwT nw_expand(NwGraph *g, NwT x, NwShape to);
NwT nw_slice(NwGraph *g, NwT x, int n, const int64_t *axes, const int64_t *starts,
             const int64_t *ends, const int64_t *steps);
NwT nw_slice1(NwGraph *g, NwT x, int64_t axis, int64_t start, int64_t end);
NwT nw_pad(NwGraph *g, NwT x, const int64_t *pads, float value);
NwT nw_concat(NwGraph *g, int n, const NwT *x, int64_t axis);
NwT nw_gather(NwGraph *g, NwT x, int64_t axis, int n, const int64_t *index);

/* reductions: axes as a bit mask */
NwT nw_reduce(NwGraph *g, const char *type, NwT x, unsigned axes, bool keep);
NwT nw_channel_sum(NwGraph *g, NwT x); /* [N,C,H,W] -> [C] */

/* linear algebra */
NwT nw_gemm(NwGraph *g, NwT a, NwT b, NwT c, bool trans_a, bool trans_b, float alpha, float beta);
NwT nw_matmul(NwGraph *g, NwT a, NwT b); /* [...,m,k] x [...,k,n] */
NwT nw_softmax(NwGraph *g, NwT x, int64_t axis);

/* gradients */
NwT nw_unbroadcast(NwGraph *g, NwT x, NwShape to);
void nw_accumulate(NwGraph *g, NwT t, NwT dt);

#endif
