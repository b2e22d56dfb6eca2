/*
 * test_code.c
 *		Codes of one byte a dimension: no score may be outside its bounds.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "check.h"
#include "math/code.h"
#include "math/simd/simd.h"
#include "simd_names.h"

#define ROWS 9

static const NwKernel kernels[] = {NW_EUCLIDEAN, NW_GAUSSIAN, NW_HYPERSPHERE, NW_COSINE, NW_DOT};
static const int dims[] = {1,  2,  3,  5,   7,   8,   15,  16,  17,  31,  32,   33,   47,
                           63, 64, 65, 100, 127, 128, 129, 200, 511, 768, 1023, 1999, 2000};
static const double magnitudes[] = {1e-44, 1e-40, 1e-30, 1e-22, 1e-10, 1e-3,
                                    1,     50,    1e10,  1e18,  1e25,  1e38};
static const double taus[] = {NW_TAU_MIN, 1e-3, 0.02, 1, 30, 1e3, NW_TAU_MAX};

#define COUNT(array) ((int) (sizeof(array) / sizeof((array)[0])))

/* A set of vectors, coded; what tests need of it. */
typedef struct Rows
{
	int dim;
	float *x;      /* [ROWS][dim] */
	float *centre; /* [dim] or NULL */
	float *q;      /* [dim] */
	int8_t *code;  /* [ROWS][dim] */
	float scale[ROWS];
	float error[ROWS];
	float sqnorm[ROWS];
	float norm[ROWS];
} Rows;

/* Keep a number within float. */
static float
to_float(double value)
{
	return (float) fmax(fmin(value, FLT_MAX), -FLT_MAX);
}

/* Draw a vector: normal, one of zeros, one-hot, constant or of two sizes. */
static void
draw_vector(float *x, int dim, double magnitude, const float *offset)
{
	int kind = check_below(12);
	int hot = check_below(dim);

	for (int j = 0; j < dim; j++)
	{
		double v = check_normal() * magnitude;

		if (kind == 0 || (kind == 1 && j != hot))
			v = 0;
		if (kind == 2)
			v = magnitude;
		if (kind == 3 && j % 2 == 0)
			v *= 1e-6;
		x[j] = to_float(v + (offset && kind != 4 ? offset[j] : 0));
	}
}

/* Code the rows. */
static void
encode_rows(Rows *rows)
{
	for (int i = 0; i < ROWS; i++)
	{
		NwCodeInfo info;

		nw_code_encode(rows->x + i * rows->dim, rows->centre, rows->dim, rows->code + i * rows->dim,
		               &info);
		rows->scale[i] = info.scale;
		rows->error[i] = info.error;
		rows->sqnorm[i] = info.sqnorm;
		rows->norm[i] = info.norm;
	}
}

/* Make room for rows. */
static void
alloc_rows(Rows *rows, int dim)
{
	rows->dim = dim;
	rows->x = check_alloc(sizeof(float) * ROWS * dim);
	rows->q = check_alloc(sizeof(float) * dim);
	rows->centre = check_alloc(sizeof(float) * dim);
	rows->code = check_alloc(ROWS * dim);
}

static void
free_rows(Rows *rows)
{
	free(rows->x);
	free(rows->q);
	free(rows->centre);
	free(rows->code);
}

/*
 * Draw rows around an offset, which may be far larger than they are, and a
 * query that may be one of them.
 */
static void
draw_rows(Rows *rows, int dim, double magnitude)
{
	float *offset;
	int kind = check_below(5);

	alloc_rows(rows, dim);
	offset = check_alloc(sizeof(float) * dim);
	draw_vector(offset, dim, kind == 0 ? 0 : magnitude * pow(10, check_uniform(-2, 5)), NULL);
	for (int i = 0; i < ROWS; i++)
		draw_vector(rows->x + i * dim, dim, magnitude, offset);
	if (check_below(6) == 0)
		memcpy(rows->x + dim, rows->x, sizeof(float) * dim);

	draw_vector(rows->q, dim, magnitude * pow(10, check_uniform(-1, 2)),
	            check_below(3) == 0 ? NULL : offset);
	if (check_below(4) == 0)
		memcpy(rows->q, rows->x + check_below(ROWS) * dim, sizeof(float) * dim);

	switch (check_below(5))
	{
		case 0:
			free(rows->centre);
			rows->centre = NULL;
			break;
		case 1:
			memcpy(rows->centre, rows->x + check_below(ROWS) * dim, sizeof(float) * dim);
			break;
		case 2:
			draw_vector(rows->centre, dim, magnitude, NULL);
			break;
		default:
			for (int j = 0; j < dim; j++)
			{
				double sum = 0;

				for (int i = 0; i < ROWS; i++)
					sum += rows->x[i * dim + j];
				rows->centre[j] = to_float(sum / ROWS);
			}
	}
	free(offset);
	encode_rows(rows);
}

