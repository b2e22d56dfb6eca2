/*
 * sets/registry.h
 *		The table of registered sets.
 */
#ifndef NW_SETS_REGISTRY_H
#define NW_SETS_REGISTRY_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "storage/lockdefs.h"

#include "math/kernel.h"
#include "sets/own_tables.h"

/* The mode of sets that are made of other sets. */
#define NW_MIXTURE "mixture"

/* The most members that a mixture can have. */
#define NW_MAX_MEMBERS 100

/* When something was made of a set's rows, and what these were like then. */
typedef struct NwStamp
{
	bool known;
	TimestampTz at;
	int64 rows;    /* of the relation; -1 where unknown */
	int64 changes; /* ever counted of the relation: see nw_relation_changes(); -1 where unknown */
} NwStamp;

/* A registered set, as the active snapshot sees it; NULL where not set. */
typedef struct NwSet
{
	int64 set_id; /* never used again */
	char *name;
	Oid owner;       /* a role, which may be gone */
	char *mode;      /* full, mixture, or how it was distilled */
	char *parent;    /* the set it was distilled from */
	char **members;  /* [nmembers] names of the sets that it is a mixture of */
	double *shares;  /* [nmembers] that they have in it, in any unit */
	int nmembers;    /* 0 for any other set; a mixture has nothing of the following but temper */
	char *schema;    /* of the relation that the rows are in, or were distilled from */
	char *relation;  /* name of that relation */
	char *embedding; /* column of the vectors */
	char *label;     /* column of the labels; NULL for unlabelled rows */
	char *id;        /* column of the ids; NULL where ctid stands in */
	char *weight;    /* column of the row weights; NULL where all rows weigh the same */
	NwKernel kernel;
	double tau;
	int k;              /* prototypes for each class; 0 where full */
	int64 seed;         /* that it was distilled with */
	int dim;            /* 0 where unknown */
	bool centroids;     /* its rows are centroids, or were chosen among some: they name no rows */
	char *balance;      /* priors of classes; NULL where rows weigh what they say */
	char *model;        /* that made the vectors; NULL where nobody said */
	double temper;      /* of the probabilities; 1 where these are shares of the mass */
	bool tags;          /* its labels are arrays, each element of which is a tag */
	NwStamp calibrated; /* tau and temper were found on these rows */
	NwStamp distilled;  /* the prototypes were made of the parent's */
	int64 version;      /* another one after each change */
} NwSet;

/* Gets each set in turn. */
typedef void (*NwSetCallback)(const NwSet *set, void *arg);

extern bool nw_same_name(const char *a, const char *b);
extern bool nw_set_is_distilled(const NwSet *set);
extern bool nw_set_is_mixture(const NwSet *set);
extern bool nw_set_has_member(const NwSet *set, const char *name);
extern bool nw_set_shares_are_valid(const double *shares, int n);
extern NwSet *nw_set_find(Oid schema, const char *name);
extern NwSet *nw_set_get(Oid schema, const char *name);
extern void nw_set_check_name(const char *name);
extern void nw_set_report_taken(const char *name, const char *hint);
extern bool nw_set_is_mine(Oid schema, const NwSet *set);
extern void nw_set_check_owner(Oid schema, const NwSet *set);
extern char *nw_set_owner_name(Oid schema, const NwSet *set);
extern void nw_set_hold(Oid schema, const NwSet *set);
extern void nw_set_hold_unchanged(Oid schema, const NwSet *set);
extern void nw_set_hold_all(Oid schema, NwSet **sets, int n);
extern bool nw_set_insert(Oid schema, NwSet *set);
extern void nw_set_change(Oid schema, const NwSet *old, NwSet *set, bool anew);
extern void nw_set_delete(Oid schema, const NwSet *set);
extern void nw_set_each(Oid schema, NwSetCallback callback, void *arg);

extern void nw_check_may_register(Oid schema);
extern void nw_push_fresh_snapshot(void);
extern void nw_check_tau(double tau);
extern void nw_check_temper(double temper);
extern NwKernel nw_check_kernel(const char *name);

#endif /* NW_SETS_REGISTRY_H */
