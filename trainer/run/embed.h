/*
 * run/embed.h: images through a model into a table.
 */
#ifndef NW_EMBED_H
#define NW_EMBED_H

#include <stdbool.h>

#include "data/dataset.h"
#include "ort/device.h"
#include "run/embedder.h"

typedef struct NwEmbedSettings
{
	NwDatasetOptions dataset;
	NwEmbedderOptions model;
	const char *table;
	const char *set;      /* to register the table as, or NULL */
	const char *head_set; /* where the head of an FC model goes; NULL: named after the set */
	const char *kernel;   /* NULL: the model's */
	double tau;           /* 0: the model's */
	bool append;
	bool replace;
	bool normalize; /* scale embeddings to length 1 */
	NwDevice device;
	int threads;
	const char *profile;
	bool quiet;
} NwEmbedSettings;

int nw_embed(NwEmbedSettings *o);

#endif
