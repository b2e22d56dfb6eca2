/*
 * registry.h
 *		The table of registered sets.
 */
#ifndef NW_REGISTRY_H
#define NW_REGISTRY_H

#include "postgres.h"

#include "fmgr.h"
#include "kernel.h"

/* A registered set, as the active snapshot sees it; NULL where not set. */
typedef struct NwSet
{
	char	   *name;
	char	   *owner;			/* role name */
	char	   *mode;			/* full, or how it was distilled */
	char	   *parent;			/* the set it was distilled from */
	char	   *schema;			/* of the rows, also where distilled from */
	char	   *relation;
	char	   *embedding;		/* column names */
	char	   *label;
	char	   *id;
	char	   *weight;
	NwKernel	kernel;
	double		tau;
	int			k;				/* prototypes for each class; 0 where full */
	int64		seed;
	int			dim;			/* 0 where unknown */
	bool		centroids;		/* its rows are, or were chosen among,
								 * centroids: they name no rows */
	int64		version;
} NwSet;

/* The schema the extension lives in: that of the function being called. */
extern Oid	nw_extension_schema(FunctionCallInfo fcinfo);

/* The table of registered sets. */
extern Oid	nw_registry_oid(Oid schema);

/* True where a set consists of prototypes. */
extern bool nw_set_is_distilled(const NwSet *set);

/* Read a set, or return NULL where there is none of that name. */
extern NwSet *nw_set_find(Oid schema, const char *name);

/* Read a set, or say which sets there are. */
extern NwSet *nw_set_get(Oid schema, const char *name);

/* True where the caller is a member of the role that owns a set. */
extern bool nw_set_is_mine(Oid schema, const NwSet *set);

/* Insist that the caller may change a set. */
extern void nw_set_check_owner(Oid schema, const NwSet *set);

/*
 * Run one statement as the owner of the extension's tables, after the caller's
 * right to it has been checked; return how many rows it touched.  The format
 * gets the quoted name of a table and the OID of the sequence of versions.
 */
extern uint64 nw_write_as_owner(Oid schema, const char *table,
								const char *format, int nargs, Oid *types,
								Datum *values, const char *nulls);

/*
 * Write as the owner of the registry.  Each gives the set a new version.
 * nw_set_insert returns false where the name is taken; the others fail where
 * the set has changed since it was read.
 */
extern bool nw_set_insert(Oid schema, const NwSet *set);
extern void nw_set_replace(Oid schema, const NwSet *old, const NwSet *set);
extern void nw_set_update_tau(Oid schema, const NwSet *set, double tau);
extern void nw_set_delete(Oid schema, const NwSet *set);

/* Insist on the right to add sets: CREATE on the extension's schema. */
extern void nw_check_may_register(Oid schema);

/*
 * Let a function that writes see what earlier commands and earlier calls of
 * this command have written.  Ends with PopActiveSnapshot().
 */
extern void nw_push_fresh_snapshot(void);

/* Reject a temperature no score can be made with. */
extern void nw_check_tau(double tau);

/* Look up a kernel by name, or say which there are. */
extern NwKernel nw_check_kernel(const char *name);

#endif							/* NW_REGISTRY_H */
