/*
 * infer.c: run exported models, for comparison.
 *
 *   infer dump MODEL FOLDER          weights, random images and their embeddings as .npy
 *   infer compare MODEL              embeddings must not depend on the batch's size
 *   infer devices MODEL              embeddings of the CPU and the GPU must agree
 *   infer metadata MODEL             what a model of "nwhead train --head fc" must say
 *   infer settings MODEL KEY=NUMBER...   metadata that must be these numbers
 *   infer inner MODEL                name a tensor within a model
 *   infer vectors MODEL IMAGES LABELS FILE   a file of vectors against the model's
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/text.h"
#include "data/dataset.h"
#include "data/fitted.h"
#include "data/image.h"
#include "data/open.h"
#include "graph/meta.h"
#include "graph/onnx_read.h"
#include "graph/shape.h"
#include "npy.h"
#include "onnx.pb-c.h"
#include "ort/device.h"
#include "ort/runtime.h"
#include "report.h"
#include "run/embedder.h"

static NwRuntime *rt;

static NwEmbedder *
open_model(const char *path, NwDevice device, int batch)
{
	NwEmbedderOptions o = {.path = path, .batch = batch};

	return nw_embedder_open(rt, device, &o);
}

/* Make random images. */
static float *
random_images(const NwEmbedder *e, int n)
{
	size_t size = (size_t) n * nw_preprocess_size(&e->pre);
	float *v = nw_alloc(size * sizeof(float));
	NwRandom r = nw_random(9, 9, 9);

	for (size_t i = 0; i < size; i++)
		v[i] = (float) nw_random_normal(&r);
	return v;
}

/* Save a model's weights, with images and their embeddings. */
static int
dump(const char *path, const char *folder)
{
	NwEmbedder *e = open_model(path, NW_DEVICE_CPU, 5);
	float *x = random_images(e, 5);
	float *z = nw_embedder_run(e, x, 5);
	NwShape shape = NW_SHAPE(5, e->pre.channels, e->pre.height, e->pre.width);
	NwBuf b;
	Onnx__ModelProto *m;

	save_npy(folder, "images", &shape, x);
	shape = NW_SHAPE(5, e->dim);
	save_npy(folder, "z", &shape, z);
	nw_read_file(path, &b);
	m = nw_model_parse(path, &b);
	for (size_t i = 0; i < m->graph->n_initializer; i++)
		if (m->graph->initializer[i]->data_type == NW_FLOAT && m->graph->initializer[i]->n_dims > 0)
		{
			float *v = nw_tensor_floats(m->graph->initializer[i], path, &shape);

			save_npy(folder, nw_printf("p.%s", m->graph->initializer[i]->name), &shape, v);
		}
	return 0;
}

/* Return the largest difference relative to the largest value. */
static double
difference(const float *a, const float *b, size_t n)
{
	double most = 0;
	double diff = 0;

	for (size_t i = 0; i < n; i++)
	{
		most = worse(most, fabs(a[i]));
		diff = worse(diff, fabs(a[i] - b[i]));
	}
	return diff / most;
}

/* Run images one by one and together. */
static int
compare(const char *path)
{
	NwEmbedder *e = open_model(path, NW_DEVICE_CPU, 4);
	float *x = random_images(e, 4);
	size_t size = nw_preprocess_size(&e->pre);
	float *all;
	double worst = 0;

	if (e->fixed && e->batch == 1)
	{
		puts("batches of 1");
		free(nw_embedder_run(e, x, 1));
		return 0;
	}
	all = nw_embedder_run(e, x, 4);
	for (int i = 0; i < 4; i++)
		worst =
			worse(worst, difference(all + i * e->dim, nw_embedder_run(e, x + (size_t) i * size, 1),
		                            (size_t) e->dim));
	printf("%.1e\n", worst);
	return !(worst < 1e-5);
}

/* Run images on both devices. */
static int
devices(const char *path)
{
	NwEmbedder *a = open_model(path, NW_DEVICE_CPU, 4);
	NwEmbedder *b = open_model(path, NW_DEVICE_WEBGPU, 4);
	float *x = random_images(a, 4);
	float *za = nw_embedder_run(a, x, 4);
	float *zb = nw_embedder_run(b, x, 4);
	double worst = difference(za, zb, (size_t) (4 * a->dim));

	printf("%.1e\n", worst);
	return !(worst < 1e-4);
}

