/*
 * math/code.c
 *		Vectors in one byte a dimension, and bounds on what they score.
 *
 * Write x = c + y + r for a vector, its centre, its code times scale and what
 * the code misses; |r| <= error, which is computed from the rounded scale and
 * rounded up itself.  u is the half-unit of a float, 2^-24.  The scale is the
 * one that makes |r| least for the code, so that y . r = 0 but for the rounding
 * of the scale, which leaves u |y|^2 at the most.
 *
 * Products with codes.  w is q - c or q, and t is w divided by a power of two
 * that is no smaller than |w|, nor twice as large: nothing overflows, and what
 * a t_j loses by underflow, 2^-150, is nothing beside |t| >= 1/2.  The sum of
 * t_j * code_j has rounding errors of u for each t_j, for each product, for
 * each of up to dim / 16 additions in its lane and for four additions that
 * fold the lanes: together at most
 *		(dim / 16 + 6) u * sum |t_j| |code_j| <= (dim / 16 + 6) u * |t| |code|,
 * by Cauchy and Schwarz, so w . y is off by at most (dim / 16 + 6) u |w| |y|.
 * share is (dim / 16 + 16) u: the difference covers terms of u^2, sqnorm's
 * rounding, 2 y . r, and all that is done in double.
 *
 * Distances.  D^2 = |w|^2 + |x - c|^2 - 2 w . y is |q - x|^2 + 2 w . r, and
 * |q - c - y|^2 + |r|^2 + 2 y . r.  2 |w| |y| <= |w|^2 + |y|^2, and |y| <=
 * |x - c| but for rounding, so it is off by at most share * (|w|^2 +
 * |x - c|^2), and TINY where sqnorm underflows.  The root of D^2 - |r|^2 is
 * |q - c - y|, from which the distance of x differs by at most error, by the
 * triangle inequality.
 *
 * Inner products.  q . x = q . c + q . y + q . r, off by |q| error, by
 * share * |q| |y| with |y| <= scale * 127 * sqrt(dim), and by what double
 * precision loses in q . c.
 *
 * Cosines are inner products with a query of length 1, divided by norms that
 * are known within 2 u.  A squared distance on the sphere is |q'|^2 + |x'|^2
 * less twice the cosine, and each of these lengths is 1 or 0.
 *
 * WIDE and NEAR cover double's rounding, here and in kernel.c, the one
 * relative, the other absolute in cosines and relative to |q| |x| in inner
 * products: it is at most (dim / 16 + 8) * 2^-44, which is below 1e-10 up to
 * 16,000 dimensions.
 */
#include "math/code.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "math/simd/simd.h"

/* Half the distance from 1 to the next float. */
#define UNIT (FLT_EPSILON / 2.0)

/* The smallest float above 0; no norm of another vector is below it. */
#define TINY 0x1p-149

#define WIDE NW_CODE_WIDE
#define NEAR NW_CODE_NEAR

/* Adding this to a small number rounds it to an integer. */
#define ROUND 0x1.8p52

/* Round to a float not below; +inf where there is none. */
float
nw_round_up(double value)
{
	float result;

	if (!(value <= FLT_MAX))
		return HUGE_VALF;
	result = (float) value;
	return result < value ? nextafterf(result, HUGE_VALF) : result;
}

/* One number of a vector as seen from its centre. */
static inline double
residual(const float *x, const float *centre, int j)
{
	return centre ? (double) x[j] - centre[j] : x[j];
}

/* |x|, in double. */
static double
length(const float *x, int dim)
{
	double sqnorm;

	if (x == NULL)
		return 0;
	nw_simd->sqnorm(x, dim, 1, &sqnorm);
	return sqrt(sqnorm);
}

/*
 * Encode x [dim] against centre [dim] as code [dim].  A vector too large for
 * the arithmetic has an infinite error, and a code of zeros.
 */
