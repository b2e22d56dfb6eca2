/*
 * math/fused.h: passes over tensors that stand for several operators of a training step.
 */
#ifndef NW_FUSED_H
#define NW_FUSED_H

#include <stdbool.h>
#include <stdint.h>

#include "math/team.h"

/* images [n,c,plane] */
typedef struct NwPlanes
{
	int64_t n;
	int64_t c;
	int64_t plane;
} NwPlanes;

void nw_batch_norm_forward(const NwTeam *team, const NwPlanes *p, const float *x,
                           const float *scale, const float *bias, float eps, float *y, float *mean,
                           float *var);

void nw_batch_norm_backward(const NwTeam *team, const NwPlanes *p, const float *x, const float *dy,
                            const float *scale, const float *mean, const float *var, float eps,
                            float *dx, float *dscale, float *dbias);

void nw_relu_backward(const NwTeam *team, int64_t n, const float *y, const float *dy, float *dx);

typedef struct NwSgd
{
	float lr;
	float momentum;
	float decay;
	bool nesterov;
	float factor; /* of the gradient; 1 where it is not clipped */
} NwSgd;

void nw_sgd(const NwTeam *team, const NwSgd *o, int64_t n, const float *w, const float *v,
            const float *grad, float *w2, float *v2);

typedef struct NwAdamW
{
	float lr;
	float decay;
	float beta[2];
	float fresh[2]; /* 1 - beta */
	float correction[2];
	float epsilon;
	float factor; /* of the gradient; 1 where it is not clipped */
} NwAdamW;

void nw_adamw(const NwTeam *team, const NwAdamW *o, int64_t n, const float *w, const float *m,
              const float *v, const float *grad, float *w2, float *m2, float *v2);

double nw_norm(const NwTeam *team, int64_t n, const float *x);

#endif
