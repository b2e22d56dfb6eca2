/*
 * grow.h
 *		Arrays that grow.
 */
#ifndef NW_GROW_H
#define NW_GROW_H

#include "postgres.h"

#include "utils/memutils.h"

/* Give an array (NULL while it is empty) room for n items, no more. */
static inline void *
nw_resize(MemoryContext mcxt, void *array, int n, Size width)
{
	return array == NULL ? MemoryContextAllocHuge(mcxt, n * width)
	                     : repalloc_huge(array, n * width);
}

/* Give an array room for n items at least, and for some more to come. */
static inline void *
nw_grow(MemoryContext mcxt, void *array, int *allocated, int64 n, Size width)
{
	int64 wanted = Max(16, Max(n, 2 * (int64) *allocated));

	*allocated = (int) Min(wanted, PG_INT32_MAX);
	return nw_resize(mcxt, array, *allocated, width);
}

/* The same by a quarter only, for what there may be very much of. */
static inline void *
nw_grow_little(MemoryContext mcxt, void *array, int *allocated, int64 n, Size width)
{
	int64 wanted = Max(n, *allocated + (int64) *allocated / 4 + 64);

	*allocated = (int) Min(wanted, PG_INT32_MAX);
	return nw_resize(mcxt, array, *allocated, width);
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
