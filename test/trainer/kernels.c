/*
 * kernels.c: the CPU's own operators against plain sums in double precision.
 *
 * Windows, sizes and channels are drawn at random, so that tiles, vectors and blocks
 * are cut everywhere; every set of loops that the machine can run is tried.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/text.h"
#include "math/conv.h"
#include "math/fused.h"
#include "math/gemm.h"
#include "math/team.h"
#include "math/window.h"
#include "report.h"

static NwRandom numbers;

/* Report a check of one kind. */
static void
check_one(bool ok, const char *what, const char *which)
{
	char *text = nw_printf("%s (%s)", what, which);

	check(ok, text);
	free(text);
}

/* Draw a whole number. */
static int64_t
draw(int64_t low, int64_t high)
{
	return low + nw_random_below(&numbers, (uint32_t) (high - low + 1));
}

/* Make random floats. */
static float *
noise(int64_t n)
{
	float *p = nw_alloc((size_t) n * sizeof(float));

	for (int64_t i = 0; i < n; i++)
		p[i] = (float) nw_random_normal(&numbers);
	return p;
}

/* A team whose members take turns, the last one first. */
static void
backwards(void *state, void (*fn)(void *arg, size_t i), size_t n, void *arg)
{
	(void) state;
	while (n-- > 0)
		fn(arg, n);
}

/* A single thread, or one that does all. */
static void
forwards(void *state, void (*fn)(void *arg, size_t i), size_t n, void *arg)
{
	(void) state;
	for (size_t i = 0; i < n; i++)
		fn(arg, i);
}

static bool
close_to(const float *got, const double *want, int64_t n, double tolerance)
{
	double largest = 1;

	for (int64_t i = 0; i < n; i++)
		largest = fmax(largest, fabs(want[i]));
	for (int64_t i = 0; i < n; i++)
		if (!(fabs(got[i] - want[i]) <= tolerance * largest))
			return false;
	return true;
}

/* Draw a convolution whose window fits. */
static NwConv
draw_conv(bool large)
{
	NwConv cv = {.n = draw(1, 7), .c = draw(1, large ? 140 : 20), .out_c = draw(1, 40)};
	NwWindow *w = &cv.window;

	w->group = 1;
	for (int i = 0; i < 2; i++)
	{
		int64_t free_places;

		do
		{
			cv.size[i] = large ? 16 * draw(1, 2) : draw(1, 20);
			w->kernel[i] = draw(1, 4);
			w->stride[i] = draw(1, 3);
			w->dilation[i] = draw(1, 2);
			w->pad[i] = draw(0, 3);
			w->pad[i + 2] = draw(0, 3);
			free_places =
				cv.size[i] + w->pad[i] + w->pad[i + 2] - w->dilation[i] * (w->kernel[i] - 1) - 1;
		} while (free_places < 0);
		cv.out_size[i] = free_places / w->stride[i] + 1;
	}
	return cv;
}

typedef struct Direct
{
	double *y;
	double *dx;
	double *dw;
} Direct;

/* Go over all products of a convolution, one by one. */
static void
convolve(const NwConv *cv, const float *x, const float *w, const float *bias, const float *dy,
         Direct *d)
{
	const NwWindow *win = &cv->window;
	int64_t iy = 0;

	for (int64_t n = 0; n < cv->n; n++)
		for (int64_t o = 0; o < cv->out_c; o++)
			for (int64_t p = 0; p < cv->out_size[0]; p++)
				for (int64_t q = 0; q < cv->out_size[1]; q++, iy++)
				{
					d->y[iy] = bias[o];
					for (int64_t c = 0; c < cv->c; c++)
						for (int64_t t = 0; t < win->kernel[0] * win->kernel[1]; t++)
						{
							int64_t row = p * win->stride[0] +
							              t / win->kernel[1] * win->dilation[0] - win->pad[0];
							int64_t col = q * win->stride[1] +
							              t % win->kernel[1] * win->dilation[1] - win->pad[1];
							int64_t ix = ((n * cv->c + c) * cv->size[0] + row) * cv->size[1] + col;
							int64_t iw = (o * cv->c + c) * win->kernel[0] * win->kernel[1] + t;

							if (row < 0 || col < 0 || row >= cv->size[0] || col >= cv->size[1])
								continue;
							d->y[iy] += (double) x[ix] * w[iw];
							d->dx[ix] += (double) dy[iy] * w[iw];
							d->dw[iw] += (double) dy[iy] * x[ix];
						}
				}
}

