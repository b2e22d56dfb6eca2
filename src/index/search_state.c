/*
 * index/search_state.c
 *		The classes that a search has to tell apart.
 */
#include "postgres.h"

#include "grow.h"
#include "index/search_state.h"

/* The place of a class, by the reader's number; it gets one where it has none. */
int
nw_search_place(NwSearch *search, int number)
{
	NwSearchClass *class;

	if (search->place[number] >= 0)
		return search->place[number];
	NW_RESERVE(CurrentMemoryContext, search->class, search->allocated,
	           (int64) search->nclasses + 1);
	class = &search->class[search->nclasses];
	memset(class, 0, sizeof(NwSearchClass));
	class->number = number;
	nw_mass_clear(&class->mass);
	search->wanted[number] = true;
	search->place[number] = search->nclasses++;
	return search->place[number];
}
