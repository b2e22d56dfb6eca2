/*
 * run/classify.h: images to labels, with reasons.
 */
#ifndef NW_CLASSIFY_H
#define NW_CLASSIFY_H

#include <stdbool.h>

#include "run/embedder.h"

typedef struct NwClassifySettings
{
	NwEmbedderOptions model;
	char **file; /* "-" is the standard input */
	int n_files;
	const char *set;
	const char *dsn;
	int top;               /* reasons for each label */
	double min_confidence; /* below, there is no label */
	bool json;
	bool quiet;
} NwClassifySettings;

int nw_classify(NwClassifySettings *o);

#endif