/* Compare what is kept of a row with the row, in more digits. */
static void
check_info(const Rows *rows, int i)
{
	const float *x = rows->x + i * rows->dim;
	const int8_t *code = rows->code + i * rows->dim;
	long double missed = 0;
	long double along = 0;
	long double coded = 0;
	long double norm = 0;
	long double largest = 0;
	long double distance = 0;
	float rounded;
	bool good = true;

	for (int j = 0; j < rows->dim; j++)
	{
		long double r = (long double) x[j] - (rows->centre ? rows->centre[j] : 0);
		long double y = (long double) rows->scale[i] * code[j];

		missed += (r - y) * (r - y);
		along += y * (r - y);
		coded += y * y;
		norm += (long double) x[j] * x[j];
		distance += r * r;
		largest = fmaxl(largest, fabsl(r));
		good &= code[j] >= -NW_CODE_MAX;
	}
	CHECK(good, "a code is below -127");
	missed = sqrtl(missed);
	norm = sqrtl(norm);
	distance = sqrtl(distance);

	CHECK(rows->error[i] >= missed, "error %g, %Lg missed", rows->error[i], missed);
	CHECK(isinf(rows->norm[i]) ? norm > 0.9999L * FLT_MAX
	                           : fabsl(rows->norm[i] - norm) <= norm * 0x1p-23L + 0x1p-149L,
	      "norm %g, not %Lg", rows->norm[i], norm);
	CHECK((rows->norm[i] == 0) == (norm == 0), "norm %g, not %Lg", rows->norm[i], norm);
	if (isinf(rows->error[i]))
		CHECK(rows->scale[i] == 0 && rows->sqnorm[i] == 0 &&
		          (distance > 1e19L || norm > 0.9999L * FLT_MAX),
		      "no code at distance %Lg", distance);
	else
	{
		CHECK(rows->error[i] <= missed * (1 + 1e-6L) + distance * 1e-14L + 0x1p-149L,
		      "error %g, only %Lg missed", rows->error[i], missed);
		CHECK(rows->error[i] <= largest / NW_CODE_MAX * sqrtl(rows->dim) * (0.5L + 1e-6L) +
		                            0x1p-149L * sqrtl(rows->dim) * NW_CODE_MAX,
		      "error %g, largest %Lg", rows->error[i], largest);
		CHECK(fabsl(along) <= coded * 0x1.1p-24L + 0x1p-149L,
		      "the code and what it misses have a product of %Lg, not 0", along);
		CHECK(fabsl(rows->sqnorm[i] - distance * distance) <=
		          distance * distance * 0x1p-23L + 0x1p-149L,
		      "sqnorm %g, not %Lg", rows->sqnorm[i], distance * distance);
	}

	rounded = nw_code_distance_up(x, rows->centre, rows->dim);
	CHECK(rounded >= distance, "distance %g, not %Lg", rounded, distance);
	CHECK(isinf(rounded) ? distance > 0.9999L * FLT_MAX
	                     : rounded <= distance * (1 + 1e-6L) + 0x1p-149L,
	      "distance %g, not %Lg", rounded, distance);
}