/* Compare convolutions and their derivatives with single products, for teams of one to three. */
static void
test_conv(const NwGemm *gemm)
{
	bool right[3] = {true, true, true};
	bool same = true;

	for (int round = 0; round < 60; round++)
	{
		NwConv cv = draw_conv(round % 6 == 0);
		int64_t nx = cv.n * cv.c * cv.size[0] * cv.size[1];
		int64_t nw = cv.out_c * cv.c * cv.window.kernel[0] * cv.window.kernel[1];
		int64_t ny = cv.n * cv.out_c * cv.out_size[0] * cv.out_size[1];
		float *x = noise(nx);
		float *w = noise(nw);
		float *dy = noise(ny);
		float *bias = noise(cv.out_c);
		float *got[3] = {noise(ny), noise(nx), noise(nw)};
		float *other[3] = {noise(ny), noise(nx), noise(nw)};
		int64_t size[3] = {ny, nx, nw};
		Direct d = {nw_alloc0((size_t) ny * 8), nw_alloc0((size_t) nx * 8),
		            nw_alloc0((size_t) nw * 8)};
		double *want[3] = {d.y, d.dx, d.dw};

		convolve(&cv, x, w, bias, dy, &d);
		for (int threads = 1; threads <= 3; threads++)
		{
			NwTeam team = {threads, backwards, NULL};
			float **to = threads == 1 ? got : other;

			nw_conv_forward(gemm, &team, &cv, x, w, bias, to[0]);
			nw_conv_by_input(gemm, &team, &cv, dy, w, to[1]);
			nw_conv_by_weight(gemm, &team, &cv, x, dy, to[2]);
			for (int i = 0; i < 3; i++)
			{
				right[i] &= close_to(to[i], want[i], size[i], 1e-5);
				same &= memcmp(to[i], got[i], (size_t) size[i] * sizeof(float)) == 0;
			}
		}
		for (int i = 0; i < 3; i++)
		{
			free(got[i]);
			free(other[i]);
			free(want[i]);
		}
		free(x);
		free(w);
		free(dy);
		free(bias);
	}
	check_one(right[0], "convolution", gemm->name);
	check_one(right[1], "its derivative by the input", gemm->name);
	check_one(right[2], "its derivative by the weights", gemm->name);
	check_one(same, "as many threads as may be give the same bits", gemm->name);
}

/* Compare batch normalisation and its derivative with the formulas in double precision. */
static void
test_batch_norm(void)
{
	NwTeam team = {2, backwards, NULL};
	NwPlanes p = {5, 7, 39};
	int64_t m = p.n * p.plane;
	int64_t size = p.c * m;
	float *x = noise(size);
	float *dy = noise(size);
	float *scale = noise(p.c);
	float *bias = noise(p.c);
	float *y = noise(size);
	float *dx = noise(size);
	float *stats = noise(4 * p.c);
	double *want = nw_alloc((size_t) (2 * size + 4 * p.c) * sizeof(double));
	double *want_stats = want + 2 * size;
	float eps = 1e-3f;

	for (int64_t i = 0; i < size; i++)
		x[i] = 3 + 0.5f * x[i];
	for (int64_t c = 0; c < p.c; c++)
	{
		double mean = 0;
		double var = 0;
		double sum = 0;
		double products = 0;
		double inv;

#define EACH for (int64_t i = 0; i < m; i++)
#define AT (i / p.plane * p.c + c) * p.plane + i % p.plane
		EACH mean += x[AT] / (double) m;
		EACH var += (x[AT] - mean) * (x[AT] - mean) / (double) m;
		inv = 1 / sqrt(var + eps);
		EACH sum += dy[AT];
		EACH products += dy[AT] * (x[AT] - mean) * inv;
		EACH
		{
			double z = (x[AT] - mean) * inv;

			want[AT] = z * scale[c] + bias[c];
			want[size + AT] =
				scale[c] * inv * (dy[AT] - sum / (double) m - z * products / (double) m);
		}
		want_stats[c] = mean;
		want_stats[p.c + c] = var;
		want_stats[2 * p.c + c] = products;
		want_stats[3 * p.c + c] = sum;
	}
	nw_batch_norm_forward(&team, &p, x, scale, bias, eps, y, stats, stats + p.c);
	nw_batch_norm_backward(&team, &p, x, dy, scale, stats, stats + p.c, eps, dx, stats + 2 * p.c,
	                       stats + 3 * p.c);
	check_one(close_to(y, want, size, 1e-5), "batch normalisation", "y");
	check_one(close_to(dx, want + size, size, 1e-5), "batch normalisation", "dx");
	check_one(close_to(stats, want_stats, 4 * p.c, 1e-5), "batch normalisation",
	          "each channel's numbers");
	nw_batch_norm_backward(&team, &p, x, dy, scale, stats, stats + p.c, eps, dy, stats + 2 * p.c,
	                       stats + 3 * p.c);
	check_one(memcmp(dx, dy, (size_t) size * sizeof(float)) == 0, "batch normalisation",
	          "in place");
	free(x);
	free(dy);
	free(scale);
	free(bias);
	free(y);
	free(dx);
	free(stats);
	free(want);
}

