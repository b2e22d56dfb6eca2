/*
 * bits.c
 *		The bits that one instruction set gives, loop by loop.
 *
 *	bits				list the sets of this machine
 *	bits NAME			print a hash of the results of each loop and function
 *
 * The inputs are random but the same everywhere: all counts and dimensions up
 * to a few registers, tails, subnormals, zeros of both signs, huge numbers.  A
 * line that begins with "all" must be the same for every set on every machine.
 * One that begins with "own" is of a loop whose sets may round in their own
 * way: the same for one set, so for plain C on every machine.
 */
#include <math.h>
#include <string.h>

#include "check.h"
#include "math/calibration_bins.h"
#include "math/code.h"
#include "math/copies.h"
#include "math/elementary.h"
#include "math/kernel.h"
#include "math/kmeans.h"
#include "math/mass.h"
#include "math/removable.h"
#include "math/simd/simd.h"
#include "math/spectral.h"
#include "math/sum.h"
#include "math/sweep.h"
#include "math/verdict.h"
#include "simd_names.h"

#define MAX_DIM 1536
#define MAX_ROWS 19
#define MAX_QUERIES 5
#define MAX_NUMBERS NW_BIN_SUM_MAX

#define COUNT(array) ((int) (sizeof(array) / sizeof((array)[0])))

static float x[MAX_ROWS * MAX_DIM];
static double q[MAX_QUERIES * MAX_DIM];
static double scale[MAX_ROWS];
static float floats[4][MAX_NUMBERS];
static double numbers[4][MAX_NUMBERS];
static double out[MAX_QUERIES * MAX_NUMBERS];
static double more_out[MAX_NUMBERS];
static float float_out[MAX_NUMBERS];
static uint64_t hi[MAX_NUMBERS];
static uint64_t lo[MAX_NUMBERS];

static uint64_t hash;

/* Take 64 bits into the hash. */
static void
mix(uint64_t bits)
{
	hash = (hash ^ bits) * UINT64_C(0x9e3779b97f4a7c15);
	hash ^= hash >> 29;
}

/* Take numbers in; processors make NaN with one sign or the other. */
static void
mix_doubles(const double *value, int n)
{
	for (int i = 0; i < n; i++)
	{
		uint64_t bits;

		memcpy(&bits, &value[i], sizeof(bits));
		mix(isnan(value[i]) ? UINT64_C(0x7ff8) << 48 : bits);
	}
}

static void
mix_double(double value)
{
	mix_doubles(&value, 1);
}

static void
mix_floats(const float *value, int n)
{
	for (int i = 0; i < n; i++)
	{
		uint32_t bits;

		memcpy(&bits, &value[i], sizeof(bits));
		mix(bits);
	}
}

static void
mix_integers(const uint64_t *value, int n)
{
	for (int i = 0; i < n; i++)
		mix(value[i]);
}

static void
mix_scaled(NwScaled value)
{
	mix_double(value.fraction);
	mix_double(value.exponent);
}

/* Draw a float that is sometimes awkward. */
static float
random_float(void)
{
	switch (check_below(16))
	{
		case 0:
			return check_below(2) == 0 ? 0.0f : -0.0f;
		case 1:
			return (float) (check_uniform(-1, 1) * 1e-42); /* subnormal */
		case 2:
			return (float) (check_uniform(-1, 1) * 3e38);
		case 3:
			return (float) check_uniform(-1e-3, 1e-3);
		default:
			return (float) check_uniform(-2, 2);
	}
}

/* Draw rows, queries and scales; or tame ones, of which no norm overflows a float. */
static void
draw_rows(int dim, int n, int nq, bool tame)
{
	for (int i = 0; i < n * dim; i++)
		x[i] = tame ? (float) check_normal() : random_float();
	for (int j = 0; j < nq * dim; j++)
		q[j] = tame ? (float) check_normal() : (double) random_float();
	for (int i = 0; i < n; i++)
		scale[i] = check_below(8) == 0 ? 0 : check_uniform(0, 3);
}

