/*
 * math/simd/simd.h
 *		Inner loops over packed float rows, chosen once for the CPU at hand.
 *
 * One arithmetic for every path.  A sum over dimensions is kept in NW_LANES
 * double accumulators, dimension j going to lane j mod NW_LANES by fused
 * multiply-add, and the lanes are folded pairwise: lane i with lane i + 8,
 * then + 4, + 2, + 1.  Every implementation performs exactly these operations
 * in exactly this order, so a pair of vectors has one distance, to the last
 * bit, whatever the instruction set, the block size or the row's position.
 *
 * Pure C: no PostgreSQL, no allocation, no errors.
 */
#ifndef NW_MATH_SIMD_SIMD_H
#define NW_MATH_SIMD_SIMD_H

#include <stdbool.h>
#include <stdint.h>

#define NW_LANES 16

/*
 * exp(score) in the form that sums without rounding: the integer
 * hi * 2^64 + lo, scaled by 2^(NW_BIN_BITS * bin - 52), see mass.h.
 */
#define NW_BIN_BITS 32

/* How many terms bin_sum takes: a term is below 2^84. */
#define NW_BIN_SUM_MAX 4096

/* Where exp_bins has integers for bins. */
#define NW_EXP_BINS_TOP 0x1p24

/* The largest number in a half-size copy, see copies.h. */
#define NW_COPY_MAX 32767

/*
 * How an inner product with a code, its scale and one more number make a
 * range: base + times * scale * dot + plus * more, give or take
 * slack + share * more + step * scale; see code.c.
 */
typedef struct NwCodeLine
{
	double base;
	double times;
	double plus;
	double slack;
	double share;
	double step;
	double least; /* no range begins below */
} NwCodeLine;

/*
 * Of terms w = exp(score - shift): their sum, the sum of their squares, and the
 * largest.  The squares and the largest may be those of w / |score|, and of
 * w / score^2.
 */
typedef struct NwMoments
{
	double sum;
	double squares;
	double peak;
} NwMoments;

