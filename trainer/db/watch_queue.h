/*
 * db/watch_queue.h: rows that wait for their embeddings, and what became of them.
 */
#ifndef NW_WATCH_QUEUE_H
#define NW_WATCH_QUEUE_H

#include <stdbool.h>

#include "db/pg.h"

/* where images are, and where their embeddings go */
typedef struct NwWatchPlace
{
	const char *source; /* a table */
	const char *id;     /* its columns */
	const char *image;
	const char *label;     /* NULL where none is copied */
	const char *table;     /* for (id, label, embedding); NULL: the source itself */
	const char *embedding; /* the column for embeddings */
	bool paths;            /* of files are what the column of images holds */
} NwWatchPlace;

typedef struct NwWatchQueue
{
	PGconn *conn;
	const NwWatchPlace *place;
	const char *model;
	char *source; /* quoted, as all that follow */
	char *id;
	char *image;
	char *label; /* NULL where there is none */
	char *target;
	char *embedding;
	char *queue;
	char *state;
	char *vector;  /* the type */
	char *id_type; /* as well */
	char *oid;     /* of the source */
} NwWatchQueue;

void nw_watch_install(const NwWatchPlace *place, PGconn *c, const char *model, int dim, bool mix);
void nw_watch_uninstall(const NwWatchPlace *place, PGconn *c);

NwWatchQueue nw_watch_open(const NwWatchPlace *place, PGconn *c, const char *model);
bool nw_watch_listen(const NwWatchQueue *q);
bool nw_watch_fill(const NwWatchQueue *q);
PGresult *nw_watch_claim(const NwWatchQueue *q, int n);
bool nw_watch_write(const NwWatchQueue *q, const char *id, const char *label, const float *z,
                    int dim, bool *written, char **refused);
bool nw_watch_remove(const NwWatchQueue *q, const char *id, bool *removed, char **refused);
bool nw_watch_forget(const NwWatchQueue *q, const char *id);
bool nw_watch_mark(const NwWatchQueue *q, const char *id, const char *error);
bool nw_watch_commit(const NwWatchQueue *q, const char *done);
bool nw_watch_waiting(const NwWatchQueue *q, bool *waiting);
void nw_watch_free(NwWatchQueue *q);

#endif
