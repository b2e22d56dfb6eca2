/*
 * math/fused.c: passes over tensors that stand for several operators of a training step.
 *
 * Sums run in LANES floats side by side over a plane or some small ones, and in
 * double over those: a fixed order that compilers can turn into vectors.  Results may lie over
 * inputs, so they are computed LANES at a time before they are stored.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "math/fused.h"
#include "math/team.h"

/* These passes run only where gemm.c has its loops, so they may use the same instructions. */
#if defined(__x86_64__)
#define FAST __attribute__((target("avx2")))
#else
#define FAST
#endif

#define LANES 16
#define CARRY 1024  /* elements after which lanes are added in double */
#define CHUNK 65536 /* elements that one call takes of a long tensor */

#define MIN(a, b) ((a) < (b) ? (a) : (b))

/* A sum in progress. */
typedef struct Sum
{
	float lane[LANES];
	int64_t n; /* that the lanes hold */
	double sum;
} Sum;

/* Move the lanes' sums on, if there are enough of them or this is the end. */
static FAST void
carry(Sum *s, int64_t n, bool end)
{
	s->n += n;
	if (!end && s->n < CARRY)
		return;
	for (int j = 0; j < LANES; j++)
	{
		s->sum += s->lane[j];
		s->lane[j] = 0;
	}
	s->n = 0;
}

/* ------------------------------------------------------------------ batch normalisation */

typedef struct BatchNorm
{
	NwPlanes p;
	const float *x;
	const float *dy;
	const float *scale;
	const float *bias;
	float *mean;
	float *var;
	float eps;
	float *y;
	float *dx;
	float *dscale;
	float *dbias;
} BatchNorm;

static FAST void
plane_sum(const float *x, int64_t n, Sum *sum)
{
	float *s = sum->lane;
	int64_t i = 0;

	for (; i + LANES <= n; i += LANES)
		for (int j = 0; j < LANES; j++)
			s[j] += x[i + j];
	for (; i < n; i++)
		s[0] += x[i];
	carry(sum, n, false);
}

/* Sum a plane's squared distances from the mean. */
static FAST void
plane_squares(const float *x, float mean, int64_t n, Sum *sum)
{
	float *s = sum->lane;
	int64_t i = 0;

	for (; i + LANES <= n; i += LANES)
		for (int j = 0; j < LANES; j++)
			s[j] += (x[i + j] - mean) * (x[i + j] - mean);
	for (; i < n; i++)
		s[0] += (x[i] - mean) * (x[i] - mean);
	carry(sum, n, false);
}

/* Sum a plane's products dy (x - mean). */
static FAST void
plane_products(const float *dy, const float *x, float mean, int64_t n, Sum *sum)
{
	float *s = sum->lane;
	int64_t i = 0;

	for (; i + LANES <= n; i += LANES)
		for (int j = 0; j < LANES; j++)
			s[j] += dy[i + j] * (x[i + j] - mean);
	for (; i < n; i++)
		s[0] += dy[i] * (x[i] - mean);
	carry(sum, n, false);
}

static FAST void
forward_channel(void *arg, size_t c)
{
	BatchNorm *b = arg;
	int64_t step = b->p.c * b->p.plane;
	const float *x = b->x + (int64_t) c * b->p.plane;
	double m = (double) (b->p.n * b->p.plane);
	Sum sum = {.n = 0};
	Sum squares = {.n = 0};
	float mean;
	float factor;

	for (int64_t i = 0; i < b->p.n; i++)
		plane_sum(x + i * step, b->p.plane, &sum);
	carry(&sum, 0, true);
	b->mean[c] = mean = (float) (sum.sum / m);
	for (int64_t i = 0; i < b->p.n; i++)
		plane_squares(x + i * step, mean, b->p.plane, &squares);
	carry(&squares, 0, true);
	b->var[c] = (float) (squares.sum / m);
	factor = b->scale[c] / sqrtf(b->var[c] + b->eps);
	for (int64_t i = 0; i < b->p.n; i++)
	{
		const float *from = x + i * step;
		float *to = b->y + (int64_t) c * b->p.plane + i * step;

		for (int64_t j = 0; j < b->p.plane; j++)
			to[j] = (from[j] - mean) * factor + b->bias[c];
	}
}

/* Compute y = (x - mean) / sqrt(var + eps) * scale + bias, with each channel's own mean and
 * variance. */
void
nw_batch_norm_forward(const NwTeam *team, const NwPlanes *p, const float *x, const float *scale,
                      const float *bias, float eps, float *y, float *mean, float *var)
{
	BatchNorm b = {.p = *p,
	               .x = x,
	               .scale = scale,
	               .bias = bias,
	               .eps = eps,
	               .y = y,
	               .mean = mean,
	               .var = var};

	team->run(team->state, forward_channel, (size_t) p->c, &b);
}