/* Check what a model says of itself. */
static int
metadata(const char *path)
{
	static const char *const want[][2] = {{"nwhead.head", "fc"},
	                                      {"nwhead.kernel", "dot"},
	                                      {"nwhead.tau", "1"},
	                                      {"nwhead.channels", "1"},
	                                      {"nwhead.height", "16"},
	                                      {"nwhead.width", "16"},
	                                      {"nwhead.classes", "[\"0\",\"1\",\"2\",\"3\"]"},
	                                      {"nwhead.dim", "129"},
	                                      {"network", "cnn"}};
	NwEmbedder *e = open_model(path, NW_DEVICE_CPU, 4);
	int wrong = 0;

	for (int i = 0; i < NW_LENGTH(want); i++)
	{
		const char *got = nw_meta_get(&e->meta, want[i][0]);

		printf("%s: %s\n", want[i][0], got ? got : "(none)");
		wrong += got == NULL || strcmp(got, want[i][1]) != 0;
	}
	return wrong + (e->classes != 4) + !(e->pre.mean[0] > 0.3 && e->pre.mean[0] < 0.7);
}

/* Check numbers of a model's metadata. */
static int
settings(const char *path, int n, char **want)
{
	NwEmbedder *e = open_model(path, NW_DEVICE_CPU, 4);
	int wrong = 0;

	for (int i = 0; i < n; i++)
	{
		char *value = strchr(want[i], '=');
		const char *got;
		char *end;
		double number;

		*value++ = 0;
		got = nw_meta_get(&e->meta, want[i]);
		printf("%s: %s\n", want[i], got ? got : "(none)");
		number = strtod(value, &end);
		wrong += got == NULL || (*end ? strcmp(got, value) != 0 : strtod(got, NULL) != number);
	}
	return wrong;
}

/* Name the output of a model's pooling. */
static int
inner(const char *path)
{
	NwBuf b;
	Onnx__ModelProto *m;

	nw_read_file(path, &b);
	m = nw_model_parse(path, &b);
	for (size_t i = 0; i < m->graph->n_node; i++)
		if (strcmp(m->graph->node[i]->op_type, "MaxPool") == 0)
			return puts(m->graph->node[i]->output[0]) < 0;
	return 1;
}

/* Compare vectors that a table holds with the model's own. */
static int
vectors(const char *path, const char *images, const char *labels, const char *file)
{
	NwDatasetOptions o = {.idx_images = images, .idx_labels = labels};
	NwDataset *s = nw_dataset_open(&o, true);
	NwEmbedder *e = open_model(path, NW_DEVICE_CPU, 1);
	NwFitted *c = nw_fitted_new(s, &e->pre, 0);
	float *x = random_images(e, 1);
	NwBuf text;
	char *p;
	double worst = 0;

	nw_read_file(file, &text);
	p = text.data;
	for (int64_t i = 0; i < s->n; i++)
	{
		float *z;
		float *got;

		nw_fitted_tensor(c, i, 0, 0, false, x);
		z = nw_embedder_run(e, x, 1);
		got = nw_alloc((size_t) e->dim * sizeof(float));
		for (int j = 0; j < e->dim; j++)
			got[j] = strtof(p + 1, &p);
		p = strchr(p, '\n') + 1;
		worst = worse(worst, difference(z, got, (size_t) e->dim));
		free(z);
		free(got);
	}
	printf("%lld vectors, %.1e\n", (long long) s->n, worst);
	return !(worst < 1e-5);
}

int
main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	rt = nw_runtime_open(2, NULL);
	if (strcmp(argv[1], "dump") == 0)
		return dump(argv[2], argv[3]);
	if (strcmp(argv[1], "compare") == 0)
		return compare(argv[2]);
	if (strcmp(argv[1], "devices") == 0)
		return devices(argv[2]);
	if (strcmp(argv[1], "metadata") == 0)
		return metadata(argv[2]);
	if (strcmp(argv[1], "settings") == 0)
		return settings(argv[2], argc - 3, argv + 3);
	if (strcmp(argv[1], "inner") == 0)
		return inner(argv[2]);
	return vectors(argv[2], argv[3], argv[4], argv[5]);
}
