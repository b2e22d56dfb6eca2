/*
 * run/embed.h: images through a model into a table.
 */
#ifndef NW_EMBED_H
#define NW_EMBED_H

#include <stdbool.h>

#include "data/dataset.h"
#include "run/embedder.h"

typedef struct NwEmbedSettings
{
	NwDatasetOptions dataset;
	NwEmbedderOptions model;
	const char *table;
	const char *new_set;  /* what both table and set are to be new for, or NULL */
	const char *set;      /* to register the table as, or NULL */
	const char *head_set; /* where the head of an FC model goes; NULL: named after the set */
	const char *kernel;   /* NULL: the model's */
	double tau;           /* 0: the model's */
	bool append;          /* add to the rows there are */
	bool replace;         /* delete them first */
	bool skip_existing;   /* add only those whose id is not there */
	bool mix_models;      /* add to rows of another model */
	bool skip_bad;        /* leave out images that cannot be read */
	bool quiet;
} NwEmbedSettings;

int nw_embed(NwEmbedSettings *o);

#endif
