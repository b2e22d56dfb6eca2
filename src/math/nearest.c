/*
 * math/nearest.c
 *		Keep the nearest of many measures in a bounded heap.
 */
#include <math.h>

#include "math/nearest.h"

/* Make an empty list; space [k] must outlive it. */
void
nw_nearest_init(NwNearest *nearest, NwKernel kernel, int k, double *space)
{
	nearest->k = k;
	nearest->n = 0;
	nearest->sign = kernel == NW_COSINE || kernel == NW_DOT ? -1 : 1;
	nearest->far = space;
}

/* Let an item rise from a place to where it belongs. */
static void
rise(double *far, int i, double item)
{
	while (i > 0 && far[(i - 1) / 2] < item)
	{
		far[i] = far[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	far[i] = item;
}

/* Let an item sink from the root to where it belongs. */
static void
sink(double *far, int n, double item)
{
	int i = 0;

	for (;;)
	{
		int child = 2 * i + 1;

		if (child + 1 < n && far[child + 1] > far[child])
			child++;
		if (child >= n || far[child] <= item)
			break;
		far[i] = far[child];
		i = child;
	}
	far[i] = item;
}

/* Take a measure that the list admits, in place of the farthest where it is full. */
void
nw_nearest_add(NwNearest *nearest, double measure)
{
	double item = measure * nearest->sign;

	if (nearest->n < nearest->k)
		rise(nearest->far, nearest->n++, item);
	else
		sink(nearest->far, nearest->k, item);
}

/* The distance of the k-th neighbour; infinite where there are fewer. */
double
nw_nearest_distance(const NwNearest *nearest, const NwQuery *query)
{
	if (nearest->n < nearest->k)
		return HUGE_VAL;

	/* of two zeros the positive one, whichever came first */
	return nw_query_distance(query, nearest->far[0] * nearest->sign) + 0.0;
}
