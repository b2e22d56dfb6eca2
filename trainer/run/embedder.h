/*
 * run/embedder.h: a model that turns images into embeddings.
 */
#ifndef NW_EMBEDDER_H
#define NW_EMBEDDER_H

#include "data/image.h"
#include "graph/model.h"
#include "ort/runtime.h"

/* what the command line says about a model whose metadata do not */
typedef struct NwExtractorOptions
{
	const char *path;
	const char *output;
	int height; /* 0: as the model has it */
	int width;
	int resize; /* shorter side before the centre is cut; 0: as the model has it */
	double mean[3];
	double std[3];
	int n_mean;
	int n_std;
	int batch;
	int runs; /* at a time, by as many threads; 0: one */
} NwExtractorOptions;

typedef struct NwExtractor
{
	NwSession *session;
	NwMetas meta;
	NwPreprocess pre;
	char *input;
	char *output;
	int batch;  /* images of a run */
	bool fixed; /* the model takes no other number */
	int dim;
	int classes;  /* of an FC head; 0 where there is none */
	int head_dim; /* what the head was made for: dim, or the model is refused */
	float *head;  /* [classes, dim]: (W_c, b_c) */
	char **class_name;
} NwExtractor;

NwExtractor *nw_extractor_open(NwRuntime *rt, NwDevice device, const NwExtractorOptions *o);

/* embeddings [n, dim] of images, the caller's to free; any thread may ask */
float *nw_extractor_run(const NwExtractor *e, float *images, int n);
void nw_extractor_close(NwExtractor *e);

#endif