void
nw_code_encode(const float *x, const float *centre, int dim, int8_t *code, NwCodeInfo *info)
{
	double norm = length(x, dim);
	double largest = 0;
	double inverse;
	double missed = 0;
	double sqnorm = 0;
	double product = 0;
	double squares = 0;
	float scale;

	for (int j = 0; j < dim; j++)
	{
		double size = fabs(residual(x, centre, j));

		largest = largest > size ? largest : size;
	}

	/* rounded up, so that no code is beyond 127 */
	scale = nw_round_up(largest / NW_CODE_MAX);
	if (scale * (double) NW_CODE_MAX < largest)
		scale = nextafterf(scale, HUGE_VALF);
	inverse = scale > 0 ? 1.0 / scale : 0;

	for (int j = 0; j < dim; j++)
	{
		double r = residual(x, centre, j);
		double k = (r * inverse + ROUND) - ROUND;

		code[j] = (int8_t) k;
		product += k * (r * inverse);
		squares += k * k;
		sqnorm += r * r;
	}

	/* the best one for this code */
	if (squares > 0)
		scale = (float) (scale * (product / squares));
	for (int j = 0; j < dim; j++)
	{
		double rest = residual(x, centre, j) - code[j] * (double) scale;

		missed += rest * rest;
	}

	/* a residual itself is rounded to double */
	missed = sqrt(missed) * (1 + WIDE) + sqrt(sqnorm) * (4 * DBL_EPSILON);

	info->scale = scale;
	info->error = nw_round_up(missed);
	info->sqnorm = sqnorm <= FLT_MAX ? (float) sqnorm : HUGE_VALF;
	info->norm = norm <= FLT_MAX ? (float) norm : HUGE_VALF;
	if (isinf(info->error) || isinf(info->sqnorm) || isinf(info->norm))
	{
		memset(code, 0, dim);
		info->scale = 0;
		info->sqnorm = 0;
		info->error = HUGE_VALF;
	}
}

/*
 * What a code misses, x - centre - scale * code, as rest [dim].  Returns by how
 * much that may be off; it is of no use where error is +inf.
 */
double
nw_code_residual(const float *x, const float *centre, int dim, const int8_t *code,
                 const NwCodeInfo *info, float *rest)
{
	for (int j = 0; j < dim; j++)
		rest[j] = (float) (residual(x, centre, j) - code[j] * (double) info->scale);

	/* rounded to float, from differences in double */
	return UNIT * info->error + 4 * DBL_EPSILON * sqrt(info->sqnorm) + TINY * sqrt(dim);
}

/* |x - centre|, rounded up: what a ball's radius must not be below */
float
nw_code_distance_up(const float *x, const float *centre, int dim)
{
	double sum = 0;

	for (int j = 0; j < dim; j++)
	{
		double r = residual(x, centre, j);

		sum += r * r;
	}
	return nw_round_up(sqrt(sum) * (1 + NEAR));
}

/* |q|, which is 1 or 0 where the query is scaled. */
static double
query_length(const NwQuery *query)
{
	if (!nw_kernel_needs_norms(query->kernel))
		return sqrt(query->sqnorm);
	for (int j = 0; j < query->dim; j++)
	{
		if (query->q[j] != 0)
			return 1;
	}
	return 0;
}

/* q . centre */
static double
query_dot(const NwQuery *query, const float *centre)
{
	double dot = 0;

	if (centre)
		nw_simd->dot(query->q, centre, query->dim, 1, &dot);
	return dot;
}

/* |q - centre|^2 */
static double
query_sqdist(const NwQuery *query, const float *centre)
{
	double sqdist = query->sqnorm;

	if (centre)
		nw_simd->sqdist(query->q, centre, query->dim, 1, &sqdist);
	return sqdist;
}