/* Compare the passes over single elements with their formulas. */
static void
test_elements(void)
{
	NwTeam team = {2, backwards, NULL};
	NwSgd o = {.lr = 0.1f, .momentum = 0.9f, .decay = 0.01f, .factor = 1};
	int64_t n = 200003;
	float *a = noise(n);
	float *b = noise(n);
	float *c = noise(n);
	float *to = noise(n);
	float *to2 = noise(n);
	double *want = nw_alloc((size_t) n * sizeof(double));
	double *want2 = nw_alloc((size_t) n * sizeof(double));

	a[5] = 0;
	for (int64_t i = 0; i < n; i++)
		want[i] = a[i] > 0 ? b[i] : 0;
	nw_relu_backward(&team, n, a, b, to);
	check_one(close_to(to, want, n, 0), "the derivative of Relu", "all");
	for (int64_t i = 0; i < n; i++)
	{
		want2[i] = 0.9 * b[i] + c[i] + 0.01 * a[i];
		want[i] = a[i] - 0.1 * want2[i];
	}
	nw_sgd(&team, &o, n, a, b, c, to, to2);
	check_one(close_to(to, want, n, 1e-6) && close_to(to2, want2, n, 1e-6), "the update", "all");
	o.nesterov = true;
	o.factor = 0.3f;
	for (int64_t i = 0; i < n; i++)
	{
		double d = 0.3 * c[i] + 0.01 * a[i];

		want2[i] = 0.9 * b[i] + d;
		want[i] = a[i] - 0.1 * (d + 0.9 * want2[i]);
	}
	nw_sgd(&team, &o, n, a, b, c, to, to2);
	check_one(close_to(to, want, n, 1e-6) && close_to(to2, want2, n, 1e-6), "the update",
	          "Nesterov's, clipped");
	free(a);
	free(b);
	free(c);
	free(to);
	free(to2);
	free(want);
	free(want2);
}

/* Compare AdamW's update with its formula. */
static void
test_adamw(void)
{
	NwTeam team = {2, backwards, NULL};
	NwAdamW o = {.lr = 0.01f,
	             .decay = 0.1f,
	             .beta = {0.9f, 0.99f},
	             .fresh = {0.1f, 0.01f},
	             .correction = {3, 7},
	             .epsilon = 1e-4f,
	             .factor = 0.5f};
	int64_t n = 200003;
	float *in[4];
	float *to[3];
	double *want[3];

	for (int i = 0; i < 4; i++)
		in[i] = noise(n);
	for (int i = 0; i < 3; i++)
	{
		to[i] = noise(n);
		want[i] = nw_alloc((size_t) n * sizeof(double));
	}
	for (int64_t i = 0; i < n; i++)
	{
		double d = 0.5 * in[3][i];

		in[2][i] = fabsf(in[2][i]); /* an average of squares */
		want[1][i] = 0.9 * in[1][i] + 0.1 * d;
		want[2][i] = 0.99 * in[2][i] + 0.01 * d * d;
		want[0][i] =
			in[0][i] * (1 - 0.01 * 0.1) - 0.01 * 3 * want[1][i] / (7 * sqrt(want[2][i]) + 1e-4);
	}
	nw_adamw(&team, &o, n, in[0], in[1], in[2], in[3], to[0], to[1], to[2]);
	for (int i = 0; i < 3; i++)
	{
		check_one(close_to(to[i], want[i], n, 1e-6), "AdamW", "all");
		free(to[i]);
		free(want[i]);
	}
	for (int i = 0; i < 4; i++)
		free(in[i]);
}

/* Compare norms with their formula; the order of the work must not show. */
static void
test_norm(void)
{
	static const int64_t sizes[] = {1, 15, 1000, 65536, 200003};

	for (int i = 0; i < NW_LENGTH(sizes); i++)
	{
		float *x = noise(sizes[i]);
		double sum = 0;
		double back = nw_norm(&(NwTeam) {2, backwards, NULL}, sizes[i], x);

		for (int64_t j = 0; j < sizes[i]; j++)
			sum += (double) x[j] * x[j];
		check_one(fabs(back - sqrt(sum)) <= 1e-12 * back, "a norm", "all");
		check_one(back == nw_norm(&(NwTeam) {1, forwards, NULL}, sizes[i], x), "a norm",
		          "one thread or many");
		x[0] = 1e30f;
		check_one(fabs(nw_norm(&(NwTeam) {1, forwards, NULL}, sizes[i], x) / 1e30 - 1) < 1e-6,
		          "a norm", "of a large number");
		free(x);
	}
}

int
main(void)
{
	static const char *const names[] = {"avx512", "avx2"};

	if (nw_gemm_best() == NULL)
	{
		puts("this machine uses the standard operators");
		return 0;
	}
	for (int i = 0; i < NW_LENGTH(names); i++)
	{
		const NwGemm *gemm = nw_gemm_find(names[i]);

		numbers = nw_random(1, 2, 3);
		if (gemm != NULL)
			test_conv(gemm);
	}
	test_batch_norm();
	test_elements();
	test_adamw();
	test_norm();
	return failed > 0;
}
