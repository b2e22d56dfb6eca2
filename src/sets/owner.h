/*
 * sets/owner.h
 *		The roles that own sets.
 */
#ifndef NW_SETS_OWNER_H
#define NW_SETS_OWNER_H

#include "postgres.h"

extern bool nw_owner_is_caller(Oid registry, Oid owner);
extern char *nw_owner_name(Oid registry, Oid owner);
extern void nw_owner_bind(Oid schema, Oid role);
extern void nw_owner_release(Oid schema, Oid role);

#endif /* NW_SETS_OWNER_H */
