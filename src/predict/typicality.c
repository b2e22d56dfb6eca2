/*
 * predict/typicality.c
 *		Store the distances that queries are compared by, and read them.
 *
 * They are reference scores: see sets/reference.c.  Neither temperature nor weight
 * has a part in them, so they stay when these change.
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "predict/typicality.h"
#include "sets/reference.h"

/* Store distances in place of those that the set had; its owner's right has been checked. */
void
nw_typical_store(Oid schema, const NwSet *set, const char *queries, const NwTypical *typical)
{
	NwReference row = {.queries = queries,
	                   .k = typical->k,
	                   .at = GetCurrentTimestamp(),
	                   .n = typical->n,
	                   .score = unconstify(double *, typical->distance)};

	nw_set_hold_unchanged(schema, set);
	nw_reference_replace(schema, set, NW_REFERENCE_NEIGHBOUR, &row, 1);
}

/*
 * The distances that a set has learned, as the active snapshot sees them; NULL where it
 * has none, or none that hold for the set as it is.
 */
const NwTypical *
nw_typical_read(Oid schema, const NwSet *set)
{
	NwReferences *references;
	const NwReference *row;
	NwTypical *typical;

	if (!nw_reference_is_current(schema, set, NW_REFERENCE_NEIGHBOUR))
		return NULL;
	references = nw_reference_read(schema, set, NW_REFERENCE_NEIGHBOUR);
	row = &references->row[0];
	if (row->class.data || row->k < 1 || row->k > NW_NEIGHBOURS_MAX)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
		                errmsg("reference scores of set \"%s\" are damaged", set->name),
		                errhint("Run nw_learn_typicality again.")));
	typical = palloc(sizeof(NwTypical));
	typical->k = row->k;
	typical->n = row->n;
	typical->own = row->queries == NULL;
	typical->distance = row->score;
	return typical;
}

/* Complain about a set that has not learned what is asked of it. */
void
nw_report_no_typicality(const char *set)
{
	ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
	                errmsg("set \"%s\" cannot tell how typical a query is", set),
	                errdetail("It has learned no distances, or has changed since."),
	                errhint("Run nw_learn_typicality.")));
}
