/*
 * run/step_runner.h: a training step on a device, and the states it carries along.
 */
#ifndef NW_STEP_RUNNER_H
#define NW_STEP_RUNNER_H

#include "ort/runtime.h"

typedef struct NwStepper NwStepper;

/* the step's own inputs, in host memory: filled by the caller before each run */
typedef struct NwStepInputs
{
	float *images;
	float *targets;
	float *member; /* NULL for the FC head */
	float lr;
} NwStepInputs;

NwStepper *nw_stepper_new(NwRuntime *rt, NwDevice device, NwGraph *g);
void nw_stepper_run(NwStepper *s, const NwStepInputs *in, float *loss, float *log_p);
void nw_stepper_fetch(NwStepper *s); /* bring the states of the graph up to date */
void nw_stepper_free(NwStepper *s);

#endif
