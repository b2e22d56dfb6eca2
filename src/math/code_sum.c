/*
 * math/code_sum.c
 *		Bound a sum over many rows by their codes.
 *
 * One row's code leaves its score uncertain by as much as error allows, and so
 * it does for all rows together, should all codes err to the same side.  They
 * do not: one direction, the query's, decides what each of them misses.
 *
 * Write x = c + y + r as in code.c, and v for what codes are multiplied with,
 * q - c or q.  What a score depends on beyond the code is z = v . r alone.  s is
 * the score where z is 0, its middle, s + t the true one, and M the sum of
 * exp(s).
 *
 * Kernels gaussian, dot and cosine: t = g z, where g, the slope, is 2 / tau,
 * 1 / tau or 1 / (tau |x|).  Kernels euclidean and hypersphere: a squared
 * distance is D^2 - 2 z, or D^2 - 2 z / |x|, and s = -D / tau, so that
 *		t = g z + t^2 / (2 |s|),	g = 1 / (tau D) or 1 / (tau D |x|).
 * With |t| <= T, the reach, and 1 + t <= exp(t) <= 1 + t + exp(T) t^2 / 2:
 *		M + sum exp(s) g z <= sum exp(s + t) <= M + sum exp(s) g z +
 *			sum exp(s) t^2 (1 / (2 |s|) + exp(T) / 2),
 * 1 / (2 |s|) for the latter kernels only.  There t = 2 g z D / (d + D), d being
 * the true distance, and T <= |s| / 2 is asked for: t^2 <= (g z)^2 (4/3)^2.
 *
 * The sums over z are bounded by the norm of the matrix whose rows are the
 * residuals r, the spread: the vector of all z is that matrix times v.  By
 * Cauchy and Schwarz,
 *		|sum exp(s) g z| <= spread |v| (sum (exp(s) g)^2)^(1/2),
 *		sum exp(s) (g z)^2 <= spread^2 |v|^2 max exp(s) g^2.
 * Rows left out do not make the norm larger, so the same spread serves any part
 * of a list.
 *
 * Besides, each term lies within exp(T) of its middle; the better one counts.
 *
 * T follows from |z| <= |v| error, and for distances from the triangle
 * inequality: d is within error of p = |q - c - y|, and D^2 is p^2 + |r|^2, so D
 * is above p by at most error^2 / D, and D^2 within 2 p error of d^2.
 *
 * The middles as computed are off by no more than blur, which multiplies M by
 * exp(blur) at the most, and a ratio of sums by its square.  Squared distances
 * are off by half at the most, so a true D may be smaller than the computed one
 * by the factor (1 - half / D^2)^(1/2), and g larger.
 */
#include "math/code_sum.h"

#include <float.h>
#include <math.h>

#include "math/elementary.h"
#include "math/simd/simd.h"

/* What is known of some rows. */
typedef struct Terms
{
	double top; /* the highest middle */
	double reach;
	double blur;
	double least;
	double slope; /* by how much the slope may be larger */
} Terms;

/* True for kernels whose scores are roots. */
static bool
is_root(NwKernel kernel)
{
	return kernel == NW_EUCLIDEAN || kernel == NW_HYPERSPHERE;
}

/*
 * Begin a sum over rows no farther from the centre than radius, with errors up
 * to error and norms from norm on.
 */
void
nw_code_sum_init(NwCodeSum *sum, const NwCodeQuery *cq, double radius, double error, double norm)
{
	const NwCodeLine *line = &cq->line;
	double factor = cq->factor;

	/* the longest code is 127 at the least, and shorter than the vector */
	double scale = radius / NW_CODE_MAX * (1 + 2 * FLT_EPSILON) + FLT_MIN;

	*sum = (NwCodeSum) {.top = -HUGE_VAL, .least = HUGE_VAL};
	if (nw_code_is_distance(cq->kernel))
	{
		sum->half = line->slack + line->share * radius * radius * (1 + FLT_EPSILON);
		sum->missed = error;
		sum->far = cq->length + radius;
		sum->slope = cq->kernel == NW_EUCLIDEAN ? factor * factor : 2 * factor;
		return;
	}
	sum->half = line->slack + line->step * scale;
	sum->missed = line->share * error;
	sum->slope = factor;
	if (cq->kernel == NW_DOT)
		return;

	/* a norm that is hardly any makes all that follows infinite */
	norm = norm >= FLT_MIN && !cq->zero ? norm * (1 - 2 * FLT_EPSILON) : 0;
	sum->half = sum->half / norm + NW_CODE_NEAR;
	sum->missed /= norm;
	sum->half += 2 * FLT_EPSILON * (1 + sum->half + sum->missed);
	sum->slope /= norm;
	if (cq->kernel == NW_HYPERSPHERE)
	{
		sum->half = 2 * sum->half + 2 * NW_CODE_NEAR;
		sum->far = 2;
		sum->slope *= factor;
	}
}

/*
 * Turn middles of squared distances into scores; near is the least of them.
 * False where the codes are too vague for it.
 */