/* Draw n numbers of some magnitude, the last array's above 0. */
static void
draw_numbers(int n, double magnitude)
{
	for (int i = 0; i < n; i++)
	{
		for (int k = 0; k < 4; k++)
			numbers[k][i] = check_uniform(k < 3 ? -1 : 0, 1) * magnitude;
		for (int k = 0; k < 4; k++)
			floats[k][i] = k < 3 ? random_float() : fabsf(random_float());
	}
}

/* A loop over rows: of so many dimensions, rows and queries. */
typedef void (*RowLoop)(int dim, int n, int nq);

static void
run_sqdist(int dim, int n, int nq)
{
	(void) nq;
	nw_simd->sqdist(q, x, dim, n, out);
	mix_doubles(out, n);
}

static void
run_sqdist_scaled(int dim, int n, int nq)
{
	(void) nq;
	nw_simd->sqdist_scaled(q, x, scale, dim, n, out);
	mix_doubles(out, n);
}

static void
run_dot(int dim, int n, int nq)
{
	(void) nq;
	nw_simd->dot(q, x, dim, n, out);
	mix_doubles(out, n);
}

static void
run_sqnorm(int dim, int n, int nq)
{
	(void) nq;
	nw_simd->sqnorm(x, dim, n, out);
	mix_doubles(out, n);
}

static void
run_dot_sqnorm(int dim, int n, int nq)
{
	(void) nq;
	nw_simd->dot_sqnorm(q, x, dim, n, out, more_out);
	mix_doubles(out, n);
	mix_doubles(more_out, n);
}

static void
run_sqdist_block(int dim, int n, int nq)
{
	nw_simd->sqdist_block(q, nq, x, dim, n, out);
	mix_doubles(out, n * nq);
}

static void
run_sqdist_scaled_block(int dim, int n, int nq)
{
	nw_simd->sqdist_scaled_block(q, nq, x, scale, dim, n, out);
	mix_doubles(out, n * nq);
}

static void
run_dot_block(int dim, int n, int nq)
{
	nw_simd->dot_block(q, nq, x, dim, n, out);
	mix_doubles(out, n * nq);
}

static void
run_code_query(int dim, int n, int nq)
{
	static float t[MAX_DIM];

	(void) n;
	nw_simd->code_query(q, nq % 2 == 0 ? x : NULL, dim, 0.37, t);
	mix_floats(t, dim);
}

/* Half-size copies: the numbers, without how much they miss. */
static void
run_copies_copy(int dim, int n, int nq)
{
	static int16_t copy[MAX_DIM];

	(void) nq;
	for (int i = 0; i < n; i++)
	{
		nw_simd->copies_copy(x + i * dim, dim, 0.75, 1.0 / 4096, copy);
		for (int j = 0; j < dim; j++)
			mix((uint64_t) copy[j]);
	}
}

static void
run_copies_sqdist(int dim, int n, int nq)
{
	static int16_t copy[MAX_ROWS * MAX_DIM];
	static float t[MAX_DIM];

	(void) nq;
	for (int i = 0; i < n * dim; i++)
		copy[i] = (int16_t) check_random();
	for (int j = 0; j < dim; j++)
		t[j] = (float) check_uniform(-40000, 40000);
	nw_simd->copies_sqdist(t, copy, dim, n, float_out);
	mix_floats(float_out, n);
}

static void
run_code_dot(int dim, int n, int nq)
{
	static int8_t code[MAX_ROWS * MAX_DIM];
	static float t[MAX_DIM];

	(void) nq;
	for (int i = 0; i < n * dim; i++)
		code[i] = (int8_t) (check_below(255) - 127);
	for (int j = 0; j < dim; j++)
		t[j] = (float) check_uniform(-3, 3);
	nw_simd->code_dot(t, code, dim, n, float_out);
	mix_floats(float_out, n);
}

