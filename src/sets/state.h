/*
 * sets/state.h
 *		Whether a set is as it was: its relation, and how much its rows changed.
 */
#ifndef NW_SETS_STATE_H
#define NW_SETS_STATE_H

#include "postgres.h"

#include "sets/source.h"

/* What nw_sets says of a set that can be used. */
#define NW_READY "ready"

extern const char *nw_set_state(const NwSet *set, char **why);
extern const char *nw_mixture_state(Oid extension, const NwSet *set, char **why);
extern Oid nw_set_relation(const NwSet *set);
extern NwStamp nw_stamp_now(const NwSource *source, int64 prototypes);
extern char *nw_stamp_outdated(const NwStamp *stamp, Oid relid, const char *since);

#endif /* NW_SETS_STATE_H */
