/*
 * predict/statement_cache.c
 *		Keep packed supports for the rest of a statement.
 *
 * SELECT nw_predict(e, 'birds') FROM inbox calls nw_predict once for each row
 * of inbox, and all calls see the same birds.  So the first call packs them
 * and the others find them here.  What is found must be exactly what a fresh
 * read would return, so an entry is used only
 *
 *	- under a snapshot with the same contents, in the same transaction, with
 *	  no subtransaction rolled back since;
 *	- while no statement under way writes what was read under a command id
 *	  that this snapshot sees: see running_statements.c;
 *	- by the same user, in the same security context, under the same setting
 *	  of row_security;
 *	- while no relation that was read, and no role, database, schema or
 *	  function, has been changed by DDL, and no table has been truncated.
 *
 * That is enough where the rows depend on tables alone.  Views and policies
 * may also depend on settings, which any function may change between two
 * calls: their values are compared, too.  What depends on anything else is not
 * kept (see dependence.c).
 *
 * Rows of foreign tables are seen under a snapshot of somebody else's.  They
 * serve only the expressions of one run of one query, not those that PL/pgSQL
 * evaluates on its own, and only until anything has been written.
 *
 * Entries go away when the outermost statement ends, with the transaction,
 * and before the memory in use would pass nwhead.statement_cache.
 */
#include "postgres.h"

#include "access/xact.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "predict/running_statements.h"
#include "predict/statement_cache.h"
#include "sets/own_tables.h"

/* What a call has read. */
typedef struct CacheEntry
{
	dlist_node node;
	MemoryContext mcxt; /* of the entry and all that it owns */

	/* what a later call must match */
	Oid schema;
	char *name;
	SnapshotData snapshot; /* its arrays are copies in mcxt */
	Oid user;
	int security_context;
	bool row_security;
	uint32 owners;             /* hash of the type whose privileges tell the owners of sets */
	NwSettingValues *settings; /* of those that matter; NULL where none does */
	bool foreign;              /* the query and the command must match too */
	uint64 query;              /* only where foreign */
	CommandId command;         /* only where foreign */

	/* what was read */
	List *relids;       /* all relations, and their roots */
	bool stale;         /* something has changed: not to be used any more */
	bool too_big;       /* for the cache */
	NwSupport *support; /* the rows; NULL where they were only read */
	Size bytes;         /* of what is the cache's own of them */
	bool typical_read;  /* typical is known, if only to be NULL */
	NwTypical *typical; /* what distances are compared with */
} CacheEntry;

int nw_statement_cache = 256 * 1024;

/* The one used last comes first. */
static dlist_head entries = DLIST_STATIC_INIT(entries);
static MemoryContext cache_mcxt = NULL;

static void
drop_entry(CacheEntry *entry)
{
	dlist_delete(&entry->node);
	MemoryContextDelete(entry->mcxt);
}

/* Free all entries, and what an error has left of another. */
static void
clear_cache(void)
{
	dlist_init(&entries);
	if (cache_mcxt)
		MemoryContextDeleteChildren(cache_mcxt);
}

static void
copy_snapshot(SnapshotData *to, Snapshot from, MemoryContext mcxt)
{
	*to = *from;
	if (from->xcnt > 0)
	{
		to->xip = MemoryContextAlloc(mcxt, from->xcnt * sizeof(TransactionId));
		memcpy(to->xip, from->xip, from->xcnt * sizeof(TransactionId));
	}
	if (from->subxcnt > 0)
	{
		to->subxip = MemoryContextAlloc(mcxt, from->subxcnt * sizeof(TransactionId));
		memcpy(to->subxip, from->subxip, from->subxcnt * sizeof(TransactionId));
	}
}

