/*
 * index/as_owner.h
 *		Look into an nw index with the rights of its owner.
 */
#ifndef NW_INDEX_AS_OWNER_H
#define NW_INDEX_AS_OWNER_H

#include "postgres.h"

#include "storage/lockdefs.h"
#include "utils/rel.h"

/* An nw index that is open, and what is to come back when it is closed. */
typedef struct NwOwned
{
	Relation heap;
	Relation index;
	Oid userid;      /* the caller */
	int sec_context; /* the caller's */
	int nest_level;  /* of settings */
} NwOwned;

extern void nw_index_open_owned(NwOwned *owned, Oid relid, LOCKMODE lock);
extern void nw_index_close_owned(NwOwned *owned);

#endif /* NW_INDEX_AS_OWNER_H */
