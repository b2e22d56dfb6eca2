/*
 * trainer_step.c: the time and memory of training steps.
 *
 *   bench-step ARCH SIZE BATCH THREADS STEPS
 *
 * Prints seconds a step (wall, CPU) and the peak memory in MiB.  Half of the batch
 * are queries, half shared supports.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "data/batch_spec.h"
#include "graph/grad.h"
#include "graph/graph.h"
#include "graph/states.h"
#include "net/builtin.h"
#include "net/model.h"
#include "net/optimizer.h"
#include "net/step_graph.h"
#include "ort/device.h"
#include "ort/runtime.h"
#include "run/step_runner.h"

/* Return the CPU seconds the process has used. */
static double
cpu_seconds(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double) (u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       1e-6 * (double) (u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

int
main(int argc, char **argv)
{
	NwModelSpec spec = {.channels = 3, .dim = 128, .tau = 1};
	NwBatchSpec batch = {.shared = true, .slots = 10};
	NwStates states = {0};
	NwStepInputs in = {.lr = 0.001f};
	NwRuntime *rt;
	NwGraph *g;
	NwStepRunner *s;
	float loss;
	float *log_p;
	double wall = 1e30;
	double cpu = 1e30;
	struct rusage u;
	size_t size;
	int steps;

	if (argc != 6 || nw_arch_find(argv[1]) == NULL)
		return 2;
	spec.builtin =
		(NwBuiltin) {.arch = nw_arch_find(argv[1]), .width = nw_arch_find(argv[1])->width};
	spec.height = spec.width = atoi(argv[2]);
	batch.queries = batch.supports = atoi(argv[3]) / 2;
	steps = atoi(argv[5]);
	rt = nw_runtime_open(atoi(argv[4]), NULL);
	g = nw_graph_new(NW_FOR_TRAINING, false, &states, 1);
	nw_backward(g, nw_step_loss(g, &spec, &batch));
	nw_optimizer_update(g, &(NwOptimizer) {.momentum = 0.9, .weight_decay = 1e-4});
	s = nw_step_runner_new(rt, NW_DEVICE_CPU, g);
	size = (size_t) nw_batch_images(&batch) * 3 * (size_t) spec.height * (size_t) spec.width;
	in.images = nw_alloc(size * sizeof(float));
	in.targets = nw_alloc0((size_t) (batch.queries * batch.slots) * sizeof(float));
	in.member = nw_alloc((size_t) (batch.supports * batch.slots) * sizeof(float));
	log_p = nw_alloc((size_t) (batch.queries * batch.slots) * sizeof(float));
	for (size_t i = 0; i < size; i++)
	{
		NwRandom r = nw_random(1, 1, i);

		in.images[i] = (float) nw_random_normal(&r);
	}
	for (int i = 0; i < batch.queries; i++)
		for (int c = 0; c < batch.slots; c++)
		{
			in.targets[i * batch.slots + c] = c == i % batch.slots;
			in.member[i * batch.slots + c] = c == i % batch.slots ? 0 : NW_NOT_A_MEMBER;
		}
	for (int i = 0; i < steps + 2; i++)
	{
		double w = nw_now();
		double c = cpu_seconds();

		nw_step_runner_run(s, &in, &loss, log_p);
		w = nw_now() - w;
		c = cpu_seconds() - c;
		if (i >= 2 && w < wall) /* the best step: others are what the machine did besides */
			wall = w;
		if (i >= 2 && c < cpu)
			cpu = c;
	}
	getrusage(RUSAGE_SELF, &u);
	printf("%.4f %.4f %.0f\n", wall, cpu, (double) u.ru_maxrss / 1024);
	return 0;
}
