/*
 * sets/members.h
 *		Mixtures: sets that are made of other sets.
 */
#ifndef NW_SETS_MEMBERS_H
#define NW_SETS_MEMBERS_H

#include "postgres.h"

#include "sets/registry.h"

extern NwSet *nw_member_get(Oid schema, const char *name, const char *mixture);
extern char *nw_members_list(const NwSet *set);
extern void nw_members_report(const NwSet *set);

#endif /* NW_SETS_MEMBERS_H */