/* Compare two snapshots of one transaction by what they make visible. */
static bool
same_snapshot(const SnapshotData *a, const SnapshotData *b)
{
	return a->snapshot_type == b->snapshot_type && a->xmin == b->xmin && a->xmax == b->xmax &&
	       a->curcid == b->curcid && a->takenDuringRecovery == b->takenDuringRecovery &&
	       a->suboverflowed == b->suboverflowed && a->xcnt == b->xcnt && a->subxcnt == b->subxcnt &&
	       (a->xcnt == 0 || memcmp(a->xip, b->xip, a->xcnt * sizeof(TransactionId)) == 0) &&
	       (a->subxcnt <= 0 ||
	        memcmp(a->subxip, b->subxip, a->subxcnt * sizeof(TransactionId)) == 0);
}

/* Say whether rows from elsewhere may be the same as they were. */
static bool
foreign_matches(const CacheEntry *entry, const NwCacheKey *key)
{
	return key->query > 0 && entry->query == key->query &&
	       entry->command == GetCurrentCommandId(false) && !nw_running_may_write_foreign();
}

/* Say whether an entry shows what a call would read. */
static bool
entry_matches(const CacheEntry *entry, const NwCacheKey *key)
{
	Snapshot snapshot = GetActiveSnapshot();
	Oid user;
	int security_context;

	if (entry->stale || entry->schema != key->schema || strcmp(entry->name, key->name) != 0 ||
	    !same_snapshot(&entry->snapshot, snapshot))
		return false;
	GetUserIdAndSecContext(&user, &security_context);
	if (entry->user != user || entry->security_context != security_context ||
	    entry->row_security != row_security)
		return false;
	return (entry->settings == NULL || nw_setting_values_hold(entry->settings)) &&
	       (!entry->foreign || foreign_matches(entry, key)) && !nw_running_may_write(entry->relids);
}

/*
 * Describe a call; caller is the memory context of the calling expression
 * (fn_mcxt).
 */
void
nw_cache_key(NwCacheKey *key, Oid schema, const char *name, MemoryContext caller)
{
	key->schema = schema;
	key->name = name;
	key->query = nw_running_query(caller);
}

/* Look for a support packed by an earlier call. */
NwCacheState
nw_cache_find(const NwCacheKey *key, bool need_ids, NwSupport **support)
{
	dlist_mutable_iter iter;

	*support = NULL;
	dlist_foreach_modify(iter, &entries)
	{
		CacheEntry *entry = dlist_container(CacheEntry, node, iter.cur);

		if (entry->stale)
			drop_entry(entry);
		else if (entry_matches(entry, key))
		{
			if (entry->too_big)
				return NW_CACHE_TOO_BIG;
			if (entry->support == NULL || (need_ids && !entry->support->has_ids))
				return NW_CACHE_SEEN;
			dlist_move_head(&entries, &entry->node);
			*support = entry->support;
			return NW_CACHE_PACKED;
		}
	}
	return NW_CACHE_NEW;
}

/* List all that a call reads: tables of the extension's, the relations of the rows, the roots. */
static List *
list_relations(const NwCacheKey *key, const NwDependence *depends)
{
	List *own = list_make2_oid(nw_own_relid(key->schema, NW_REGISTRY),
	                           nw_own_relid(key->schema, NW_REFERENCE));

	return nw_running_add_roots(list_concat(own, depends->relids));
}

/* True where rows read now may be shown to later calls of the statement. */
bool
nw_cache_may_keep(const NwCacheKey *key, const NwDependence *depends)
{
	return nw_statement_cache > 0 && GetActiveSnapshot()->snapshot_type == SNAPSHOT_MVCC &&
	       depends->known &&
	       (!depends->foreign || (key->query > 0 && !nw_running_may_write_foreign())) &&
	       !nw_running_may_write(list_relations(key, depends));
}

/* nwhead.statement_cache in bytes. */
Size
nw_cache_bound(void)
{
	return (Size) nw_statement_cache * 1024;
}

/* Forget a support that is about to be freed. */
void
nw_cache_forget(const NwSupport *support)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &entries)
	{
		CacheEntry *entry = dlist_container(CacheEntry, node, iter.cur);

		if (entry->support == support)
			drop_entry(entry);
	}
}

