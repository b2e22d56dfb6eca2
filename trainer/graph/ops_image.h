/*
 * graph/ops_image.h: operators on images [N,C,H,W], and normalisations.
 */
#ifndef NW_OPS_IMAGE_H
#define NW_OPS_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/graph.h"
#include "math/window.h"

/* convolutions, w [O,C/group,kh,kw] */
NwT nw_conv(NwGraph *g, NwT x, NwT w, NwT bias, const NwWindow *win);
NwT nw_conv_transpose(NwGraph *g, NwT x, NwT w, const NwWindow *win, int64_t h, int64_t width);
NwT nw_conv_grad_input(NwGraph *g, NwT dy, NwT w, const NwWindow *win, int64_t height,
                       int64_t width);
NwT nw_conv_grad_weight(NwGraph *g, NwT x, NwT dy, const NwWindow *win);

/* pools */
NwT nw_max_pool(NwGraph *g, NwT x, const NwWindow *win);
NwT nw_average_pool(NwGraph *g, NwT x, const NwWindow *win);

/* normalisations */
NwT nw_per_channel(NwGraph *g, NwT v); /* [C] -> [1,C,1,1] */
NwT nw_affine(NwGraph *g, NwT x, NwT scale, NwT shift, NwT mean);
NwT nw_batch_norm(NwGraph *g, NwT x, NwT scale, NwT bias, NwT mean, NwT var, float eps, bool train);
NwT nw_layer_norm(NwGraph *g, NwT x, NwT scale, NwT bias, int64_t axis, float eps);

#endif