/*
 * Derive one channel.  With inv = 1 / sqrt(var + eps) and M elements:
 *   dbias = sum dy,  dscale = inv sum dy (x - mean),
 *   dx = scale inv (dy - dbias / M - (x - mean) inv dscale / M)
 */
static FAST void
backward_channel(void *arg, size_t c)
{
	BatchNorm *b = arg;
	int64_t start = (int64_t) c * b->p.plane;
	int64_t step = b->p.c * b->p.plane;
	double m = (double) (b->p.n * b->p.plane);
	Sum sum = {.n = 0};
	Sum products = {.n = 0};
	float mean = b->mean[c];
	double inv = 1 / sqrt((double) b->var[c] + b->eps);
	float factor = (float) (b->scale[c] * inv);
	float shift;
	float slope;

	for (int64_t i = 0; i < b->p.n; i++)
	{
		plane_sum(b->dy + start + i * step, b->p.plane, &sum);
		plane_products(b->dy + start + i * step, b->x + start + i * step, mean, b->p.plane,
		               &products);
	}
	carry(&sum, 0, true);
	carry(&products, 0, true);
	b->dbias[c] = (float) sum.sum;
	b->dscale[c] = (float) (inv * products.sum);
	shift = (float) (sum.sum / m);
	slope = (float) (inv * inv * products.sum / m);
	for (int64_t i = 0; i < b->p.n; i++)
	{
		const float *x = b->x + start + i * step;
		const float *dy = b->dy + start + i * step;
		float *dx = b->dx + start + i * step;

		int64_t j = 0;

		for (; j + LANES <= b->p.plane; j += LANES)
		{
			float t[LANES];

			for (int l = 0; l < LANES; l++)
				t[l] = factor * (dy[j + l] - shift - (x[j + l] - mean) * slope);
			memcpy(dx + j, t, sizeof(t));
		}
		for (; j < b->p.plane; j++)
			dx[j] = factor * (dy[j] - shift - (x[j] - mean) * slope);
	}
}

/* Compute the derivatives of batch normalisation. */
void
nw_batch_norm_backward(const NwTeam *team, const NwPlanes *p, const float *x, const float *dy,
                       const float *scale, const float *mean, const float *var, float eps,
                       float *dx, float *dscale, float *dbias)
{
	BatchNorm b = {.p = *p,
	               .x = x,
	               .dy = dy,
	               .scale = scale,
	               .mean = (float *) mean,
	               .var = (float *) var,
	               .eps = eps,
	               .dx = dx,
	               .dscale = dscale,
	               .dbias = dbias};

	team->run(team->state, backward_channel, (size_t) p->c, &b);
}

/* ------------------------------------------------------------------ element by element */

typedef struct Elements
{
	int64_t n;
	const float *a;
	const float *b;
	const float *c;
	const float *d;
	float *to;
	float *to2;
	float *to3;
	double *sum; /* of each chunk */
	const NwSgd *sgd;
	const NwAdamW *adamw;
} Elements;

/* Run a pass over a tensor in chunks. */
static void
in_chunks(const NwTeam *team, void (*fn)(void *arg, size_t i), Elements *e)
{
	team->run(team->state, fn, (size_t) ((e->n + CHUNK - 1) / CHUNK), e);
}

static FAST void
relu_chunk(void *arg, size_t chunk)
{
	Elements *e = arg;
	int64_t from = (int64_t) chunk * CHUNK;
	int64_t n = MIN(CHUNK, e->n - from);
	const float *y = e->a + from;
	const float *dy = e->b + from;
	float *dx = e->to + from;

	int64_t i = 0;

	for (; i + LANES <= n; i += LANES)
	{
		float t[LANES];

		for (int l = 0; l < LANES; l++)
		{
			float d = dy[i + l];

			t[l] = y[i + l] > 0 ? d : 0;
		}
		memcpy(dx + i, t, sizeof(t));
	}
	for (; i < n; i++)
		dx[i] = y[i] > 0 ? dy[i] : 0;
}

/* Compute dx = dy where y > 0, else 0. */
void
nw_relu_backward(const NwTeam *team, int64_t n, const float *y, const float *dy, float *dx)
{
	in_chunks(team, relu_chunk, &(Elements) {.n = n, .a = y, .b = dy, .to = dx});
}

static FAST void
sgd_chunk(void *arg, size_t chunk)
{
	Elements *e = arg;
	int64_t from = (int64_t) chunk * CHUNK;
	int64_t n = MIN(CHUNK, e->n - from);
	NwSgd o = *e->sgd;
	const float *w = e->a + from;
	const float *v = e->b + from;
	const float *grad = e->c + from;
	float *w2 = e->to + from;
	float *v2 = e->to2 + from;

	for (int64_t i = 0; i < n; i++)
	{
		float step = o.momentum * v[i] + grad[i] + o.decay * w[i];

		v2[i] = step;
		w2[i] = w[i] - o.lr * step;
	}
}

