/*
 * predict/prototypes.h
 *		The rows of distilled sets: stored, and kept in memory.
 */
#ifndef NW_PREDICT_PROTOTYPES_H
#define NW_PREDICT_PROTOTYPES_H

#include "postgres.h"

#include "predict/support.h"
#include "sets/source.h"

/* One prototype to be stored. */
typedef struct NwPrototype
{
	NwBytes label;
	int ordinal;    /* within its class, from 1 */
	const float *x; /* [dim] */
	int dim;
	int64 members;         /* rows that it stands for */
	const char *source_id; /* id of the row that it is; NULL for a centroid */
	double weight;
} NwPrototype;

extern NwSupport *nw_prototypes_find(const NwSource *source);
extern void nw_prototypes_insert(Oid schema, const NwSet *set, const NwPrototype *prototype);

#endif /* NW_PREDICT_PROTOTYPES_H */
