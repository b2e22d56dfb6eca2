/*
 * net/import_images.h: along which axis of a loaded network's values the images of a batch are.
 */
#ifndef NW_IMPORT_IMAGES_H
#define NW_IMPORT_IMAGES_H

#include <stdbool.h>

#include "graph/graph.h"
#include "net/import_node.h"

/* where the images are in `y`, which the node at hand has made; ends where they do not stay apart
 */
typedef NwAlong NwFollow(const NwImport *im, NwT y);

NwFollow nw_follow_one;      /* element-wise, of the first input */
NwFollow nw_follow_several;  /* element-wise, of all inputs */
NwFollow nw_follow_layer;    /* convolutions, batch normalisation */
NwFollow nw_follow_places;   /* pools */
NwFollow nw_follow_norm;     /* LayerNormalization */
NwFollow nw_follow_softmax;  /* Softmax */
NwFollow nw_follow_reduce;   /* reductions */
NwFollow nw_follow_gemm;     /* Gemm */
NwFollow nw_follow_matmul;   /* MatMul */
NwFollow nw_follow_reshape;  /* whatever leaves the order of numbers as it is */
NwFollow nw_follow_permuted; /* Transpose */
NwFollow nw_follow_range;    /* parts and borders */
NwFollow nw_follow_gather;   /* Gather */
NwFollow nw_follow_concat;   /* Concat */

void nw_images_begin(NwImport *im, NwT images);
void nw_images_follow(NwImport *im, NwFollow *rule);
bool nw_images_are_first(const NwImport *im, NwT y);

#endif
