/*
 * sets/own_tables.h
 *		The extension's own tables: the only place that opens and writes them.
 */
#ifndef NW_SETS_OWN_TABLES_H
#define NW_SETS_OWN_TABLES_H

#include "postgres.h"

#include "access/skey.h"
#include "storage/lockdefs.h"
#include "utils/relcache.h"

typedef enum NwOwnTable
{
	NW_REGISTRY,  /* registered sets */
	NW_PROTOTYPE, /* rows of distilled sets */
	NW_INFLUENCE, /* supports that nw_diagnose found to help or to harm */
	NW_SUSPECT,   /* and those it found to be suspect */
	NW_REFERENCE, /* scores that queries are compared with */
	NW_SAVED      /* what a dump holds; always empty */
} NwOwnTable;

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
	Anum_centroids,
	Anum_model,
	Anum_balance,
	Anum_calibrated, /* when, at how many rows and changes */
	Anum_distilled = Anum_calibrated + 3,
	Anum_temper = Anum_distilled + 3,
	Anum_tags,
	Anum_members,
	Anum_shares
};

#define NW_REGISTRY_COLUMNS Anum_shares

/* Columns of reference scores, likewise. */
enum
{
	Anum_reference_set = 1,
	Anum_reference_kind,
	Anum_reference_class,
	Anum_reference_version,
	Anum_reference_queries,
	Anum_reference_k,
	Anum_reference_at,
	Anum_reference_scores
};

#define NW_REFERENCE_COLUMNS Anum_reference_scores

/* Columns of prototypes and diagnoses by which rows are found. */
#define Anum_prototype_set 1
#define Anum_diagnosis_support 1
#define Anum_diagnosis_queries 2

extern const char *nw_own_name(NwOwnTable table);
extern Relation nw_own_open(Oid schema, NwOwnTable table, LOCKMODE lockmode);
extern Oid nw_own_relid(Oid schema, NwOwnTable table);
extern Oid nw_own_index(Relation rel, NwOwnTable table, AttrNumber column);
extern int64 nw_own_next_version(Oid schema);
extern void nw_own_insert(Relation rel, Datum *values, bool *nulls);
extern void nw_own_delete(Relation rel, NwOwnTable table, ScanKey keys, int nkeys);
extern void nw_own_key(ScanKey key, AttrNumber column, int64 value);
extern void nw_own_text_key(ScanKey key, AttrNumber column, const char *value);
extern char *nw_own_get_text(const Datum *values, const bool *nulls, int column);
extern char *nw_own_get_name(const Datum *values, const bool *nulls, int column);
extern void nw_own_put_text(Datum *values, bool *nulls, int column, const char *text);
extern void nw_own_put_name(Datum *values, bool *nulls, int column, const char *name);
extern char **nw_own_get_texts(const Datum *values, const bool *nulls, int column, int *n);
extern double *nw_own_get_numbers(const Datum *values, const bool *nulls, int column, int *n);
extern void nw_own_put_texts(Datum *values, bool *nulls, int column, char *const *texts, int n);
extern void nw_own_put_numbers(Datum *values, bool *nulls, int column, const double *numbers,
                               int n);
extern void nw_own_init(void);

#endif /* NW_SETS_OWN_TABLES_H */