/* Compare scores of rows with their bounds. */
static void
check_bounds(const Rows *rows, NwKernel kernel, double tau, double magnitude)
{
	int dim = rows->dim;
	double *space = check_alloc(sizeof(double) * dim);
	float *t = check_alloc(sizeof(float) * dim);
	float dot[ROWS];
	double norms[ROWS];
	double score[ROWS];
	double lower[ROWS];
	double upper[ROWS];
	double most = kernel == NW_DOT ? HUGE_VAL : kernel == NW_COSINE ? 1 / tau : 0;
	double radius = 0;
	double norm_min = HUGE_VAL;
	double norm_max = 0;
	double low;
	double high;
	NwQuery query;
	NwCodeQuery cq;

	nw_query_init(&query, kernel, tau, rows->q, dim, space);
	nw_row_norms(kernel, rows->x, dim, ROWS, norms);
	nw_query_measure(&query, rows->x, norms, ROWS, score);
	nw_query_score(&query, score, ROWS, score);

	nw_code_query(&cq, &query, rows->centre, t);
	nw_code_dots(&cq, rows->code, ROWS, dot);
	nw_code_bounds(&cq, dot, rows->scale, rows->error, rows->sqnorm, rows->norm, ROWS, lower,
	               upper);
	for (int i = 0; i < ROWS; i++)
	{
		CHECK(lower[i] <= score[i] && score[i] <= upper[i] && upper[i] <= most,
		      "%s %s dim %d magnitude %g tau %g: %.17g not in %.17g .. %.17g", nw_simd->name,
		      nw_kernel_name(kernel), dim, magnitude, tau, score[i], lower[i], upper[i]);
	}

	/* a ball of any number of the rows */
	for (int i = 0; i < ROWS; i++)
	{
		radius = fmax(radius, nw_code_distance_up(rows->x + i * dim, rows->centre, dim));
		norm_min = fmin(norm_min, rows->norm[i]);
		norm_max = fmax(norm_max, rows->norm[i]);
		nw_ball_bounds(&query, rows->centre, radius, norm_min, norm_max, &low, &high);
		for (int k = 0; k <= i; k++)
		{
			CHECK(low <= score[k] && score[k] <= high && high <= most,
			      "ball %s %s dim %d magnitude %g tau %g: %.17g not in %.17g .. %.17g",
			      nw_simd->name, nw_kernel_name(kernel), dim, magnitude, tau, score[k], low, high);
		}
	}
	free(space);
	free(t);
}

/* Compare rows of one kind with their bounds, by all kernels. */
static void
check_rows(int dim, double magnitude)
{
	Rows rows;

	draw_rows(&rows, dim, magnitude);
	for (int i = 0; i < ROWS; i++)
		check_info(&rows, i);
	for (int k = 0; k < COUNT(kernels); k++)
		check_bounds(&rows, kernels[k], taus[check_below(COUNT(taus))], magnitude);
	free_rows(&rows);
}

/* Compare products with codes with sums in more digits. */
static void
check_products(int dim, int n)
{
	float *t = check_alloc(sizeof(float) * dim);
	int8_t *code = check_alloc((size_t) n * dim);
	float *out = check_alloc(sizeof(float) * n);

	for (int j = 0; j < dim; j++)
		t[j] = (float) check_normal();
	for (int j = 0; j < n * dim; j++)
		code[j] = (int8_t) (check_below(255) - 127);
	nw_simd->code_dot(t, code, dim, n, out);
	for (int i = 0; i < n; i++)
	{
		long double sum = 0;
		long double size = 0;

		for (int j = 0; j < dim; j++)
		{
			sum += (long double) t[j] * code[i * dim + j];
			size += fabsl((long double) t[j] * code[i * dim + j]);
		}
		CHECK(fabsl(out[i] - sum) <= (dim / 16 + 6) * 0x1p-24L * size,
		      "%s dim %d row %d of %d: %g, not %Lg", nw_simd->name, dim, i, n, out[i], sum);
	}
	free(t);
	free(code);
	free(out);
}

/*
 * Check that bounds are no wider than codes make them: normal rows around a
 * centre, and a query that is among them or far away.
 */
