/*
 * base/memory.c: memory that is never NULL: the program ends where there is none left.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "base/message.h"

static void *
check(void *p, size_t bytes)
{
	if (p == NULL)
		nw_fatal("out of memory (%zu bytes wanted)", bytes);
	return p;
}

void *
nw_alloc(size_t bytes)
{
	return check(malloc(bytes ? bytes : 1), bytes);
}

void *
nw_alloc0(size_t bytes)
{
	return check(calloc(1, bytes ? bytes : 1), bytes);
}

void *
nw_realloc(void *p, size_t bytes)
{
	return check(realloc(p, bytes ? bytes : 1), bytes);
}

/* Allocate memory that is given back with its pool. */
void *
nw_pool_alloc0(NwPool *p, size_t bytes)
{
	NW_GROW(p->block, p->n, p->cap);
	return p->block[p->n++] = nw_alloc0(bytes);
}

void
nw_pool_free(NwPool *p)
{
	for (int i = 0; i < p->n; i++)
		free(p->block[i]);
	free(p->block);
	*p = (NwPool) {0};
}
