/*
 * math/kmeans.h
 *		k-means of the rows of one class.
 *
 * k-means++ seeding with several trials for each centre, Lloyd's iterations
 * until no row changes its cluster, the best of several restarts.  The result
 * depends on the rows in the order given, k, the seed and the other fields of
 * the task; not on the machine.
 *
 * A cluster that loses its last row takes the row farthest from its own
 * centre, so a cluster without members remains only where there are fewer
 * distinct rows than k; its centroid then equals one of the rows.  Callers
 * leave such clusters out.
 *
 * Pure C: caller's memory, caller's seed, no PostgreSQL, no errors.
 */
#ifndef NW_MATH_KMEANS_H
#define NW_MATH_KMEANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What scikit-learn restarts and iterates by default. */
#define NW_KMEANS_RESTARTS 10
#define NW_KMEANS_ITERATIONS 300

typedef struct NwKmeans
{
	int n;              /* rows, at least 1 */
	int dim;            /* of a row */
	int k;              /* clusters, at least 1 */
	int restarts;       /* at least 1 */
	int max_iterations; /* for each restart */
	uint64_t seed;
	bool spherical;               /* rows are of length 1, and centroids shall
	                               * be: means scaled to length 1 (a mean of
	                               * zero stays zero) */
	void (*interrupt)(void *arg); /* called between blocks of rows,
	                               * may be NULL, need not return */
	void *arg;
} NwKmeans;

extern size_t nw_kmeans_memory(const NwKmeans *task);
extern double nw_kmeans(const NwKmeans *task, const float *const *row, void *work, float *centroid,
                        int *assignment, int *members);

#endif /* NW_MATH_KMEANS_H */
