/*
 * predict/statement_cache.h
 *		Packed supports kept for the rest of a statement.
 */
#ifndef NW_PREDICT_STATEMENT_CACHE_H
#define NW_PREDICT_STATEMENT_CACHE_H

#include "postgres.h"

#include "predict/support.h"
#include "sets/dependence.h"

/* nwhead.statement_cache, in kilobytes. */
extern int nw_statement_cache;

/* Who asks for what. */
typedef struct NwCacheKey
{
	Oid schema;       /* the extension's */
	const char *name; /* of the set */
	uint64 query;     /* that makes the call itself, or 0: see nw_running_query() */
} NwCacheKey;

/* What is known of a set that is asked for. */
typedef enum NwCacheState
{
	NW_CACHE_NEW,     /* not met before in this statement */
	NW_CACHE_SEEN,    /* read before, not packed */
	NW_CACHE_TOO_BIG, /* read before, beyond the bound */
	NW_CACHE_PACKED   /* here it is */
} NwCacheState;

extern void nw_cache_key(NwCacheKey *key, Oid schema, const char *name, MemoryContext caller);
extern NwCacheState nw_cache_find(const NwCacheKey *key, bool need_ids, NwSupport **support);
extern bool nw_cache_may_keep(const NwCacheKey *key, const NwDependence *depends);
extern Size nw_cache_bound(void);
extern void nw_cache_forget(const NwSupport *support);
extern bool nw_cache_reserve(Size bytes);
extern bool nw_cache_reserve_more(const NwSupport *support, Size bytes);
extern void nw_cache_keep(const NwCacheKey *key, const NwDependence *depends, NwSupport *support,
                          bool too_big);
extern bool nw_cache_find_typical(const NwCacheKey *key, const NwTypical **typical);
extern void nw_cache_keep_typical(const NwCacheKey *key, const NwTypical *typical);
extern void nw_cache_relation_changed(Oid relid);
extern void nw_cache_init(void);

#endif /* NW_PREDICT_STATEMENT_CACHE_H */
