/*
 * run/watch.h: embeddings of images as they arrive.
 */
#ifndef NW_WATCH_H
#define NW_WATCH_H

#include <stdbool.h>

#include "db/watch_queue.h"
#include "run/embedder.h"

typedef struct NwWatchSettings
{
	NwWatchPlace place;
	NwEmbedderOptions model;
	const char *folder; /* that paths are below; NULL: images are in the table */
	const char *dsn;
	double interval; /* seconds from one look to the next, where nobody calls */
	bool install;
	bool uninstall;
	bool mix_models; /* install over embeddings of another model */
	bool once;       /* end when nothing waits */
	bool quiet;
} NwWatchSettings;

int nw_watch(NwWatchSettings *o);

#endif