/* Do the same with a gradient that is scaled, or with Nesterov's momentum. */
static FAST void
sgd_chunk_special(void *arg, size_t chunk)
{
	Elements *e = arg;
	int64_t from = (int64_t) chunk * CHUNK;
	int64_t n = MIN(CHUNK, e->n - from);
	NwSgd o = *e->sgd;
	const float *w = e->a + from;
	const float *v = e->b + from;
	const float *grad = e->c + from;
	float *w2 = e->to + from;
	float *v2 = e->to2 + from;

	for (int64_t i = 0; i < n; i++)
	{
		float d = o.factor * grad[i] + o.decay * w[i];
		float step = o.momentum * v[i] + d;

		v2[i] = step;
		w2[i] = w[i] - o.lr * (o.nesterov ? d + o.momentum * step : step);
	}
}

/*
 * Compute d = factor grad + decay w, v2 = momentum v + d, and w2 = w - lr v2, or with
 * Nesterov's momentum w2 = w - lr (d + momentum v2).
 */
void
nw_sgd(const NwTeam *team, const NwSgd *o, int64_t n, const float *w, const float *v,
       const float *grad, float *w2, float *v2)
{
	bool plain = o->factor == 1 && !o->nesterov;

	in_chunks(team, plain ? sgd_chunk : sgd_chunk_special,
	          &(Elements) {.n = n, .a = w, .b = v, .c = grad, .to = w2, .to2 = v2, .sgd = o});
}

/* Results lie apart: that said, no comparison of seven addresses is needed to see it. */
static FAST void
adamw_range(const NwAdamW *opt, int64_t n, const float *restrict w, const float *restrict m,
            const float *restrict v, const float *restrict grad, float *restrict w2,
            float *restrict m2, float *restrict v2)
{
	NwAdamW o = *opt;

	for (int64_t i = 0; i < n; i++)
	{
		float d = o.factor * grad[i];
		float first = o.beta[0] * m[i] + o.fresh[0] * d;
		float second = o.beta[1] * v[i] + o.fresh[1] * (d * d);
		float step = o.correction[0] * first / (o.correction[1] * sqrtf(second) + o.epsilon);

		m2[i] = first;
		v2[i] = second;
		w2[i] = w[i] - o.lr * (step + o.decay * w[i]);
	}
}

static FAST void
adamw_chunk(void *arg, size_t chunk)
{
	Elements *e = arg;
	int64_t from = (int64_t) chunk * CHUNK;
	int64_t n = MIN(CHUNK, e->n - from);

	adamw_range(e->adamw, n, e->a + from, e->b + from, e->c + from, e->d + from, e->to + from,
	            e->to2 + from, e->to3 + from);
}

/*
 * Compute d = factor grad, m2 = beta1 m + (1 - beta1) d, v2 = beta2 v + (1 - beta2) d^2,
 * w2 = w - lr (decay w + correction1 m2 / (correction2 sqrt(v2) + epsilon)).
 */
void
nw_adamw(const NwTeam *team, const NwAdamW *o, int64_t n, const float *w, const float *m,
         const float *v, const float *grad, float *w2, float *m2, float *v2)
{
	in_chunks(
		team, adamw_chunk,
		&(Elements) {
			.n = n, .a = w, .b = m, .c = v, .d = grad, .to = w2, .to2 = m2, .to3 = v2, .adamw = o});
}

static FAST void
square_chunk(void *arg, size_t chunk)
{
	Elements *e = arg;
	int64_t from = (int64_t) chunk * CHUNK;
	int64_t n = MIN(CHUNK, e->n - from);
	const float *x = e->a + from;
	double lane[LANES] = {0};
	double sum = 0;
	int64_t i = 0;

	for (; i + LANES <= n; i += LANES)
		for (int l = 0; l < LANES; l++)
			lane[l] += (double) x[i + l] * (double) x[i + l];
	for (int l = 0; l < LANES; l++)
		sum += lane[l];
	for (; i < n; i++)
		sum += (double) x[i] * (double) x[i];
	e->sum[chunk] = sum;
}

/* Compute the norm of a tensor, whatever its size; chunks are added in their order. */
double
nw_norm(const NwTeam *team, int64_t n, const float *x)
{
	size_t chunks = (size_t) ((n + CHUNK - 1) / CHUNK);
	double *part = nw_alloc(chunks * sizeof(double));
	double sum = 0;

	in_chunks(team, square_chunk, &(Elements) {.n = n, .a = x, .sum = part});
	for (size_t i = 0; i < chunks; i++)
		sum += part[i];
	free(part);
	return sqrt(sum);
}
