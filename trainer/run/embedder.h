/*
 * run/embedder.h: a model that turns images into embeddings.
 */
#ifndef NW_EMBEDDER_H
#define NW_EMBEDDER_H

#include <stdbool.h>
#include <stdint.h>

#include "data/image.h"
#include "graph/meta.h"
#include "ort/device.h"
#include "ort/runtime.h"

/* what the command line says about a model whose metadata do not */
typedef struct NwEmbedderOptions
{
	const char *path;
	const char *output; /* tensor to take; NULL: "embedding", or the first output */
	int height;         /* 0: as the model has it */
	int width;
	int resize; /* shorter side before the centre is cut; 0: as the model has it */
	double mean[3];
	double std[3];
	int n_mean; /* 0: as the model has it */
	int n_std;
	int batch;      /* images of a run */
	int runs;       /* at a time, by as many threads; 0: one */
	bool normalize; /* scale embeddings to length 1 */
	NwDevice device;
	int threads;         /* 0: one for each core */
	const char *profile; /* where ONNX Runtime's goes, or NULL */
} NwEmbedderOptions;

typedef struct NwEmbedder
{
	NwSession *session;
	NwMetas meta;
	char *identity; /* its name and its bytes' digest */
	NwPreprocess pre;
	char *input;
	char *output;
	int batch;  /* images of a run */
	bool fixed; /* the model takes no other number */
	bool normalize;
	int dim;
	int classes;  /* of an FC head; 0 where there is none */
	int head_dim; /* what the head was made for: dim, or the model is refused */
	float *head;  /* [classes, dim]: (W_c, b_c) */
	char **class_name;
} NwEmbedder;

NwEmbedder *nw_embedder_open(NwRuntime *rt, NwDevice device, const NwEmbedderOptions *o);
float *nw_embedder_run(const NwEmbedder *e, float *images, int n);
float *nw_head_rows(const float *w, const float *bias, int classes, int features);
void nw_embedder_close(NwEmbedder *e);

#endif
