/*
 * sets/source.h
 *		The relation behind a set: its columns, their types, and a scan of it.
 */
#ifndef NW_SETS_SOURCE_H
#define NW_SETS_SOURCE_H

#include "postgres.h"

#include "nodes/pg_list.h"

#include "sets/pgvector.h"
#include "sets/registry.h"

/* A set's relation as the catalogs have it now. */
typedef struct NwSource
{
	NwSet *set;
	bool distilled; /* its rows are prototypes */

	/* where the rows are, by name */
	const char *schema;
	const char *relation;
	const char *embedding;
	const char *label;
	const char *id;
	const char *weight;

	/* and what the catalogs say of them */
	Oid relid;
	NwVectorType vector_type;
	int dim;        /* declared dimensions, or 0 */
	Oid label_type; /* InvalidOid for a query-only set */
	Oid id_type;    /* TIDOID where ctid stands in */
} NwSource;

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
	double weight; /* 1 where not asked for */
} NwRow;

typedef void (*NwRowCallback)(const NwRow *row, void *arg);

/* A planned scan. */
typedef struct NwScan
{
	struct NwIndexReader *index; /* reads the rows instead of the executor,
	                              * where not NULL */
	List *relids;                /* every relation it reads */
	bool steady;                 /* depends on nothing but these relations'
	                              * rows and the settings; no text that another
	                              * setting can change */
	List *settings;              /* see nw_query_is_steady() */
	bool foreign;                /* some of the rows are elsewhere */
	struct NwScanState *state;
} NwScan;

/*
 * Lock a set's relation and check its columns.  The error names the set and
 * what is missing.  extension is the extension's schema.
 */
extern NwSource *nw_source_resolve(Oid extension, NwSet *set);

/* True where the rows of both come from one relation in the end. */
extern bool nw_source_same_origin(const NwSource *a, const NwSource *b);

/* Insist that a set has labels, so that it can support predictions. */
extern void nw_source_check_labelled(const NwSource *source);

/*
 * Plan to read some columns of a set with the caller's privileges and
 * policies; limit is 0 for all rows.
 */
extern NwScan *nw_scan_plan(const NwSource *source, int columns, int64 limit);

/* The plan of the ordinary SELECT that reads all rows of a set. */
extern const struct PlannedStmt *nw_scan_statement(const NwSource *source, int columns);

/* The same out of an index: embeddings and labels; NULL where that cannot be. */
extern NwScan *nw_scan_plan_index(const NwSource *source);

/*
 * Read the rows under the active snapshot.  Rows without an embedding are
 * skipped.  The callback's current memory context is reset after each row.
 */
extern void nw_scan_run(NwScan *scan, NwRowCallback callback, void *arg);

#endif /* NW_SETS_SOURCE_H */
