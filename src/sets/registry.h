/*
 * sets/registry.h
 *		The table of registered sets.
 */
#ifndef NW_SETS_REGISTRY_H
#define NW_SETS_REGISTRY_H

#include "postgres.h"

#include "storage/lockdefs.h"

#include "math/kernel.h"
#include "sets/own_tables.h"

/* A registered set, as the active snapshot sees it; NULL where not set. */
typedef struct NwSet
{
	int64 set_id; /* never used again */
	char *name;
	Oid owner;    /* role, which may be gone */
	char *mode;   /* full, or how it was distilled */
	char *parent; /* the set it was distilled from */
	char *schema; /* of the rows, also where distilled from */
	char *relation;
	char *embedding; /* column names */
	char *label;
	char *id;
	char *weight;
	NwKernel kernel;
	double tau;
	int k; /* prototypes for each class; 0 where full */
	int64 seed;
	int dim;        /* 0 where unknown */
	bool centroids; /* its rows are, or were chosen among,
	                 * centroids: they name no rows */
	int64 version;
} NwSet;

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

/* Name a set's owner for a message. */
extern char *nw_set_owner_name(Oid schema, const NwSet *set);

/*
 * Keep a set from being removed or replaced until the transaction ends, or
 * complain that it is not there any more; whoever writes copies of its rows
 * does so first.
 */
extern void nw_set_hold(Oid schema, const NwSet *set);

/*
 * Write to the registry, after the caller's right to it has been checked.
 * Each gives the set a new version.  nw_set_insert returns false where the
 * name is taken, else it fills in set_id and version; the others fail where the
 * set has changed since it was read.  Prototypes and diagnoses go with the set
 * that they are of, also where it is replaced.
 */
extern bool nw_set_insert(Oid schema, NwSet *set);
extern void nw_set_replace(Oid schema, const NwSet *old, NwSet *set);
extern void nw_set_update_tau(Oid schema, const NwSet *set, double tau);
extern void nw_set_delete(Oid schema, const NwSet *set);

/* Read each set in turn, ordered by name. */
typedef void (*NwSetCallback)(const NwSet *set, void *arg);

extern void nw_set_each(Oid schema, NwSetCallback callback, void *arg);

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

#endif /* NW_SETS_REGISTRY_H */
