/*
 * math/kmeans_tile.c
 *		Measure some rows of a run of k-means against some centres.
 */
#include "math/kmeans_tile.h"

#include <string.h>

#include "math/simd/simd.h"

/* Rows between two calls of the interrupt function, at least. */
#define INTERRUPT_ROWS 4096

/* Let the caller stop the work. */
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