/* What the kernels make of rows, one query at a time and all at once. */
static void
run_kernels(int dim, int n, int nq)
{
	static float query_row[MAX_DIM];
	static double space[MAX_DIM];
	double q2[MAX_QUERIES];

	for (int k = NW_EUCLIDEAN; k <= NW_DOT; k++)
	{
		NwQuery query;

		nw_row_norms((NwKernel) k, x, dim, n, scale);
		for (int i = 0; i < nq; i++)
		{
			for (int j = 0; j < dim; j++)
				query_row[j] = (float) q[i * dim + j];
			nw_query_init(&query, (NwKernel) k, 0.3, query_row, dim, space);
			memcpy(q + i * dim, space, sizeof(double) * dim);
			q2[i] = query.sqnorm;
			nw_query_measure(&query, x, scale, n, out);
			mix_doubles(out, n);
			nw_query_score(&query, out, n, out);
			mix_doubles(out, n);
		}
		nw_query_measure_block((NwKernel) k, q, q2, nq, dim, x, scale, n, out);
		mix_doubles(out, n * nq);
	}
}

/* Codes of rows, as an index stores them. */
static void
run_encode(int dim, int n, int nq)
{
	static int8_t code[MAX_DIM];
	NwCodeInfo info;

	(void) nq;
	for (int i = 1; i < n; i++)
	{
		nw_code_encode(x + i * dim, i % 2 == 0 ? x : NULL, dim, code, &info);
		for (int j = 0; j < dim; j++)
			mix((uint64_t) code[j]);
		mix_floats(&info.scale, 1);
		mix_floats(&info.error, 1);
		mix_floats(&info.sqnorm, 1);
		mix_floats(&info.norm, 1);
	}
}

/* Bounds on scores out of codes. */
static void
run_code_bounds(int dim, int n, int nq)
{
	static int8_t code[MAX_ROWS * MAX_DIM];
	static float query_row[MAX_DIM];
	static float t[MAX_DIM];
	static double space[MAX_DIM];
	NwCodeQuery cq;
	NwQuery query;

	(void) nq;
	for (int i = 0; i < n; i++)
	{
		NwCodeInfo info;

		nw_code_encode(x + i * dim, x, dim, code + i * dim, &info);
		floats[0][i] = info.scale;
		floats[1][i] = info.error;
		floats[2][i] = info.sqnorm;
		floats[3][i] = info.norm;
	}
	for (int j = 0; j < dim; j++)
		query_row[j] = (float) q[j];
	for (int k = NW_EUCLIDEAN; k <= NW_DOT; k++)
	{
		nw_query_init(&query, (NwKernel) k, 0.3, query_row, dim, space);
		nw_code_query(&cq, &query, x, t);
		nw_code_dots(&cq, code, n, float_out);
		nw_code_bounds(&cq, float_out, floats[0], floats[1], floats[2], floats[3], n, out,
		               more_out);
		mix_doubles(out, n);
		mix_doubles(more_out, n);
	}
}

/* The norm of a matrix, from above and from below. */
static void
run_spectral(int dim, int n, int nq)
{
	NwSpectral matrix;
	void *space;
	double most;
	double least;

	if (dim > 70 || nq > 1)
		return;
	space = check_alloc(nw_spectral_memory(dim));
	nw_spectral_init(&matrix, dim, true, space);
	for (int i = 0; i < n; i++)
		nw_spectral_add(&matrix, x + i * dim, 0.01);
	nw_spectral_norm(&matrix, &most, &least);
	mix_double(most);
	mix_double(least);
	free(space);
}

/* Clusters of rows. */
static void
run_kmeans(int dim, int n, int nq)
{
	NwKmeans task = {.n = n, .dim = dim, .k = nq, .restarts = 2, .max_iterations = 20, .seed = 7};
	const float *row[MAX_ROWS];
	float *centroid;
	void *work;
	int assignment[MAX_ROWS];
	int members[MAX_QUERIES];

	if (n < 1)
		return;
	centroid = check_alloc(sizeof(float) * nq * dim);
	work = check_alloc(nw_kmeans_memory(&task));
	for (int i = 0; i < n; i++)
		row[i] = x + i * dim;
	mix_double(nw_kmeans(&task, row, work, centroid, assignment, members));
	mix_floats(centroid, nq * dim);
	for (int i = 0; i < n; i++)
		mix((uint64_t) assignment[i]);
	free(work);
	free(centroid);
}

