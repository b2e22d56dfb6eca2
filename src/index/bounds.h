/*
 * index/bounds.h
 *		Bound the mass of a list: by its ball, its codes, its exact vectors.
 */
#ifndef NW_INDEX_BOUNDS_H
#define NW_INDEX_BOUNDS_H

#include "postgres.h"

#include "index/search_state.h"

extern void nw_bounds_take_lists(NwSearch *search, int number);
extern void nw_bounds_take_common(NwSearch *search);
extern void nw_bounds_refine_by_code(NwSearch *search, NwSearchList *list);
extern void nw_bounds_refine_exactly(NwSearch *search, NwSearchList *list);
extern void nw_bounds_read_common(NwSearch *search);

#endif /* NW_INDEX_BOUNDS_H */
