/*
 * run/step_runner.h: a training step on a device, and the states it carries along.
 */
#ifndef NW_STEP_RUNNER_H
#define NW_STEP_RUNNER_H

#include "graph/graph.h"
#include "ort/device.h"
#include "ort/runtime.h"

typedef struct NwStepRunner NwStepRunner;

/* the step's own inputs, in host memory: filled by the caller before each run */
typedef struct NwStepInputs
{
	float *images;
	float *targets;
	float *member; /* NULL for the FC head */
	float lr;
	float corrections[2]; /* of AdamW */
} NwStepInputs;

NwStepRunner *nw_step_runner_new(NwRuntime *rt, NwDevice device, NwGraph *g);
void nw_step_runner_run(NwStepRunner *s, const NwStepInputs *in, float *loss, float *log_p);
void nw_step_runner_fetch(NwStepRunner *s);
void nw_step_runner_free(NwStepRunner *s);

#endif
