/*
 * trainer_rate.c: how many images a second a model embeds, with nothing else to do.
 *
 *   bench-rate MODEL IMAGES BATCH RUNS
 *
 * RUNS is 1 for one run of the model after another, each on all threads, or more
 * for so many at a time, as "nwhead embed" has them.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "data/image.h"
#include "ort/device.h"
#include "ort/runtime.h"
#include "run/embedder.h"

#define MAX_RUNS 64

static NwEmbedder *model;
static int batches; /* of each thread */

/* Run the model on images that are in memory. */
static void *
work(void *arg)
{
	float *x = nw_alloc0((size_t) model->batch * nw_preprocess_size(&model->pre) * sizeof(float));

	(void) arg;
	for (int i = 0; i < batches; i++)
		free(nw_embedder_run(model, x, model->batch));
	free(x);
	return NULL;
}

int
main(int argc, char **argv)
{
	NwEmbedderOptions o = {0};
	pthread_t thread[MAX_RUNS];
	double start;

	if (argc != 5 || atoi(argv[4]) < 1 || atoi(argv[4]) > MAX_RUNS)
		return 2;
	o.path = argv[1];
	o.batch = atoi(argv[3]);
	o.runs = atoi(argv[4]);
	batches = atoi(argv[2]) / o.batch / o.runs;
	model = nw_embedder_open(nw_runtime_open(0, NULL), NW_DEVICE_CPU, &o);
	start = nw_now();
	for (int i = 1; i < o.runs; i++)
		if (pthread_create(&thread[i], NULL, work, NULL) != 0)
			return 1;
	work(NULL);
	for (int i = 1; i < o.runs; i++)
		pthread_join(thread[i], NULL);
	printf("bare %.1f\n", (double) (batches * o.batch * o.runs) / (nw_now() - start));
	return 0;
}