static void
check_width(int dim, double offset, double away)
{
	Rows rows;
	double *space = check_alloc(sizeof(double) * dim);
	float *t = check_alloc(sizeof(float) * dim);
	float dot[ROWS];
	double lower[ROWS];
	double upper[ROWS];

	alloc_rows(&rows, dim);
	for (int j = 0; j < dim; j++)
	{
		rows.centre[j] = (float) (offset * check_normal());
		rows.q[j] = (float) (rows.centre[j] + check_normal() * away);
	}
	for (int j = 0; j < ROWS * dim; j++)
		rows.x[j] = (float) (rows.centre[j % dim] + check_normal());
	encode_rows(&rows);

	for (int k = 0; k < COUNT(kernels); k++)
	{
		NwKernel kernel = kernels[k];
		double tau = pow(10, check_uniform(-3, 3));
		NwQuery query;
		NwCodeQuery cq;

		nw_query_init(&query, kernel, tau, rows.q, dim, space);
		nw_code_query(&cq, &query, rows.centre, t);
		nw_code_dots(&cq, rows.code, ROWS, dot);
		nw_code_bounds(&cq, dot, rows.scale, rows.error, rows.sqnorm, rows.norm, ROWS, lower,
		               upper);
		for (int i = 0; i < ROWS; i++)
		{
			double width = (upper[i] - lower[i]) * tau;
			double most = 2 * rows.error[i];
			double low;
			double high;
			double radius;
			double sum;

			if (kernel == NW_GAUSSIAN)
				most *= sqrt(-lower[i] * tau) + sqrt(-upper[i] * tau);
			else if (kernel == NW_DOT)
				most *= sqrt(query.sqnorm);
			else if (kernel == NW_COSINE)
				most = most / rows.norm[i] + 1e-6;
			else if (kernel == NW_HYPERSPHERE)
			{
				/* a cosine is (2 - distance^2) / 2 */
				most = 2 * (most / rows.norm[i] + 1e-6);
				width *= -(lower[i] + upper[i]) * tau;
			}
			CHECK(width <= 1.1 * most, "%s %s dim %d offset %g: width %g above %g", nw_simd->name,
			      nw_kernel_name(kernel), dim, offset, width, most);

			/* the ball of this row alone has a known width, too */
			radius = nw_code_distance_up(rows.x + i * dim, rows.centre, dim);
			nw_ball_bounds(&query, rows.centre, radius, rows.norm[i], rows.norm[i], &low, &high);
			width = (high - low) * tau;
			sum = -(low + high) * tau;
			if (kernel == NW_EUCLIDEAN || kernel == NW_GAUSSIAN)
				most = 2 * radius;
			else if (kernel == NW_DOT)
				most = 2 * radius * sqrt(query.sqnorm);
			else
				most = 2 * radius / rows.norm[i];
			if (kernel == NW_GAUSSIAN)
				most *= sqrt(-low * tau) + sqrt(-high * tau);
			else if (kernel == NW_HYPERSPHERE)
			{
				most *= 2;
				width *= sum;
			}
			CHECK(width <= 1.001 * most, "%s %s dim %d offset %g: ball's width %g above %g",
			      nw_simd->name, nw_kernel_name(kernel), dim, offset, width, most);
		}
	}
	free_rows(&rows);
	free(space);
	free(t);
}

/*
 * Check the cosines of balls where the largest and the smallest are known: in
 * two dimensions, the vectors of length 1 within radius of a centre.
 */
static void
check_caps(void)
{
	for (int r = 0; r < 1000; r++)
	{
		double angle = check_uniform(0, M_PI);
		double size = check_uniform(0.1, 2);
		double radius = check_uniform(fabs(1 - size), 1 + size);
		float centre[2] = {(float) size, 0};
		float q[2] = {(float) cos(angle), (float) sin(angle)};
		double cap = acos((1 + size * size - radius * radius) / (2 * size));
		double highest = angle < cap ? 1 : cos(angle - cap);
		double lowest = angle + cap > M_PI ? -1 : cos(angle + cap);
		double space[2];
		double lower;
		double upper;
		NwQuery query;

		nw_query_init(&query, NW_COSINE, 1, q, 2, space);
		nw_ball_bounds(&query, centre, radius, 1, 1, &lower, &upper);
		CHECK(fabs(upper - highest) < 1e-3 && fabs(lower - lowest) < 1e-3,
		      "angle %g centre %g radius %g: %g .. %g, not %g .. %g", angle, size, radius, lower,
		      upper, lowest, highest);

		/* of any length, where the ball leaves out 0 */
		radius = check_uniform(0, size);
		cap = asin(radius / size);
		highest = angle < cap ? 1 : cos(angle - cap);
		lowest = angle + cap > M_PI ? -1 : cos(angle + cap);
		nw_ball_bounds(&query, centre, radius, size - radius, size + radius, &lower, &upper);
		CHECK(fabs(upper - highest) < 1e-3 && fabs(lower - lowest) < 1e-3,
		      "angle %g centre %g radius %g: %g .. %g, not %g .. %g", angle, size, radius, lower,
		      upper, lowest, highest);
	}
}