/* A loop over numbers: so many, of such a magnitude. */
typedef void (*NumberLoop)(int n, double magnitude);

static void
run_close_sqdist(int n, double magnitude)
{
	for (int i = 0; i < n; i++)
		out[i] = numbers[0][i] * 0.5;
	mix(nw_simd->close_sqdist(magnitude, numbers[3], 1.0 / 1024, n, out));
	mix_doubles(out, n);
}

static void
run_root_scores(int n, double magnitude)
{
	(void) magnitude;
	nw_simd->root_scores(numbers[3], n, 1.7, out);
	mix_doubles(out, n);
}

static void
run_exp_split(int n, double magnitude)
{
	(void) magnitude;
	nw_simd->exp_split(numbers[0], n, out, hi, lo);
	mix_doubles(out, n);
	mix_integers(hi, n);
	mix_integers(lo, n);
}

static void
run_exp_sum(int n, double magnitude)
{
	if (magnitude <= 1000)
		mix_double(nw_simd->exp_sum(numbers[0], n, 1.3, 1.3 * magnitude));
}

static void
run_max(int n, double magnitude)
{
	(void) magnitude;
	mix_double(nw_simd->max(numbers[0], n));
}

static void
run_bin_sum(int n, double magnitude)
{
	uint64_t low[3];
	uint64_t high[3];

	(void) magnitude;
	nw_simd->exp_split(numbers[0], n, out, hi, lo);
	nw_simd->bin_sum(nw_simd->max(out, n), n, out, hi, lo, low, high);
	mix_integers(low, 3);
	mix_integers(high, 3);
}

/* exp_bins, or what does the same where there is none. */
static void
run_exp_bins(int n, double magnitude)
{
	uint64_t low[3];
	uint64_t high[3];
	double top;

	if (magnitude > 1e6 || n == 0)
		return;
	nw_simd->exp_split(numbers[0], n, out, hi, lo);
	top = nw_simd->max(out, n);
	if (nw_simd->exp_bins != NULL)
		nw_simd->exp_bins(top, n, numbers[0], low, high);
	else
		nw_simd->bin_sum(top, n, out, hi, lo, low, high);
	mix_integers(low, 3);
	mix_integers(high, 3);
}

static void
run_code_scores(int n, double magnitude)
{
	memcpy(out, numbers[0], sizeof(double) * n);
	memcpy(more_out, numbers[3], sizeof(double) * n);
	nw_simd->code_scores(floats[3], n, magnitude > 100, 0.9, 1.1, out, more_out);
	mix_doubles(out, n);
	mix_doubles(more_out, n);
}

static void
run_half_to_float(int n, double magnitude)
{
	static uint16_t half[MAX_NUMBERS];

	(void) magnitude;
	for (int i = 0; i < n; i++)
		half[i] = (uint16_t) check_random();
	nw_simd->half_to_float(half, n, float_out);
	mix_floats(float_out, n);
}

static void
run_exp_moments(int n, double magnitude)
{
	NwMoments moments;

	nw_simd->exp_moments(numbers[0], n, magnitude, n % 2 == 0, &moments);
	mix_double(moments.sum);
	mix_double(moments.squares);
	mix_double(moments.peak);
}

static void
run_code_lines(int n, double magnitude)
{
	NwCodeLine line = {.base = magnitude, .times = -2, .plus = 1, .slack = 1e-3, .share = 1e-6};

	line.step = 0.01;
	mix_double(nw_simd->code_middles(&line, floats[0], floats[3], floats[1], n, out));
	mix_doubles(out, n);
	nw_simd->code_ranges(&line, floats[0], floats[3], floats[1], n, out, more_out);
	mix_doubles(out, n);
	mix_doubles(more_out, n);
	nw_simd->code_cosines(floats[3], n, 1e-30f, 1e-7, 1e-9, out, more_out);
	mix_doubles(out, n);
	mix_doubles(more_out, n);
}

