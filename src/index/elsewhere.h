/*
 * index/elsewhere.h
 *		Sets whose rows other extensions read from elsewhere.
 */
#ifndef NW_INDEX_ELSEWHERE_H
#define NW_INDEX_ELSEWHERE_H

#include "postgres.h"

#include "sets/source.h"

/*
 * True where an ordinary SELECT of a set's embeddings and labels (and ids)
 * might do anything else than scan just these tables: then they are not to be
 * read directly.
 */
extern bool nw_rows_are_elsewhere(const NwSource *source, const List *tables, bool ids);

/* Take note that a relation has been changed by DDL. */
extern void nw_elsewhere_relation_changed(void);

#endif /* NW_INDEX_ELSEWHERE_H */
