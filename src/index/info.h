/*
 * index/info.h
 *		What the functions that look into an nw index share.
 */
#ifndef NW_INDEX_INFO_H
#define NW_INDEX_INFO_H

#include "postgres.h"

#include "storage/lockdefs.h"
#include "utils/rel.h"

/* An index of fewer rows needs no advice. */
#define SMALL_INDEX 1000

/* An nw index, looked into as its owner. */
typedef struct NwOwned
{
	Relation heap;
	Relation index;
	Oid userid;      /* the caller, */
	int sec_context; /* and whatever else is to come back */
	int nest_level;
} NwOwned;

/*
 * Open an nw index that the caller owns (its labels and vectors are data), and
 * its table, which gets a lock.  From here on everything runs as the owner of
 * the table, in a security-restricted operation: a superuser who looks into an
 * index must not lend its owner any rights.
 */
extern void nw_index_open_owned(NwOwned *owned, Oid relid, LOCKMODE lock);

/* Close them, their locks held, and be the caller again. */
extern void nw_index_close_owned(NwOwned *owned);

#endif /* NW_INDEX_INFO_H */
