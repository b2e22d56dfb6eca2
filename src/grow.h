/*
 * grow.h
 *		Arrays that grow.
 */
#ifndef NW_GROW_H
#define NW_GROW_H

#include "postgres.h"

#include "utils/memutils.h"

/* Give an array room for n items at least, and for some more to come. */
static inline void *
nw_grow(MemoryContext mcxt, void *array, int *allocated, int64 n, Size width)
{
	int64 wanted = Max(16, Max(n, 2 * (int64) *allocated));

	*allocated = (int) Min(wanted, PG_INT32_MAX);
	return array == NULL ? MemoryContextAllocHuge(mcxt, *allocated * width)
	                     : repalloc_huge(array, *allocated * width);
}

/*
 * Make sure that an array (NULL while it is empty) has room for n items; what it
 * holds stays.  mcxt is where it is allocated, allocated an int.
 */
#define NW_RESERVE(mcxt, array, allocated, n)                                        \
	do                                                                               \
	{                                                                                \
		if ((n) > (allocated))                                                       \
			(array) = nw_grow((mcxt), (array), &(allocated), (n), sizeof(*(array))); \
	} while (0)

#endif /* NW_GROW_H */
