/*
 * math/kernel.h
 *		How the distance between a query and a support becomes a score.
 *
 *	name			measure			distance			score
 *	euclidean		|q - x|^2		sqrt(measure)		-distance / tau
 *	gaussian		|q - x|^2		sqrt(measure)		-measure / tau
 *	hypersphere		|q' - x'|^2		sqrt(measure)		-distance / tau
 *	cosine			q' . x'			1 - measure			measure / tau
 *	dot				q . x			-measure			measure / tau
 *
 * Division by tau is multiplication by 1 / tau, rounded once for all rows.
 *
 * |q - x|^2 is |q|^2 + |x|^2 - 2 q . x where that is above NW_CANCELLED of
 * |q|^2 + |x|^2, else the sum of the squared differences: one fused operation
 * for each dimension of most pairs instead of two, and no digits are lost that
 * matter.  Norms and twice the product are each off by less than
 * (dim / 16 + 4) * 2^-53 of |q|^2 + |x|^2, so the relative error of |q - x|^2
 * is below (dim / 16 + 8) * 2^-42 and that of a distance half of it, in
 * whatever engine; the bits are the same in all.
 *
 * A prime marks a vector scaled to length 1; a zero vector stays zero.  The
 * weight of a support is the softmax of its score.
 *
 * Pure C: no PostgreSQL, no allocation, no errors.
 */
#ifndef NW_MATH_KERNEL_H
#define NW_MATH_KERNEL_H

#include <stdbool.h>

typedef enum NwKernel
{
	NW_EUCLIDEAN,
	NW_GAUSSIAN,
	NW_HYPERSPHERE,
	NW_COSINE,
	NW_DOT
} NwKernel;

#define NW_KERNEL_NAMES "euclidean, gaussian, hypersphere, cosine, dot"

/*
 * Within these bounds no score of finite float vectors overflows.
 */
#define NW_TAU_MIN 1e-100
#define NW_TAU_MAX 1e100

/* Larger than any distance between float vectors. */
#define NW_DISTANCE_MAX 1e150

/* Below this share of the norms a difference has lost too many digits. */
#define NW_CANCELLED (1.0 / 1024)

/* A query made ready for comparison with many supports. */
typedef struct NwQuery
{
	NwKernel kernel;
	double tau;
	double inverse_tau; /* 1 / tau */
	int dim;
	double *q;     /* [dim], scaled to length 1 where the kernel
	                * wants it */
	double sqnorm; /* |q|^2, where not scaled */
} NwQuery;

extern bool nw_kernel_parse(const char *name, NwKernel *kernel);
extern const char *nw_kernel_name(NwKernel kernel);
extern bool nw_tau_is_valid(double tau);
extern bool nw_kernel_needs_norms(NwKernel kernel);
extern void nw_inverse_norms(const float *x, int dim, int n, double *out);
extern void nw_query_init(NwQuery *query, NwKernel kernel, double tau, const float *x, int dim,
                          double *space);
extern void nw_query_set_tau(NwQuery *query, double tau);
extern bool nw_kernel_keeps_norms(NwKernel kernel);
extern void nw_row_norms(NwKernel kernel, const float *x, int dim, int n, double *out);
extern void nw_query_measure(const NwQuery *query, const float *x, const double *norm, int n,
                             double *measure);
extern void nw_query_measure_block(NwKernel kernel, const double *q, const double *sqnorm, int nq,
                                   int dim, const float *x, const double *norm, int n,
                                   double *measure);
extern void nw_query_score(const NwQuery *query, const double *measure, int n, double *score);
extern double nw_query_distance(const NwQuery *query, double measure);
extern double nw_distance_score(double distance, double tau);

#endif /* NW_MATH_KERNEL_H */
