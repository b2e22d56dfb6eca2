/*
 * sets/scan.h
 *		Read the rows of a set through the executor.
 */
#ifndef NW_SETS_SCAN_H
#define NW_SETS_SCAN_H

#include "postgres.h"

#include "nodes/plannodes.h"

#include "sets/dependence.h"
#include "sets/source.h"

/* Columns a scan is to return beside the embedding. */
#define NW_SCAN_LABEL 0x01 /* skip rows without one */
#define NW_SCAN_ID 0x02
#define NW_SCAN_WEIGHT 0x04 /* skip rows of weight 0 */
#define NW_SCAN_TRUTH 0x08  /* the label, where there is one */

/* One row of a scan; it lives until the callback returns. */
typedef struct NwRow
{
	NwVectorData vector;
	Datum label;
	bool label_isnull;
	Datum id;
	bool id_isnull;
	double weight; /* balanced where the set is; 1 where not asked for */
} NwRow;

typedef void (*NwRowCallback)(const NwRow *row, void *arg);

/* A planned scan. */
typedef struct NwScan
{
	NwDependence depends;
	struct NwScanState *state;
} NwScan;

extern NwScan *nw_scan_plan(const NwSource *source, int columns, int64 limit);
extern const PlannedStmt *nw_scan_statement(const NwSource *source, int columns);
extern void nw_scan_report_mixed(const NwSource *source, int dim, int other);
extern void nw_scan_run(NwScan *scan, NwRowCallback callback, void *arg);

#endif /* NW_SETS_SCAN_H */