/* Make a query ready; t [dim] must outlive it. */
void
nw_code_query(NwCodeQuery *cq, const NwQuery *query, const float *centre, float *t)
{
	NwCodeLine *line = &cq->line;
	double share = (query->dim / NW_LANES + 16) * UNIT;
	double norm;
	int exponent;
	double unit;

	memset(line, 0, sizeof(*line));
	if (nw_code_is_distance(query->kernel))
	{
		line->base = query_sqdist(query, centre);
		line->plus = 1;
		line->slack = share * line->base + TINY;
		line->share = share;
		line->times = -2;
		norm = sqrt(line->base);
	}
	else
	{
		line->base = query_dot(query, centre);
		norm = query_length(query);
		line->slack = NEAR * norm * length(centre, query->dim);
		line->share = (1 + WIDE) * norm;
		line->step = (share + NEAR) * norm * NW_CODE_MAX * sqrt(query->dim);
		line->times = 1;
		line->least = -HUGE_VAL;
		centre = NULL;
	}
	cq->length = norm * (1 + WIDE);
	frexp(norm, &exponent);
	unit = ldexp(1, exponent);
	line->times *= unit;
	nw_simd->code_query(query->q, centre, query->dim, 1 / unit, t);

	cq->kernel = query->kernel;
	cq->dim = query->dim;
	cq->factor = query->inverse_tau;
	cq->t = t;
	cq->zero = norm == 0;
}

/* Turn a range of distances into one of scores. */
static void
distance_scores(NwKernel kernel, double factor, double near, double far, double *lower,
                double *upper)
{
	near *= 1 - WIDE;
	far *= 1 + WIDE;
	if (kernel == NW_GAUSSIAN)
	{
		near *= near;
		far *= far;
	}
	*lower = -far * factor;
	*upper = -near * factor;
}

/*
 * Turn a range of cosines into one of squared distances on the sphere, whose
 * order is the scores' order; sqnorms are |q'|^2 + |x'|^2.
 */
static inline void
cosine_distances(double sqnorms, double *lower, double *upper)
{
	double nearest = sqnorms - 2 * *upper - 2 * NEAR;

	*lower = sqnorms - 2 * *lower + 2 * NEAR;
	*upper = nearest > 0 ? nearest : 0;
}

/* The range of norms that a float stands for; 0 stands for itself alone. */
static double
least_norm(double norm)
{
	double least = norm * (1 - FLT_EPSILON) - TINY;

	if (norm == 0)
		return 0;
	if (!(norm <= FLT_MAX))
		return FLT_MAX / 2;
	return least > TINY / 2 ? least : TINY / 2;
}

static double
most_norm(double norm)
{
	return norm == 0 ? 0 : norm * (1 + FLT_EPSILON) + TINY;
}

/* dot [n]: the inner products that all bounds begin with; code [n][dim] */
void
nw_code_dots(const NwCodeQuery *cq, const int8_t *code, int n, float *dot)
{
	nw_simd->code_dot(cq->t, code, cq->dim, n, dot);
}

/*
 * lower[i] <= score of row i <= upper[i], the score being what
 * nw_query_measure() + nw_query_score() give for the exact vector (all their
 * rounding included), for n rows: their inner products, and the infos as four
 * arrays.  Never NaN; lower may be -HUGE_VAL, and upper of the dot kernel
 * HUGE_VAL.
 */
void
nw_code_bounds(const NwCodeQuery *cq, const float *dot, const float *scale, const float *error,
               const float *sqnorm, const float *norm, int n, double *lower, double *upper)
{
	double factor = cq->factor;

	if (nw_code_is_distance(cq->kernel))
	{
		nw_simd->code_ranges(&cq->line, dot, scale, sqnorm, n, lower, upper);
		for (int i = 0; i < n; i++)
		{
			double less = lower[i] - (double) error[i] * error[i];

			lower[i] = less > 0 ? less : 0;
		}
		nw_simd->root_scores(lower, n, -1, lower);
		nw_simd->root_scores(upper, n, -1, upper);
		nw_simd->code_scores(error, n, cq->kernel == NW_GAUSSIAN, -factor * (1 - WIDE),
		                     -factor * (1 + WIDE), lower, upper);
		return;
	}

	nw_simd->code_ranges(&cq->line, dot, scale, error, n, lower, upper);
	if (cq->kernel != NW_DOT)
		nw_simd->code_cosines(norm, n, FLT_MIN, 2 * FLT_EPSILON, NEAR, lower, upper);
	if (cq->kernel == NW_HYPERSPHERE)
	{
		for (int i = 0; i < n; i++)
			cosine_distances(!cq->zero + (norm[i] > 0), &lower[i], &upper[i]);
		nw_simd->root_scores(lower, n, factor, lower);
		nw_simd->root_scores(upper, n, factor, upper);
		return;
	}
	for (int i = 0; i < n; i++)
	{
		lower[i] *= factor;
		upper[i] *= factor;
	}
}

