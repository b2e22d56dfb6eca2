/*
 * sets/reference.h
 *		Reference scores of sets: what known queries scored, for new ones to be
 *		compared with.
 */
#ifndef NW_SETS_REFERENCE_H
#define NW_SETS_REFERENCE_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"

#include "sets/registry.h"
#include "sets/text_out.h"

/* What was scored. */
typedef enum NwReferenceKind
{
	NW_REFERENCE_THRESHOLD, /* 1 - the probability of the truth */
	NW_REFERENCE_ADAPTIVE,  /* the probability of the truth and all that is more probable */
	NW_REFERENCE_RESIDUAL,  /* the distance between a numeric label and its prediction */
	NW_REFERENCE_NEIGHBOUR  /* the distance to the k-th neighbour */
} NwReferenceKind;

/* The scores of one class, or of all. */
typedef struct NwReference
{
	NwBytes class;       /* data is NULL where they are of all classes */
	const char *queries; /* set of the queries that were scored; NULL for the set's own rows */
	int k;               /* as the kind has it; 0 for none */
	TimestampTz at;      /* when */
	int n;
	double *score; /* [n] ascending, none of them NaN */
} NwReference;

/* All scores of a kind that a set has. */
typedef struct NwReferences
{
	NwReferenceKind kind;
	int n;
	NwReference *row; /* [n] by class, in byte order; that of all classes first */
} NwReferences;

/* What there is of a kind, apart from the scores. */
typedef struct NwReferenceState
{
	NwReferenceKind kind;
	const char *queries;
	int k;
	bool by_class;
	bool current; /* of the set as it is */
} NwReferenceState;

extern const char *nw_reference_name(NwReferenceKind kind);
extern bool nw_reference_parse(const char *name, NwReferenceKind *kind);
extern bool nw_reference_is_current(Oid schema, const NwSet *set, NwReferenceKind kind);
extern NwReferences *nw_reference_read(Oid schema, const NwSet *set, NwReferenceKind kind);
extern const NwReference *nw_reference_find(const NwReferences *references, NwBytes class);
extern void nw_reference_replace(Oid schema, const NwSet *set, NwReferenceKind kind,
                                 const NwReference *rows, int n);
extern void nw_reference_insert(Oid schema, const NwSet *set, NwReferenceKind kind,
                                const NwReference *row);
extern void nw_reference_remove(Oid schema, const NwSet *set, NwReferenceKind kind);
extern void nw_reference_remove_all(Oid schema, const NwSet *set);
extern bool nw_scores_decode(Datum array, double **score, int *n);
extern void nw_reference_follow(Oid schema, const NwSet *old, const NwSet *set);
extern List *nw_reference_states(Oid schema, const NwSet *set);
extern char *nw_reference_call(Oid schema, const NwSet *set, const NwReferenceState *state);

#endif /* NW_SETS_REFERENCE_H */