/* Masses of two classes, and what is made of them. */
static void
run_masses(int n, double magnitude)
{
	static const int order[] = {0, 1};
	NwMass mass[2];
	int class[2];
	NwScaled value[2];
	NwVerdict verdict = {.class = class, .value = value};

	(void) magnitude;
	for (int k = 0; k < 2; k++)
	{
		nw_mass_clear(&mass[k]);
		nw_mass_add_scores(&mass[k], n, numbers[k]);
		mix_scaled(nw_mass_value(&mass[k]));
		mix_double(nw_scaled_log(nw_mass_value(&mass[k])));
	}
	if (nw_verdict_close(&verdict, mass, order, 2))
	{
		mix((uint64_t) nw_verdict_winner(&verdict));
		for (int i = 0; i < verdict.n; i++)
			mix_double(nw_verdict_probability(&verdict, i));
	}
}

/* How much each term counts. */
static void
run_influence(int n, double magnitude)
{
	NwRemovable sum;

	(void) magnitude;
	nw_removable_clear(&sum);
	nw_simd->exp_split(numbers[0], n, out, hi, lo);
	nw_removable_add_run(&sum, n, out, hi, lo);
	for (int i = 0; i < n && i < 50; i++)
	{
		NwScaled rest = nw_removable_without(&sum, out[i], hi[i], lo[i]);
		NwScaled others = nw_scaled_exp(numbers[1][i]);

		mix_double(nw_influence_log(i % 2 == 0, nw_scaled_exp(numbers[0][i]), rest, others));
	}
}

/* Sums that do not depend on their order. */
static void
run_sums(int n, double magnitude)
{
	NwSum sum;

	(void) magnitude;
	nw_sum_clear(&sum);
	for (int i = 0; i < n; i++)
		nw_sum_add(&sum, numbers[0][i]);
	mix_double(nw_sum_value(&sum));
}

static void
run_elementary(int n, double magnitude)
{
	(void) magnitude;
	for (int i = 0; i < n; i++)
	{
		mix_double(nw_log(numbers[3][i]));
		mix_double(nw_log1p(numbers[3][i]));
		mix_double(nw_exp(numbers[0][i]));
	}
}

/* Calibration, and two temperatures of one query with two classes. */
static void
run_sweep(int n, double magnitude)
{
	const int64_t start[] = {0, n / 3, n};
	NwSweepPoint point[2];
	NwSweep sweep = {.n = 2, .point = point};
	double work[4];

	if (n < 3 || magnitude > 1e6)
		return;
	for (int p = 0; p < 2; p++)
	{
		NwBins *bins = check_alloc(nw_bins_size(15));

		nw_bins_init(bins, 15);
		nw_sweep_point_init(&point[p], p == 0 ? 0.05 : 3, bins);
	}
	nw_sweep_add(&sweep, numbers[0], NULL, start, 2, n % 2, out, work);
	nw_sweep_add(&sweep, numbers[1], numbers[2], start, 2, n % 2, out, work);
	for (int p = 0; p < 2; p++)
	{
		mix_double(nw_sweep_loss(&sweep, p));
		mix_double(nw_bins_ece(point[p].bins));
		mix_double(nw_bins_mce(point[p].bins));
		free(point[p].bins);
	}
}

/* Go over rows of many shapes. */
static void
over_rows(const char *what, RowLoop run, bool tame)
{
	static const int large[] = {127, 128, 255, 256, 257, 300, 511, 768, MAX_DIM};

	hash = 0;
	check_start(what);
	for (int dim = 1; dim <= 70; dim++)
	{
		for (int n = 0; n <= MAX_ROWS; n += 1 + n / 5)
		{
			int nq = 1 + (dim + n) % MAX_QUERIES;

			draw_rows(dim, n, nq, tame);
			run(dim, n, nq);
		}
	}
	for (int i = 0; i < COUNT(large); i++)
	{
		draw_rows(large[i], MAX_ROWS - i, 2 + i % 4, tame);
		run(large[i], MAX_ROWS - i, 2 + i % 4);
	}
}

