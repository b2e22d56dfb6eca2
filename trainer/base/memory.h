/*
 * base/memory.h: memory that is never NULL: the program ends where there is none left.
 */
#ifndef NW_MEMORY_H
#define NW_MEMORY_H

#include <stddef.h>

#define NW_LENGTH(a) ((int) (sizeof(a) / sizeof((a)[0])))

/* Grow an array so that one more element fits. */
#define NW_GROW(array, n, cap)                                                \
	do                                                                        \
	{                                                                         \
		if ((n) >= (cap))                                                     \
		{                                                                     \
			(cap) = (cap) ? (cap) * 2 : 16;                                   \
			(array) = nw_realloc((array), (size_t) (cap) * sizeof(*(array))); \
		}                                                                     \
	} while (0)

/* memory that is given back in one go */
typedef struct NwPool
{
	void **block;
	int n;
	int cap;
} NwPool;

void *nw_alloc(size_t bytes);
void *nw_alloc0(size_t bytes);
void *nw_realloc(void *p, size_t bytes);
void *nw_pool_alloc0(NwPool *p, size_t bytes);
void nw_pool_free(NwPool *p);

#endif
