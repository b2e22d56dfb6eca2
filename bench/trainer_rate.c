/*
 * trainer_rate.c: how many images a second a model embeds, with nothing else to do.
 *
 *   bench-rate MODEL IMAGES BATCH
 */
#include <stdio.h>
#include <stdlib.h>

#include "../trainer/extractor.h"

int
main(int argc, char **argv)
{
	NwExtractorOptions o = {0};
	NwRuntime  *rt;
	NwExtractor *e;
	float	   *x;
	double		start;
	int			n;

	if (argc != 4)
		return 2;
	o.path = argv[1];
	o.batch = atoi(argv[3]);
	n = atoi(argv[2]) / o.batch;
	rt = nw_runtime_open(0, NULL);
	e = nw_extractor_open(rt, NW_DEVICE_CPU, &o);
	x = nw_alloc0((size_t) (o.batch * e->pre.channels * e->pre.height * e->pre.width) * sizeof(float));
	start = nw_now();
	for (int i = 0; i < n; i++)
		free(nw_extractor_run(e, x, o.batch));
	printf("bare %.1f\n", (double) (n * o.batch) / (nw_now() - start));
	return 0;
}
