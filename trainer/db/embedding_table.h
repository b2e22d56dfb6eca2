/*
 * db/embedding_table.h: a table (id, label, embedding), made ready for rows and registered.
 */
#ifndef NW_EMBEDDING_TABLE_H
#define NW_EMBEDDING_TABLE_H

#include <stdbool.h>

#include "db/pg.h"

typedef struct NwEmbeddingTable
{
	PGconn *conn;
	char *relation; /* quoted with its schema; the caller's to free */
	bool created;   /* by us: it has no key yet */
	bool has_rows;  /* of others, which stay */
} NwEmbeddingTable;

/* an FC head: one row for each class, with ids from 1 */
typedef struct NwHead
{
	int n; /* classes */
	int dim;
	char *const *label; /* [n] */
	const float *rows;  /* [n, dim] */
	const char *model;  /* whose it is */
} NwHead;

/* what is in the way of a head that is to be written to a table */
typedef enum NwHeadPlace
{
	NW_HEAD_FREE, /* nothing: there is no such table, or it is empty */
	NW_HEAD_SAME, /* that very head */
	NW_HEAD_LIKE, /* rows that may be the head of another model */
	NW_HEAD_ROWS  /* rows that are no head, or ids that are not those of one */
} NwHeadPlace;

void nw_embedding_column_check(PGconn *c, const char *relation, const char *column, int dim);
NwEmbeddingTable nw_embedding_table_open(PGconn *c, const char *name, const char *id_type, int dim,
                                         bool append, bool replace);
NwHeadPlace nw_embedding_table_head(PGconn *c, const char *name, const NwHead *head);
void nw_embedding_table_note(const NwEmbeddingTable *t, const char *model, bool mix);
void nw_embedding_table_finish(const NwEmbeddingTable *t);
bool nw_embedding_table_is_set(const NwEmbeddingTable *t, const char *set);
void nw_embedding_table_change_set(const NwEmbeddingTable *t, const char *set, const char *kernel,
                                   const char *tau);
void nw_embedding_table_register(const NwEmbeddingTable *t, const char *set, bool labelled,
                                 const char *kernel, const char *tau, const char *model,
                                 bool replace);

#endif
