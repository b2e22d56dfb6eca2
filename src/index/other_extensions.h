/*
 * index/other_extensions.h
 *		Sets whose rows other extensions read from elsewhere.
 */
#ifndef NW_INDEX_OTHER_EXTENSIONS_H
#define NW_INDEX_OTHER_EXTENSIONS_H

#include "postgres.h"

#include "sets/source.h"

extern bool nw_rows_are_elsewhere(const NwSource *source, const List *tables, bool ids);
extern void nw_other_extensions_relation_changed(void);

#endif /* NW_INDEX_OTHER_EXTENSIONS_H */