/*
 * Make room for a support of so many bytes, dropping the entries used longest
 * ago; false where it is beyond the bound by itself.
 */
bool
nw_cache_reserve(Size bytes)
{
	Size bound = nw_cache_bound();
	Size used = bytes;
	dlist_mutable_iter iter;

	if (bytes > bound)
		return false;

	/* from the entry used last; all that follow the first too many go */
	dlist_foreach_modify(iter, &entries)
	{
		CacheEntry *entry = dlist_container(CacheEntry, node, iter.cur);

		used += entry->bytes;
		if (used > bound)
			drop_entry(entry);
	}
	return true;
}

/*
 * Make room for a support that the cache holds to grow by so many bytes; false
 * where it would not fit, or is not the cache's.
 */
bool
nw_cache_reserve_more(const NwSupport *support, Size bytes)
{
	dlist_iter iter;

	dlist_foreach(iter, &entries)
	{
		CacheEntry *entry = dlist_container(CacheEntry, node, iter.cur);

		if (entry->support == support)
		{
			if (entry->bytes == 0 || entry->bytes + bytes > nw_cache_bound())
				return false;
			entry->bytes += bytes;

			/* it is the one used last, so that it is not among those to go */
			dlist_move_head(&entries, &entry->node);
			return nw_cache_reserve(0);
		}
	}
	return false;
}

/* What an invalidation of the registry's row type says: see sets/owner.c. */
static uint32
owners_hash(Oid schema)
{
	Oid type = get_rel_type_id(nw_own_relid(schema, NW_REGISTRY));

	return GetSysCacheHashValue1(TYPEOID, ObjectIdGetDatum(type));
}

/*
 * Remember what a call has read: the packed rows, whose memory the cache
 * takes over, or (support NULL) only that it was read.
 */
void
nw_cache_keep(const NwCacheKey *key, const NwDependence *depends, NwSupport *support, bool too_big)
{
	MemoryContext mcxt;
	MemoryContext caller;
	CacheEntry *entry;
	dlist_mutable_iter iter;

	/* an entry of the same key knew less */
	dlist_foreach_modify(iter, &entries)
	{
		entry = dlist_container(CacheEntry, node, iter.cur);
		if (entry_matches(entry, key))
			drop_entry(entry);
	}

	if (cache_mcxt == NULL)
		cache_mcxt =
			AllocSetContextCreate(TopMemoryContext, "nwhead statement cache", ALLOCSET_SMALL_SIZES);
	mcxt = AllocSetContextCreate(cache_mcxt, "nwhead cache entry", ALLOCSET_SMALL_SIZES);
	caller = MemoryContextSwitchTo(mcxt);
	entry = palloc0(sizeof(CacheEntry));
	entry->mcxt = mcxt;
	entry->schema = key->schema;
	entry->name = pstrdup(key->name);
	copy_snapshot(&entry->snapshot, GetActiveSnapshot(), mcxt);
	GetUserIdAndSecContext(&entry->user, &entry->security_context);
	entry->row_security = row_security;
	entry->owners = owners_hash(key->schema);
	if (depends->settings != NIL)
		entry->settings = nw_setting_values_read(depends->settings);
	entry->foreign = depends->foreign;
	entry->query = key->query;
	entry->command = GetCurrentCommandId(false);
	entry->relids = list_relations(key, depends);
	entry->too_big = too_big;
	entry->support = support;
	if (support && !support->shared)
	{
		nw_support_move(support, mcxt);
		entry->bytes = nw_support_memory(support);
	}
	dlist_push_head(&entries, &entry->node);
	MemoryContextSwitchTo(caller);
}

/* The entry with packed rows that a call would use; NULL where there is none. */
static CacheEntry *
packed_entry(const NwCacheKey *key)
{
	dlist_iter iter;

	dlist_foreach(iter, &entries)
	{
		CacheEntry *entry = dlist_container(CacheEntry, node, iter.cur);

		if (entry->support && entry_matches(entry, key))
			return entry;
	}
	return NULL;
}