/* Check what has no code, and what a code meets exactly. */
static void
check_edges(void)
{
	static const float largest[] = {FLT_MAX, -FLT_MAX, FLT_MAX};
	static const float smallest[] = {0x1p-149f, 0, -0x1p-149f};
	static const float zero[] = {0, 0, 0};
	static const float whole[] = {127, -3, 64};
	static const float *const vectors[] = {largest, smallest, zero, whole};

	for (int c = 0; c < 4; c++)
	{
		for (int v = 0; v < 4; v++)
		{
			const float *x = vectors[v];
			const float *centre = vectors[c];
			int8_t code[3];
			NwCodeInfo info;

			nw_code_encode(x, centre, 3, code, &info);
			CHECK(isinf(info.error) == (c == 0 || v == 0), "error %g", info.error);
			CHECK(c != v || v == 0 || info.error == 0, "error %g", info.error);
			CHECK(c != 2 || v != 3 ||
			          (code[0] == 127 && code[1] == -3 && code[2] == 64 && info.scale == 1),
			      "code %d %d %d, scale %g", code[0], code[1], code[2], info.scale);
			for (int k = 0; k < COUNT(kernels); k++)
			{
				for (int j = 0; j < 4; j++)
				{
					double space[3];
					double norm;
					double score;
					double lower;
					double upper;
					double most;
					bool known;
					float t[3];
					float dot;
					NwQuery query;
					NwCodeQuery cq;

					nw_query_init(&query, kernels[k], 0.5, vectors[j], 3, space);
					nw_row_norms(kernels[k], x, 3, 1, &norm);
					nw_query_measure(&query, x, &norm, 1, &score);
					nw_query_score(&query, &score, 1, &score);
					nw_code_query(&cq, &query, centre, t);
					nw_code_dots(&cq, code, 1, &dot);
					nw_code_bounds(&cq, &dot, &info.scale, &info.error, &info.sqnorm, &info.norm, 1,
					               &lower, &upper);
					CHECK(lower <= score && score <= upper,
					      "%s vector %d centre %d query %d: %g not in %g .. %g",
					      nw_kernel_name(kernels[k]), v, c, j, score, lower, upper);

					/* nothing is known, but that 0 has no direction */
					most = kernels[k] == NW_DOT ? HUGE_VAL : kernels[k] == NW_COSINE ? 2 : 0;
					known = nw_kernel_needs_norms(kernels[k]) && j == 2;
					CHECK(isfinite(info.error) || known ||
					          (nw_kernel_needs_norms(kernels[k]) && v == 2) ||
					          (upper == most && lower <= -2),
					      "%s vector %d centre %d query %d: %g .. %g", nw_kernel_name(kernels[k]),
					      v, c, j, lower, upper);

					nw_ball_bounds(&query, centre, HUGE_VAL, 0, HUGE_VAL, &lower, &upper);
					CHECK(lower <= score && score <= upper &&
					          (known || (upper == most && lower <= -2)),
					      "%s vector %d centre %d query %d: ball %g .. %g",
					      nw_kernel_name(kernels[k]), v, c, j, lower, upper);
				}
			}
		}
	}
}

int
main(void)
{
	check_start("code");
	for (int s = 0; s < SIMD_COUNT; s++)
	{
		const NwSimd *simd = nw_simd_find(simd_names[s]);

		if (simd == NULL)
			continue;
		nw_simd = simd;
		check_edges();
		check_caps();
		for (int n = 1; n < 70; n++)
			check_products(1 + check_below(200), n);
		check_products(16000, 5);
		check_rows(16000, 1);
		for (int d = 0; d < COUNT(dims); d++)
		{
			check_products(dims[d], 7);
			if (dims[d] >= 64)
			{
				check_width(dims[d], 0, 1);
				check_width(dims[d], 1, 1);
				check_width(dims[d], 1, 30);
				check_width(dims[d], 100, 1);
			}
			for (int m = 0; m < COUNT(magnitudes); m++)
			{
				for (int r = 0; r < (dims[d] > 200 ? 2 : 20); r++)
					check_rows(dims[d], magnitudes[m]);
			}
		}
	}
	return check_finish();
}
