/*
 * math/conv.h: convolutions and their derivatives on the CPU, for training.
 *
 * Plain C over gemm.h; what a result is does not depend on the number of threads.
 */
#ifndef NW_CONV_H
#define NW_CONV_H

#include <stdint.h>

#include "math/gemm.h"
#include "math/team.h"
#include "math/window.h"

/* a convolution x [n,c,h,w] -> y [n,out_c,out_h,out_w] */
typedef struct NwConv
{
	int64_t n;
	int64_t c;
	int64_t size[2]; /* h, w */
	int64_t out_c;
	int64_t out_size[2];
	NwWindow window; /* without groups */
} NwConv;

void nw_conv_forward(const NwGemm *gemm, const NwTeam *team, const NwConv *cv, const float *x,
                     const float *w, const float *bias, float *y);
void nw_conv_by_input(const NwGemm *gemm, const NwTeam *team, const NwConv *cv, const float *dy,
                      const float *w, float *dx);
void nw_conv_by_weight(const NwGemm *gemm, const NwTeam *team, const NwConv *cv, const float *x,
                       const float *dy, float *dw);

#endif
