/*
 * predict/route.h
 *		Where the rows of a set are read from.
 */
#ifndef NW_PREDICT_ROUTE_H
#define NW_PREDICT_ROUTE_H

#include "postgres.h"

#include "index/read.h"
#include "sets/scan.h"

/* A way to the rows of a set, with locks and privileges settled. */
typedef struct NwRoute
{
	const NwSource *source;
	int columns;          /* NW_SCAN_... */
	NwIndexReader *index; /* open; NULL where the executor reads the rows */
	NwScan *scan;         /* planned; NULL where an index has the rows */
	const char *reason;   /* why no index serves; NULL where one does */
	NwDependence depends; /* what the rows depend on */
} NwRoute;

extern void nw_route_open(NwRoute *route, const NwSource *source, int columns, bool few_ids);
extern void nw_route_leave_index(NwRoute *route);
extern void nw_route_read(NwRoute *route, NwRowCallback callback, void *arg);
extern void nw_route_close(NwRoute *route);

#endif /* NW_PREDICT_ROUTE_H */