typedef struct NwSimd
{
	const char *name; /* "scalar", "avx2", "avx512" or "neon" */

	/* out[i] = sum over j of (q[j] - x[i][j])^2; q [dim], x [n][dim] */
	void (*sqdist)(const double *q, const float *x, int dim, int n, double *out);

	/* out[i] = sum over j of (q[j] - scale[i] * x[i][j])^2; the product is
	 * rounded to double before the subtraction is fused with it: the
	 * difference is fma(-scale[i], x[i][j], q[j]) */
	void (*sqdist_scaled)(const double *q, const float *x, const double *scale, int dim, int n,
	                      double *out);

	/* out[i] = sum over j of q[j] * x[i][j] */
	void (*dot)(const double *q, const float *x, int dim, int n, double *out);

	/* out[i] = sum over j of x[i][j]^2 */
	void (*sqnorm)(const float *x, int dim, int n, double *out);

	/* both of these at once */
	void (*dot_sqnorm)(const double *q, const float *x, int dim, int n, double *dot,
	                   double *sqnorm);

	/*
	 * value[i] = q2 + x2[i] - 2 * value[i], each operation rounded; true where
	 * one of them is not above share * (q2 + x2[i])
	 */
	bool (*close_sqdist)(double q2, const double *x2, double share, int n, double *value);

	/* out[i] = -factor * sqrt(value[i]), each operation rounded correctly;
	 * the arrays may be the same */
	void (*root_scores)(const double *value, int n, double factor, double *out);

	/*
	 * Split exp(score[i]) into bin[i], hi[i] and lo[i].  Relative error below
	 * 1e-15 for scores of magnitude up to 700, growing as |score| * 2^-53
	 * beyond (the score's own last digit).  Scores are finite.
	 */
	void (*exp_split)(const double *score, int n, double *bin, uint64_t *hi, uint64_t *lo);

	/*
	 * The sums above for many queries at once: q [nq][dim], x [n][dim],
	 * scale [n], out [nq][n].  Each pair has the bits of the single-query
	 * function; a row is widened once for many queries, and rows and queries
	 * are read from memory once for several of the other.
	 */
	void (*sqdist_block)(const double *q, int nq, const float *x, int dim, int n, double *out);
	void (*sqdist_scaled_block)(const double *q, int nq, const float *x, const double *scale,
	                            int dim, int n, double *out);
	void (*dot_block)(const double *q, int nq, const float *x, int dim, int n, double *out);

	/*
	 * Sum of exp(factor * score[i] - shift), the argument rounded once; the
	 * caller chooses shift so that no argument is far above 0.  Relative
	 * error of each term below 1e-14; terms of arguments below -700 are 0.
	 * Term i goes to partial sum i mod 8, and the sums are folded i with
	 * i + 4, then + 2, + 1: the order of the terms shows in the last digits,
	 * the implementation does not.
	 */
	double (*exp_sum)(const double *score, int n, double factor, double shift);

	/*
	 * The moments of n terms, over the scores where asked for, which are not 0
	 * then.  Terms and sums are as exact as those of exp_sum.
	 */
	void (*exp_moments)(const double *score, int n, double shift, bool over_scores, NwMoments *out);

	/* The largest of n numbers, none of them NaN; -HUGE_VAL for none */
	double (*max)(const double *value, int n);

	/*
	 * Sum the terms that fall into bins top, top - 1 and top - 2: the sum of
	 * bin top - k is high[k] * 2^32 + low[k].  No bin is above top; n is at
	 * most NW_BIN_SUM_MAX, so that nothing overflows.
	 */
	void (*bin_sum)(double top, int n, const double *bin, const uint64_t *hi, const uint64_t *lo,
	                uint64_t *low, uint64_t *high);

	/*
	 * exp_split and bin_sum in one, with nothing stored in between.  No score
	 * has a bin above top, top is within NW_EXP_BINS_TOP of 0, and n is at
	 * most NW_BIN_SUM_MAX; -HUGE_VAL counts as nothing.  NULL where the two
	 * are as good: see nw_mass_add_scores().
	 */
	void (*exp_bins)(double top, int n, const double *score, uint64_t *low, uint64_t *high);

	/*
	 * copy[j] = x[j] * scale / step, rounded and kept within -32767 .. 32767;
	 * returns the sum over j of (x[j] * scale - copy[j] * step)^2
	 */
	double (*copies_copy)(const float *x, int dim, double scale, double step, int16_t *copy);

	/*
	 * out[i] = sum over j of (t[j] - copy[i][j])^2 in float; t [dim], copy
	 * [n][dim].  Off by at most dim / 16 + 24 half-units in the last place of a
	 * float: see copies.c.
	 */
	void (*copies_sqdist)(const float *t, const int16_t *copy, int dim, int n, float *out);

	/* t[j] = (q[j] - centre[j]) * scale in float; centre may be NULL */
	void (*code_query)(const double *q, const float *centre, int dim, double scale, float *t);

	/*
	 * out[i] = sum over j of t[j] * code[i][j] in float; t [dim], code
	 * [n][dim].  Off by at most dim / 16 + 6 half-units in the last place of the
	 * sum of the terms' magnitudes: see code.c.
	 */
	void (*code_dot)(const float *t, const int8_t *code, int dim, int n, float *out);

	/* The middles of the ranges of a line; returns the least, or HUGE_VAL */
	double (*code_middles)(const NwCodeLine *line, const float *dot, const float *scale,
	                       const float *more, int n, double *out);

	/* The ranges of a line; where one is not a number, it is unbounded. */
	void (*code_ranges)(const NwCodeLine *line, const float *dot, const float *scale,
	                    const float *more, int n, double *low, double *high);

	/*
	 * Widen ranges of distances by error[i], but not below 0; then take
	 * high[i] * far for low[i] and low[i] * near for high[i], of the squares
	 * where asked for.
	 */
	void (*code_scores)(const float *error, int n, bool square, double near, double far,
	                    double *low, double *high);

	/*
	 * Divide ranges by norm[i], widen them by share of themselves and slack,
	 * and keep them within -1 .. 1.  Below the least norm any range is
	 * -1 .. 1; at 0 it is 0 alone.
	 */
	void (*code_cosines)(const float *norm, int n, float least, double share, double slack,
	                     double *low, double *high);

	/* Widen IEEE binary16 to float, subnormals, infinities and NaN included */
	void (*half_to_float)(const uint16_t *half, int n, float *out);
} NwSimd;

extern const NwSimd *nw_simd;

/*
 * How many bytes ahead of the row at hand sums and codes fetch rows: the
 * hardware's own prefetch stops at each page.  Whoever knows better what is
 * worked on next sets nw_simd_ahead for a call; it may be negative.
 */
#define NW_PREFETCH_BYTES 8192
extern int nw_simd_ahead;
extern void nw_simd_init(void);
extern const NwSimd *nw_simd_find(const char *name);

#endif /* NW_MATH_SIMD_SIMD_H */
