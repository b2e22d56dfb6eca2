/*
 * index/definition.h
 *		What CREATE INDEX ... USING nw says: columns and options, and what is refused.
 */
#ifndef NW_INDEX_DEFINITION_H
#define NW_INDEX_DEFINITION_H

#include "postgres.h"

#include "utils/rel.h"

#include "index/page.h"
#include "sets/pgvector.h"

/* Attributes of an index. */
#define NW_INDEX_EMBEDDING 0
#define NW_INDEX_LABEL 1

/* Option lists: 0 leaves the number to the size of each class. */
#define NW_LISTS_AUTO 0
#define NW_LISTS_MAX 32768

extern bool nw_index_has_expression(Relation index);
extern bool nw_index_has_predicate(Relation index);
extern void nw_index_refuse_code(Relation index);
extern void nw_index_describe(Relation index, NwLayout *layout);
extern Oid nw_index_label_type(Relation index);
extern const char *nw_index_vector(Relation index, const NwLayout *layout, Datum datum,
                                   NwVectorData *vector);
extern bytea *nw_index_options(Datum reloptions, bool validate);
extern int nw_index_lists_option(Relation index);

#endif /* NW_INDEX_DEFINITION_H */
