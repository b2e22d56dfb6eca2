/*
 * predict/route.c
 *		Decide once where the rows of a set are read from: an nw index, or the
 *		executor.
 */
#include "postgres.h"

#include "index/usable.h"
#include "predict/route.h"

/* Note what rows out of an index depend on. */
static void
describe_index(NwRoute *route)
{
	const NwIndexReader *reader = route->index;
	NwDependence *depends = &route->depends;

	depends->relids = list_make1_oid(route->source->relid);
	for (int i = 0; i < reader->nparts; i++)
	{
		depends->relids = lappend_oid(depends->relids, RelationGetRelid(reader->part[i].heap));
		depends->relids = lappend_oid(depends->relids, RelationGetRelid(reader->part[i].index));
	}
	depends->known = true;
	nw_dependence_add_text(depends, route->source->label_type);
}

/* Let the executor read the rows. */
static void
plan_scan(NwRoute *route)
{
	route->scan = nw_scan_plan(route->source, route->columns, 0);
	route->depends = route->scan->depends;
}

/*
 * Find the way to some columns of all rows.  An index has no ids, and not the rows
 * without a label; few_ids says that no more than a few ids will be asked for, one
 * by one.
 */
void
nw_route_open(NwRoute *route, const NwSource *source, int columns, bool few_ids)
{
	memset(route, 0, sizeof(NwRoute));
	route->source = source;
	route->columns = columns;
	if ((columns & NW_SCAN_LABEL) && (few_ids || !(columns & NW_SCAN_ID)))
		route->index = nw_index_find(source, (columns & NW_SCAN_ID) != 0, &route->reason);
	else
		route->reason = "the ids of many rows are needed, which are in the table alone";
	if (route->index)
		describe_index(route);
	else
		plan_scan(route);
}

/* Go through the executor after all. */
void
nw_route_leave_index(NwRoute *route)
{
	nw_route_close(route);
	plan_scan(route);
}

/* Hand all rows to a callback, as nw_scan_run() does; those of an index without ids. */
void
nw_route_read(NwRoute *route, NwRowCallback callback, void *arg)
{
	if (route->index)
	{
		nw_index_begin(route->index, NULL);
		nw_index_read_rows(route->index, callback, arg);
	}
	else
		nw_scan_run(route->scan, callback, arg);
}

void
nw_route_close(NwRoute *route)
{
	if (route->index)
		nw_index_end(route->index);
	route->index = NULL;
}
