/*
 * sets/owner.h
 *		The roles that own sets.
 */
#ifndef NW_SETS_OWNER_H
#define NW_SETS_OWNER_H

#include "postgres.h"

/*
 * True where the caller has the privileges of a set's owner; of a set whose
 * owner is gone, superusers only.  registry is the OID of the registry.
 */
extern bool nw_owner_is_caller(Oid registry, Oid owner);

/* The name of a set's owner, or NULL where it is gone. */
extern char *nw_owner_name(Oid registry, Oid owner);

/* Prepare a role to own sets; called before each set that is written. */
extern void nw_owner_bind(Oid schema, Oid role);

/* Let go of a role where it owns no set any more. */
extern void nw_owner_release(Oid schema, Oid role);

#endif /* NW_SETS_OWNER_H */
