/*
 * predict/cache.h
 *		Packed supports kept for the rest of a statement.
 */
#ifndef NW_PREDICT_CACHE_H
#define NW_PREDICT_CACHE_H

#include "postgres.h"

#include "predict/support.h"
#include "sets/steady.h"

/* nwhead.statement_cache, in kilobytes */
extern int nw_statement_cache;

/* Who asks for what. */
typedef struct NwCacheKey
{
	Oid schema;
	const char *name; /* of the set */
	uint64 run;       /* the query that makes the call itself, or 0:
	                   * see nw_statements_run() */
} NwCacheKey;

typedef enum NwCacheState
{
	NW_CACHE_NEW,     /* not met before in this statement */
	NW_CACHE_SEEN,    /* read before, not packed */
	NW_CACHE_TOO_BIG, /* read before, beyond the bound */
	NW_CACHE_PACKED   /* here it is */
} NwCacheState;

/*
 * Describe a call; caller is the memory context of the calling expression
 * (fn_mcxt).
 */
extern void nw_cache_key(NwCacheKey *key, Oid schema, const char *name, MemoryContext caller);

/* Look for a support packed by an earlier call. */
extern NwCacheState nw_cache_find(const NwCacheKey *key, bool need_ids, NwSupport **support);

/* True where rows read now may be shown to later calls of the statement. */
extern bool nw_cache_may_keep(const NwCacheKey *key, const NwDependence *depends);

/* nwhead.statement_cache in bytes. */
extern Size nw_cache_bound(void);

/* Forget a support that is about to be freed. */
extern void nw_cache_forget(const NwSupport *support);

/*
 * Make room for a support of so many bytes, dropping the entries used longest
 * ago; false where it is beyond the bound by itself.
 */
extern bool nw_cache_reserve(Size bytes);

/*
 * Make room for a support that the cache holds to grow by so many bytes; false
 * where it would not fit, or is not the cache's.
 */
extern bool nw_cache_reserve_more(const NwSupport *support, Size bytes);

/*
 * Remember what a call has read: the packed rows, whose memory the cache
 * takes over, or (support NULL) only that it was read.
 */
extern void nw_cache_keep(const NwCacheKey *key, const NwDependence *depends, NwSupport *support,
                          bool too_big);

/* Take note that a relation has been changed by DDL; InvalidOid for any. */
extern void nw_cache_relation_changed(Oid relid);

/* Install the hooks and callbacks that drop what is no longer valid. */
extern void nw_cache_init(void);

#endif /* NW_PREDICT_CACHE_H */
