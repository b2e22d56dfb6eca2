/*
 * predict/prototypes.c
 *		Store the prototypes of distilled sets, and keep them in memory from
 *		one statement to the next.
 *
 * The cache is keyed by id and version of a set.  Whatever changes a set
 * gives it a version that was never used before, and prototypes of a version
 * never change, so nothing has to be invalidated: a snapshot that sees
 * another version finds another entry, older snapshots included.  But what a
 * transaction reads that has written prototypes itself may not be all of
 * them, or may be rolled back: that is not kept beyond the statement.
 */
#include "postgres.h"

#include "access/table.h"
#include "lib/ilist.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "compat.h"
#include "predict/cache.h"
#include "predict/prototypes.h"
#include "sets/own_tables.h"

typedef struct Entry
{
	dlist_node node;
	Oid relid; /* the table of prototypes: a new one where
	            * the extension was created anew */
	int64 set_id;
	int64 version;
	NwSupport *support; /* its context holds the entry too */
	Size bytes;
} Entry;

/* Most recently used first. */
static dlist_head entries = DLIST_STATIC_INIT(entries);

/* Drop what was used longest ago until so many more bytes fit. */
static void
make_room(Size bytes)
{
	Size used = bytes;
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &entries)
	{
		Entry *entry = dlist_container(Entry, node, iter.cur);

		used += entry->bytes;
		if (used > nw_cache_bound())
		{
			nw_cache_forget(entry->support);
			dlist_delete(&entry->node);
			MemoryContextDelete(entry->support->mcxt);
		}
	}
}

/* Keep a support for later statements. */
static void
keep(const NwSource *source, NwSupport *support)
{
	Entry *entry = MemoryContextAllocZero(support->mcxt, sizeof(Entry));

	entry->relid = source->relid;
	entry->set_id = source->set->set_id;
	entry->version = source->set->version;
	entry->support = support;
	entry->bytes = nw_support_memory(support);
	support->shared = true;
	make_room(entry->bytes);
	nw_support_move(support, TopMemoryContext);
	dlist_push_head(&entries, &entry->node);
}

/*
 * The packed prototypes of a set, as the active snapshot sees them, or NULL
 * where the set is not distilled.  They stay in the backend's memory (shared),
 * unless this transaction has written prototypes; the caller's right to them
 * has been checked.
 */
NwSupport *
nw_prototypes_find(const NwSource *source)
{
	dlist_iter iter;
	NwSupport *support;

	if (!source->distilled)
		return NULL;
	dlist_foreach(iter, &entries)
	{
		Entry *entry = dlist_container(Entry, node, iter.cur);

		if (entry->version == source->set->version && entry->relid == source->relid &&
		    entry->set_id == source->set->set_id)
		{
			dlist_move_head(&entries, &entry->node);
			return entry->support;
		}
	}

	support =
		nw_support_read(source, NW_SCAN_LABEL | NW_SCAN_ID | NW_SCAN_WEIGHT, nw_cache_bound());
	if (support == NULL)
		return NULL; /* as any other set that is too large */
	nw_support_check_rows(support, source);
	if (!nw_holds_lock(source->relid, RowExclusiveLock))
		keep(source, support);
	return support;
}

/* Store a prototype of a set that has been written to the registry. */
void
nw_prototypes_insert(Oid schema, const NwSet *set, const NwPrototype *prototype)
{
	Relation rel = nw_own_open(schema, NW_PROTOTYPE, RowExclusiveLock);
	Datum values[] = {
		Int64GetDatum(set->set_id),
		PointerGetDatum(cstring_to_text_with_len(prototype->label.data, prototype->label.len)),
		Int32GetDatum(prototype->ordinal),
		nw_vector_make(prototype->x, prototype->dim),
		Int64GetDatum(prototype->members),
		prototype->source_id ? CStringGetTextDatum(prototype->source_id) : (Datum) 0,
		Float8GetDatum(prototype->weight)};
	bool nulls[lengthof(values)] = {false};

	nulls[5] = prototype->source_id == NULL;
	nw_own_insert(rel, values, nulls);
	table_close(rel, NoLock);
}
