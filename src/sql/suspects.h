/*
 * sql/suspects.h
 *		Supports that are probably mislabelled.
 */
#ifndef NW_SQL_SUSPECTS_H
#define NW_SQL_SUSPECTS_H

#include "postgres.h"

#include "predict/support.h"

/* What the other supports say of one. */
typedef struct NwSuspect
{
	int64 row;          /* of the support */
	int suggested;      /* class of the most probable other label */
	double probability; /* of its own label */
	double log_margin;  /* logarithm of its own label's mass over the other's */
	double margin;      /* by how much its own label is more probable than the other */
} NwSuspect;

/* All suspects, the most suspect first. */
typedef struct NwSuspects
{
	const NwSupport *support;
	NwSuspect *item; /* [n] */
	int64 n;
	int64 asked; /* supports asked about so far */
} NwSuspects;

extern NwSupport *nw_suspects_read(const NwSource *source);
extern void nw_suspects_find(NwSuspects *suspects, NwSupport *support);

#endif /* NW_SQL_SUSPECTS_H */
