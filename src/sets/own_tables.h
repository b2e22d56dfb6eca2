/*
 * sets/own_tables.h
 *		The extension's own tables: the only place that opens and writes them.
 */
#ifndef NW_SETS_OWN_TABLES_H
#define NW_SETS_OWN_TABLES_H

#include "postgres.h"

#include "access/skey.h"
#include "fmgr.h"
#include "storage/lockdefs.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

typedef enum NwOwnTable
{
	NW_REGISTRY,  /* registered sets */
	NW_PROTOTYPE, /* rows of distilled sets */
	NW_INFLUENCE, /* what nw_diagnose found */
	NW_SUSPECT,
	NW_SAVED /* what a dump holds; always empty */
} NwOwnTable;

#define NW_OWN_TABLES 5

/* Columns of the registry, in the order of the extension's script. */
enum
{
	Anum_set_id = 1,
	Anum_name,
	Anum_owner,
	Anum_mode,
	Anum_parent,
	Anum_schema,
	Anum_relation,
	Anum_embedding,
	Anum_label,
	Anum_id,
	Anum_weight,
	Anum_kernel,
	Anum_tau,
	Anum_k,
	Anum_seed,
	Anum_dim,
	Anum_version,
	Anum_centroids
};

/* Columns of prototypes and diagnoses by which rows are found. */
#define Anum_prototype_set 1
#define Anum_diagnosis_support 1
#define Anum_diagnosis_queries 2

/* The schema the extension lives in: that of the function being called. */
extern Oid nw_extension_schema(FunctionCallInfo fcinfo);

/* The OID of an extension and its schema, or InvalidOid where there is none. */
extern Oid nw_extension_find(const char *name, Oid *schema);

/* The name of a table. */
extern const char *nw_own_name(NwOwnTable table);

/*
 * Open a table of the extension's, which is what the script made or an error.
 * A lock that allows writing is refused where nothing may be written.
 */
extern Relation nw_own_open(Oid schema, NwOwnTable table, LOCKMODE lockmode);

/* The OID of such a table, after the same checks. */
extern Oid nw_own_relid(Oid schema, NwOwnTable table);

/* The index by which the rows of an open table are found by a column. */
extern Oid nw_own_index(Relation rel, NwOwnTable table, AttrNumber column);

/* A number never given before. */
extern int64 nw_own_next_version(Oid schema);

/*
 * Write one row, without any trigger, rule or query: no code but this runs.
 * The caller's right to it has been checked.
 */
extern void nw_own_insert(Relation rel, Datum *values, bool *nulls);

/*
 * Delete the rows that match keys, the first of them on an indexed column.  The
 * keys are used up.
 */
extern void nw_own_delete(Relation rel, NwOwnTable table, ScanKey keys, int nkeys);

/* Make a key for a column of type int8. */
extern void nw_own_key(ScanKey key, AttrNumber column, int64 value);

/* Install the callbacks that forget what was verified. */
extern void nw_own_init(void);

#endif /* NW_SETS_OWN_TABLES_H */