/* Look for what an earlier call compared distances with; false where that is not known. */
bool
nw_cache_find_typical(const NwCacheKey *key, const NwTypical **typical)
{
	const CacheEntry *entry = packed_entry(key);

	if (entry == NULL || !entry->typical_read)
		return false;
	*typical = entry->typical;
	return true;
}

/* Keep a copy of what distances are compared with, beside packed rows, where it fits. */
void
nw_cache_keep_typical(const NwCacheKey *key, const NwTypical *typical)
{
	CacheEntry *entry = packed_entry(key);
	Size size = typical ? typical->n * sizeof(double) : 0;

	if (entry == NULL || entry->bytes + size > nw_cache_bound())
		return;
	if (typical)
	{
		double *distance = MemoryContextAlloc(entry->mcxt, Max(size, 1));

		entry->typical = MemoryContextAlloc(entry->mcxt, sizeof(NwTypical));
		*entry->typical = *typical;
		entry->typical->distance = memcpy(distance, typical->distance, size);
		entry->bytes += size;
	}
	entry->typical_read = true;

	/* it is the one used last, so that it is not among those to go */
	dlist_move_head(&entries, &entry->node);
	(void) nw_cache_reserve(0);
}

/*
 * Take note that a relation has been changed by DDL; InvalidOid for any.  Entries are
 * only marked, and freed later: one may be in use.
 */
void
nw_cache_relation_changed(Oid relid)
{
	dlist_iter iter;

	dlist_foreach(iter, &entries)
	{
		CacheEntry *entry = dlist_container(CacheEntry, node, iter.cur);

		if (!OidIsValid(relid) || list_member_oid(entry->relids, relid))
			entry->stale = true;
	}
}

/* Mark all entries. */
static void
all_changed(void)
{
	nw_cache_relation_changed(InvalidOid);
}

/* Something that decides who may read what has changed. */
static void
rights_changed(Datum arg, int cacheid, uint32 hashvalue)
{
	(void) arg;
	(void) cacheid;
	(void) hashvalue;
	all_changed();
}

/* A type has changed, or any (0); types come and go with tables. */
static void
type_changed(Datum arg, int cacheid, uint32 hashvalue)
{
	dlist_iter iter;

	(void) arg;
	(void) cacheid;
	dlist_foreach(iter, &entries)
	{
		CacheEntry *entry = dlist_container(CacheEntry, node, iter.cur);

		if (hashvalue == 0 || hashvalue == entry->owners)
			entry->stale = true;
	}
}

/* Forget everything at the end of a transaction. */
static void
transaction_event(XactEvent event, void *arg)
{
	(void) arg;
	switch (event)
	{
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
		case XACT_EVENT_PARALLEL_COMMIT:
		case XACT_EVENT_PARALLEL_ABORT:
			clear_cache();
			break;
		default:
			break;
	}
}

/*
 * Forget everything when a subtransaction is rolled back: its rows vanish
 * without a change to the fields of the snapshot.
 */
static void
subtransaction_event(SubXactEvent event, SubTransactionId subid, SubTransactionId parent, void *arg)
{
	(void) subid;
	(void) parent;
	(void) arg;
	if (event == SUBXACT_EVENT_ABORT_SUB)
		clear_cache();
}

/* Install the hooks and callbacks that drop what is no longer valid. */
void
nw_cache_init(void)
{
	/* roles and their members, also by owning the database, schemas, functions,
	 * names of enum values */
	const int caches[] = {AUTHOID, AUTHMEMROLEMEM, DATABASEOID, NAMESPACEOID, PROCOID, ENUMOID};

	nw_running_init(clear_cache, all_changed);
	for (int i = 0; i < (int) lengthof(caches); i++)
		CacheRegisterSyscacheCallback(caches[i], rights_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(TYPEOID, type_changed, (Datum) 0);
	RegisterXactCallback(transaction_event, NULL);
	RegisterSubXactCallback(subtransaction_event, NULL);
}