/* Go over numbers of many counts and magnitudes. */
static void
over_numbers(const char *what, NumberLoop run)
{
	static const double magnitudes[] = {1e-310, 1e-5, 1, 30, 700, 1e5, 1e17, 1e307};

	hash = 0;
	check_start(what);
	for (int m = 0; m < COUNT(magnitudes); m++)
	{
		for (int n = 0; n <= 40; n++)
		{
			draw_numbers(n, magnitudes[m]);
			run(n, magnitudes[m]);
		}
		draw_numbers(MAX_NUMBERS, magnitudes[m]);
		run(MAX_NUMBERS - m, magnitudes[m]);
	}
}

typedef struct Subject
{
	const char *name;
	RowLoop rows;       /* or NULL */
	NumberLoop numbers; /* or NULL */
	bool tame;          /* rows that no norm of overflows a float */
	bool own;           /* sets may round in their own way */
} Subject;

static const Subject subjects[] = {
	{"sqdist", .rows = run_sqdist},
	{"sqdist_scaled", .rows = run_sqdist_scaled},
	{"dot", .rows = run_dot},
	{"sqnorm", .rows = run_sqnorm},
	{"dot_sqnorm", .rows = run_dot_sqnorm},
	{"close_sqdist", .numbers = run_close_sqdist},
	{"root_scores", .numbers = run_root_scores},
	{"exp_split", .numbers = run_exp_split},
	{"sqdist_block", .rows = run_sqdist_block},
	{"sqdist_scaled_block", .rows = run_sqdist_scaled_block},
	{"dot_block", .rows = run_dot_block},
	{"exp_sum", .numbers = run_exp_sum},
	{"max", .numbers = run_max},
	{"bin_sum", .numbers = run_bin_sum},
	{"exp_bins", .numbers = run_exp_bins},
	{"code_query", .rows = run_code_query},
	{"code_scores", .numbers = run_code_scores},
	{"copies_copy", .rows = run_copies_copy, .tame = true},
	{"half_to_float", .numbers = run_half_to_float},
	{"kernels", .rows = run_kernels},
	{"masses", .numbers = run_masses},
	{"influence", .numbers = run_influence},
	{"sums", .numbers = run_sums},
	{"elementary", .numbers = run_elementary},
	{"sweep", .numbers = run_sweep},
	{"kmeans", .rows = run_kmeans, .tame = true},
	{"encode", .rows = run_encode, .tame = true},
	{"spectral", .rows = run_spectral, .tame = true},
	{"exp_moments", .numbers = run_exp_moments, .own = true},
	{"copies_sqdist", .rows = run_copies_sqdist, .tame = true, .own = true},
	{"code_dot", .rows = run_code_dot, .tame = true, .own = true},
	{"code_lines", .numbers = run_code_lines, .own = true},
	{"code_bounds", .rows = run_code_bounds, .tame = true, .own = true},
};

int
main(int argc, char **argv)
{
	for (int k = 0; argc < 2 && k < SIMD_COUNT; k++)
	{
		if (nw_simd_find(simd_names[k]) != NULL)
			printf("%s\n", simd_names[k]);
	}
	if (argc < 2)
		return EXIT_SUCCESS;

	nw_simd = nw_simd_find(argv[1]);
	if (nw_simd == NULL)
	{
		fprintf(stderr, "this machine has no %s\n", argv[1]);
		return EXIT_FAILURE;
	}
	for (int i = 0; i < COUNT(subjects); i++)
	{
		const Subject *s = &subjects[i];

		if (s->rows != NULL)
			over_rows(s->name, s->rows, s->tame);
		else
			over_numbers(s->name, s->numbers);
		printf("%s %-20s %016llx\n", s->own ? "own" : "all", s->name, (unsigned long long) hash);
	}
	return EXIT_SUCCESS;
}
