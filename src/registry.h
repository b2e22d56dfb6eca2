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
	char	   *schema;
	char	   *relation;
	char	   *embedding;		/* column names */
	char	   *label;
	char	   *id;
	char	   *weight;
	NwKernel	kernel;
	double		tau;
	int			dim;			/* 0 where unknown */
	int64		version;
} NwSet;

/* The schema the extension lives in: that of the function being called. */
extern Oid	nw_extension_schema(FunctionCallInfo fcinfo);

/* Read a set, or return NULL where there is none of that name. */
extern NwSet *nw_set_find(Oid schema, const char *name);

/* Read a set, or say which sets there are. */
extern NwSet *nw_set_get(Oid schema, const char *name);

/* Insist that the caller may change a set. */
extern void nw_set_check_owner(Oid schema, const NwSet *set);

/*
 * Write as the owner of the registry.  Each gives the set a new version.
 * nw_set_insert returns false where the name is taken; the others fail where
 * the set has changed since it was read.
 */
extern bool nw_set_insert(Oid schema, const NwSet *set);
extern void nw_set_replace(Oid schema, const NwSet *old, const NwSet *set);
extern void nw_set_update_tau(Oid schema, const NwSet *set, double tau);
extern void nw_set_delete(Oid schema, const NwSet *set);

/* Reject a temperature no score can be made with. */
extern void nw_check_tau(double tau);

/* Look up a kernel by name, or say which there are. */
extern NwKernel nw_check_kernel(const char *name);

#endif							/* NW_REGISTRY_H */
