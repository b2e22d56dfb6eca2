/*
 * index/build_pages.h
 *		Write the pages of a new nw index.
 */
#ifndef NW_INDEX_BUILD_PAGES_H
#define NW_INDEX_BUILD_PAGES_H

#include "postgres.h"

#include "index/build_state.h"

extern void nw_index_write(NwBuild *build);
extern void nw_index_build_empty(Relation index);

#endif /* NW_INDEX_BUILD_PAGES_H */
