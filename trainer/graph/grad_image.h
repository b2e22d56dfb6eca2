/*
 * graph/grad_image.h: derivatives of convolution, pooling and batch normalisation.
 *
 * An emitter gets a tape entry and the gradient dy of its first output, and adds to
 * the gradients of the inputs that need one.
 */
#ifndef NW_GRAD_IMAGE_H
#define NW_GRAD_IMAGE_H

#include "graph/graph.h"

void nw_grad_conv(NwGraph *g, const NwNode *r, NwT dy);
void nw_grad_max_pool(NwGraph *g, const NwNode *r, NwT dy);
void nw_grad_average_pool(NwGraph *g, const NwNode *r, NwT dy);
void nw_grad_batch_norm(NwGraph *g, const NwNode *r, NwT dy);

#endif