/* The sine of an angle between 0 and pi by its cosine. */
static double
sine(double cosine)
{
	return sqrt((1 - cosine) * (1 + cosine));
}

/*
 * Bound the cosines of a unit query with the vectors of a ball that are not
 * zero.
 *
 * |x - c| <= r and |x| = n mean that the angle between x and c is at most that
 * whose cosine is (n^2 + |c|^2 - r^2) / (2 n |c|).  The least of these over
 * the norms is at n^2 = |c|^2 - r^2, or the end of the range next to it.  The
 * angle between query and centre, plus and minus that angle, bounds the one
 * between query and x.
 */
static void
cap_cosines(double dot, double length, double radius, double norm_min, double norm_max,
            double *lower, double *upper)
{
	double reach = length + radius;
	double power = (length - radius) * reach - NEAR * reach * reach;
	double norm = power > 0 ? sqrt(power) : 0;
	double cap;
	double near;
	double far;

	*lower = -1;
	*upper = 1;
	norm = norm < norm_max ? norm : norm_max;
	norm = norm > norm_min ? norm : norm_min;
	cap = (norm + power / norm - NEAR * (norm + fabs(power) / norm)) / (2 * length);

	/* neither where the centre is 0 nor where something is infinite */
	if (!(cap > -1))
		return;
	cap = cap < 1 ? cap : 1;
	near = dot / length + NEAR;
	far = dot / length - NEAR;
	if (near < cap)
		*upper = fmin(near * cap + sine(near) * sine(cap) + NEAR, 1);
	if (far > -cap)
		*lower = fmax(far * cap - sine(far) * sine(cap) - NEAR, -1);
}

/* Bound the scores of a ball by cosines. */
static void
cosine_ball_bounds(const NwQuery *query, const float *centre, double radius, double norm_min,
                   double norm_max, double *lower, double *upper)
{
	double factor = query->inverse_tau;
	double norm = query_length(query);
	bool any = norm_max > 0;

	*lower = *upper = 0;
	if (any && norm > 0)
		cap_cosines(query_dot(query, centre), length(centre, query->dim), radius,
		            least_norm(norm_min), most_norm(norm_max), lower, upper);
	if (query->kernel == NW_HYPERSPHERE)
	{
		cosine_distances(norm + any, lower, upper);
		if (norm_min == 0)
		{
			/* the distance of the zero vector is |q'| */
			*lower = fmax(*lower, norm + NEAR);
			*upper = fmin(*upper, norm * (1 - NEAR));
		}
		nw_simd->root_scores(lower, 1, factor, lower);
		nw_simd->root_scores(upper, 1, factor, upper);
		return;
	}
	if (norm_min == 0)
	{
		/* its cosine is 0 */
		*lower = fmin(*lower, 0);
		*upper = fmax(*upper, 0);
	}
	*lower *= factor;
	*upper *= factor;
}

/*
 * The same for a ball: every vector within radius of the centre, with
 * NwCodeInfo's norm between norm_min and norm_max.
 */
void
nw_ball_bounds(const NwQuery *query, const float *centre, double radius, double norm_min,
               double norm_max, double *lower, double *upper)
{
	double factor = query->inverse_tau;

	if (nw_code_is_distance(query->kernel))
	{
		double distance = sqrt(query_sqdist(query, centre));
		double near = distance * (1 - WIDE) - radius;

		distance_scores(query->kernel, factor, near > 0 ? near : 0, distance + radius, lower,
		                upper);
	}
	else if (query->kernel == NW_DOT)
	{
		double dot = query_dot(query, centre);
		double slack =
			query_length(query) * (radius + WIDE * (radius + length(centre, query->dim)));

		/* where there is no number, there is no bound */
		*lower = dot - slack > -HUGE_VAL ? (dot - slack) * factor : -HUGE_VAL;
		*upper = dot + slack < HUGE_VAL ? (dot + slack) * factor : HUGE_VAL;
	}
	else
		cosine_ball_bounds(query, centre, radius, norm_min, norm_max, lower, upper);
}
