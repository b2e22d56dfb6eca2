/*
 * math/kmeans_run.c
 *		The work space of k-means, and what is measured in it.
 */
#include "math/kmeans_run.h"

#include <string.h>

#include "math/simd/simd.h"

/* Rows between two calls of the interrupt function, at least. */
#define INTERRUPT_ROWS 4096

/* Take an array of the work space; a NULL space only counts. */
static void *
take(char **space, size_t *used, size_t size)
{
	void *result = *space == NULL ? NULL : *space + *used;

	/* whole cache lines, so that arrays do not share one */
	*used += (size + 63) / 64 * 64;
	return result;
}

/* Lay out the work space of so many trials; returns its size.  A NULL space only counts. */
size_t
nw_kmeans_lay_out(NwKmeansRun *run, const NwKmeans *task, int trials, char *space)
{
	size_t n = (size_t) task->n;
	size_t k = (size_t) task->k;
	size_t dim = (size_t) task->dim;
	size_t tried = (size_t) trials;
	size_t most = k > tried ? k : tried;
	size_t used = 0;

	/* malloc() need not align to a cache line; 64 bytes more allow for that */
	if (space != NULL)
		space += -(uintptr_t) space % 64;

	run->task = task;
	run->n = task->n;
	run->dim = task->dim;
	run->k = task->k;
	run->since_interrupt = 0;
	run->trials = trials;

	run->centre = take(&space, &used, sizeof(double) * k * dim);
	run->sum = take(&space, &used, sizeof(double) * k * dim);
	run->moved = take(&space, &used, sizeof(double) * k);
	run->apart = take(&space, &used, sizeof(double) * k * k);
	run->nearest = take(&space, &used, sizeof(double) * k);
	run->upper = take(&space, &used, sizeof(double) * n);
	run->lower = take(&space, &used, sizeof(double) * n * k);
	run->weight = take(&space, &used, sizeof(double) * n);
	run->trial = take(&space, &used, sizeof(double) * n * tried);
	run->candidate = take(&space, &used, sizeof(double) * tried * dim);
	run->measure = take(&space, &used, sizeof(double) * most * NW_KMEANS_TILE);
	run->tile = take(&space, &used, sizeof(float) * NW_KMEANS_TILE * dim);
	run->todo = take(&space, &used, sizeof(int) * NW_KMEANS_TILE);
	run->cluster = take(&space, &used, sizeof(int) * n);
	run->count = take(&space, &used, sizeof(int) * k);
	return used + 64;
}

/* Let the caller stop the work now and then; so many rows were worked on. */
void
nw_kmeans_allow_interrupt(NwKmeansRun *run, int rows)
{
	run->since_interrupt += rows;
	if (run->since_interrupt >= INTERRUPT_ROWS)
	{
		run->since_interrupt = 0;
		if (run->task->interrupt != NULL)
			run->task->interrupt(run->task->arg);
	}
}

/*
 * Measure m rows, todo[0 .. m - 1] or first .. first + m - 1 where that is
 * NULL, against centres [nq][dim]: run->measure [nq][m].
 */
void
nw_kmeans_measure_tile(NwKmeansRun *run, const double *centre, int nq, const int *todo, int first,
                       int m)
{
	size_t dim = (size_t) run->dim;

	for (int i = 0; i < m; i++)
		memcpy(run->tile + i * dim, run->row[todo == NULL ? first + i : todo[i]],
		       sizeof(float) * dim);
	nw_simd->sqdist_block(centre, nq, run->tile, run->dim, m, run->measure);
	nw_kmeans_allow_interrupt(run, m);
}