static bool
root_middles(const NwCodeQuery *cq, const NwCodeSum *sum, double near, int n, double *middle,
             Terms *terms)
{
	double root = sqrt(near);
	double more;

	if (!(4 * sum->half < near))
		return false;
	nw_simd->root_scores(middle, n, cq->factor, middle);

	/* the true ones may be nearer */
	more = 1 / sqrt(1 - sum->half / near);
	terms->top = -root * cq->factor;
	terms->slope = more;
	root /= more;
	terms->blur = (sum->half / root + NW_CODE_WIDE * sum->far) * cq->factor;
	terms->least = root * cq->factor;
	terms->reach =
		cq->factor * (cq->kernel == NW_EUCLIDEAN ? sum->missed + sum->missed * sum->missed / root
	                                             : 2 * sum->missed / root);
	return 2 * terms->reach < terms->least;
}

/* The middles of scores, and how far they may be off. */
static bool
middles(const NwCodeQuery *cq, const NwCodeSum *sum, const float *dot, const float *scale,
        const float *error, const float *sqnorm, const float *norm, int n, double *middle,
        Terms *terms)
{
	double factor = cq->factor;
	double near;

	near = nw_simd->code_middles(&cq->line, dot, scale,
	                             nw_code_is_distance(cq->kernel) ? sqnorm : error, n, middle);
	if (cq->kernel == NW_EUCLIDEAN)
		return root_middles(cq, sum, near, n, middle, terms);
	if (nw_kernel_needs_norms(cq->kernel))
	{
		for (int i = 0; i < n; i++)
			middle[i] /= norm[i];
	}
	if (cq->kernel == NW_HYPERSPHERE)
	{
		near = HUGE_VAL;
		for (int i = 0; i < n; i++)
		{
			middle[i] = 2 - 2 * middle[i];
			near = middle[i] < near ? middle[i] : near;
		}
		return root_middles(cq, sum, near, n, middle, terms);
	}

	terms->slope = 1;
	terms->least = HUGE_VAL;
	terms->blur = sum->half * factor;
	terms->reach = sum->missed * factor;
	if (cq->kernel == NW_GAUSSIAN)
	{
		factor = -factor;
		terms->blur += 3 * NW_CODE_WIDE * sum->far * sum->far * cq->factor;
		terms->reach *= 2 * sum->far;
	}
	for (int i = 0; i < n; i++)
		middle[i] *= factor;
	terms->top = nw_simd->max(middle, n);
	return isfinite(terms->top);
}

/*
 * Add n rows, at most NW_CODE_SUM_MAX; false where their codes are too vague
 * for it, and nothing is added.
 */
bool
nw_code_sum_add(NwCodeSum *sum, const NwCodeQuery *cq, const float *dot, const float *scale,
                const float *error, const float *sqnorm, const float *norm, int n)
{
	double score[NW_CODE_SUM_MAX];
	double top;
	double shrink;
	Terms terms;
	NwMoments moments;

	if (n == 0)
		return true;

	/* what is not a number is not below 1, either */
	if (!isfinite(sum->half) || !isfinite(sum->missed) ||
	    !middles(cq, sum, dot, scale, error, sqnorm, norm, n, score, &terms) ||
	    !(terms.reach < 1) || !(terms.blur < 1))
		return false;

	top = terms.top > sum->top ? terms.top : sum->top;
	nw_simd->exp_moments(score, n, top, is_root(cq->kernel), &moments);
	shrink = sum->top == -HUGE_VAL ? 0 : nw_exp(sum->top - top);
	sum->top = top;
	sum->moments.sum = sum->moments.sum * shrink + moments.sum;
	sum->moments.squares = sum->moments.squares * shrink * shrink + moments.squares;
	sum->moments.peak = fmax(sum->moments.peak * shrink, moments.peak);
	sum->reach = fmax(sum->reach, terms.reach);
	sum->blur = fmax(sum->blur, terms.blur);
	sum->least = fmin(sum->least, terms.least);
	sum->more = fmax(sum->more, terms.slope);
	return true;
}

/*
 * Bound the logarithm of the sum: the rows' residuals x - centre - scale * code
 * have, as a matrix, a norm of at most spread (HUGE_VAL where none is known).
 */
void
nw_code_sum_bounds(const NwCodeSum *sum, const NwCodeQuery *cq, double spread, double *lower,
                   double *upper)
{
	const NwMoments *moments = &sum->moments;
	double more = nw_exp(2 * sum->blur) * (1 + NW_CODE_WIDE);
	double pull = sum->slope * sum->more * cq->length * spread;
	double curve = nw_exp(sum->reach) / 2;
	double linear;
	double second;
	double down;
	double up;
	double middle;

	if (moments->sum == 0)
	{
		*lower = *upper = -HUGE_VAL;
		return;
	}
	if (is_root(cq->kernel))
		curve = 16.0 / 9.0 * (curve + 1 / (2 * sum->least));
	linear = pull * sqrt(moments->squares) / moments->sum * more;
	second = pull * pull * moments->peak / moments->sum * curve * more;

	/* fmin() takes the number where one of them is none */
	down = fmin(sum->reach, linear < 1 ? -nw_log1p(-linear) : HUGE_VAL);
	up = fmin(sum->reach, nw_log1p(linear + second));
	middle = sum->top + nw_log(moments->sum);
	*lower = middle - down - sum->blur;
	*upper = middle + up + sum->blur;
}
