/*
 * predict/prototypes.c
 *		Store the prototypes of distilled sets, and keep them in memory from
 *		one statement to the next.
 *
 * The cache is keyed by id and version of a set.  Whatever changes a set
 * gives it a version that was never used before, and prototypes of a version
 * never change, so nothing has to be invalidated: a snapshot that sees
 * another version finds others, older snapshots included.  But what a
 * transaction reads that has written prototypes itself may not be all of
 * them, or may be rolled back: that is not kept beyond the statement.
 */
#include "postgres.h"

#include "access/table.h"
#include "lib/ilist.h"
#include "utils/memutils.h"

#include "compat.h"
#include "predict/prototypes.h"
#include "predict/statement_cache.h"
#include "rows.h"
#include "sets/own_tables.h"

/* The prototypes of a set that are kept in memory. */
typedef struct KeptPrototypes
{
	dlist_node node;
	Oid relid; /* their table: a new one where the extension was created anew */
	int64 set_id;
	int64 version;      /* of the set */
	NwSupport *support; /* in whose context this lies too */
	Size bytes;         /* of all of it */
} KeptPrototypes;

/* Most recently used first. */
static dlist_head kept_sets = DLIST_STATIC_INIT(kept_sets);

/*
 * Make room for a set: drop its other versions, and what was used longest ago
 * until so many more bytes fit.
 */
static void
make_room(const NwSource *source, Size bytes)
{
	Size used = bytes;
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &kept_sets)
	{
		KeptPrototypes *kept = dlist_container(KeptPrototypes, node, iter.cur);
		bool outdated = kept->relid == source->relid && kept->set_id == source->set->set_id;

		if (!outdated)
			used += kept->bytes;
		if (outdated || used > nw_cache_bound())
		{
			nw_cache_forget(kept->support);
			dlist_delete(&kept->node);
			MemoryContextDelete(kept->support->mcxt);
		}
	}
}

/* Keep a support for later statements. */
static void
keep(const NwSource *source, NwSupport *support)
{
	KeptPrototypes *kept = MemoryContextAllocZero(support->mcxt, sizeof(KeptPrototypes));

	kept->relid = source->relid;
	kept->set_id = source->set->set_id;
	kept->version = source->set->version;
	kept->support = support;
	support->shared = true;
	nw_support_move(support, TopMemoryContext);
	kept->bytes = MemoryContextMemAllocated(support->mcxt, true);
	make_room(source, kept->bytes);
	dlist_push_head(&kept_sets, &kept->node);
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
	dlist_foreach(iter, &kept_sets)
	{
		KeptPrototypes *kept = dlist_container(KeptPrototypes, node, iter.cur);

		if (kept->version == source->set->version && kept->relid == source->relid &&
		    kept->set_id == source->set->set_id)
		{
			dlist_move_head(&kept_sets, &kept->node);
			return kept->support;
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
	bool nulls[7] = {false};
	Datum values[lengthof(nulls)] = {
		Int64GetDatum(set->set_id),        nw_bytes_datum(prototype->label),
		Int32GetDatum(prototype->ordinal), nw_vector_make(prototype->x, prototype->dim),
		Int64GetDatum(prototype->members), nw_text_or_null(prototype->source_id, &nulls[5]),
		Float8GetDatum(prototype->weight)};

	nw_own_insert(rel, values, nulls);
	table_close(rel, NoLock);
}
