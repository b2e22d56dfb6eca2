/*
 * sets/source.h
 *		The relation behind a set: its columns and their types.
 */
#ifndef NW_SETS_SOURCE_H
#define NW_SETS_SOURCE_H

#include "postgres.h"

#include "sets/pgvector.h"
#include "sets/registry.h"

/* A set's relation as the catalogs have it now. */
typedef struct NwSource
{
	NwSet *set;
	bool distilled; /* its rows are prototypes */

	/* where the rows are, by name */
	const char *schema;
	const char *relation;
	const char *embedding;
	const char *label;
	const char *id;
	const char *weight;

	/* and what the catalogs say of them */
	Oid relid;
	NwVectorType vector_type;
	int dim;        /* declared dimensions, or 0 */
	Oid label_type; /* InvalidOid for a query-only set */
	Oid id_type;    /* TIDOID where ctid stands in */
} NwSource;

extern NwSource *nw_source_resolve(Oid extension, NwSet *set);
extern bool nw_source_is_balanced(const NwSource *source);
extern bool nw_source_is_weighted(const NwSource *source);
extern void nw_source_check_labelled(const NwSource *source);

#endif /* NW_SETS_SOURCE_H */
