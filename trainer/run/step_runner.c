/*
 * run/step_runner.c: a training step on a device, and the states it carries along.
 *
 * On the CPU two sets of tensors take turns: a step reads one and writes the
 * other (never the same one: a gradient may still need the old weight).  On a GPU
 * a step's outputs stay on the device and are the next one's inputs.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/onnx_write.h"
#include "graph/shape.h"
#include "graph/states.h"
#include "ort/device.h"
#include "ort/runtime.h"
#include "run/step_runner.h"

struct NwStepRunner
{
	NwGraph *g;
	NwDevice device;
	NwSession *session;
	int n; /* states that a step changes */
	NwState **state;
	char **output;         /* their names as outputs */
	NwValue **value[2];    /* CPU: both sets; GPU: only the first, on the device */
	NwBinding *binding[2]; /* CPU: from set 0 to 1, and back; GPU: only the first */
	int current;           /* the set that holds the newest values */
	NwValue *images;       /* [N,C,H,W] */
	NwValue *targets;
	NwValue *member; /* NULL for the FC head */
	NwValue *lr;
	NwValue *corrections; /* NULL where the update has none */
	NwValue *loss;
	NwValue *log_p;
	NwValue **frozen; /* states that no step changes */
	const char **frozen_name;
	int n_frozen;
};

/* Find a graph's input and make a tensor of its shape. */
static NwValue *
input_value(const NwGraph *g, const char *name)
{
	for (int i = 0; i < g->n_inputs; i++)
		if (strcmp(g->tensor[g->input[i]].name, name) == 0)
			return nw_value_new(g->tensor[g->input[i]].shape);
	return NULL;
}

/* Find a graph's output and make a tensor of its shape. */
static NwValue *
output_value(const NwGraph *g, const char *name)
{
	for (int i = 0; i < g->n_outputs; i++)
		if (strcmp(g->output[i].name, name) == 0)
			return nw_value_new(g->tensor[g->output[i].t].shape);
	return NULL;
}

/* Bind everything that is no changing state. */
static void
bind_rest(NwStepRunner *s, NwBinding *b)
{
	nw_bind_input(b, "images", s->images);
	nw_bind_input(b, "targets", s->targets);
	if (s->member != NULL)
		nw_bind_input(b, "member", s->member);
	nw_bind_input(b, "lr", s->lr);
	if (s->corrections != NULL)
		nw_bind_input(b, "corrections", s->corrections);
	for (int i = 0; i < s->n_frozen; i++)
		nw_bind_input(b, s->frozen_name[i], s->frozen[i]);
	nw_bind_output(b, "loss", s->loss);
	nw_bind_output(b, "log_p", s->log_p);
}

/* Collect the states that are inputs but never change. */
static void
find_frozen(NwStepRunner *s)
{
	s->frozen = nw_alloc((size_t) s->g->n_inputs * sizeof(NwValue *));
	s->frozen_name = nw_alloc((size_t) s->g->n_inputs * sizeof(char *));
	for (int i = 0; i < s->g->n_inputs; i++)
	{
		const char *name = s->g->tensor[s->g->input[i]].name;
		NwState *st = nw_state_find(s->g->states, name);
		bool changes = false;

		for (int j = 0; j < s->n; j++)
			changes |= strcmp(s->state[j]->name, name) == 0;
		if (st == NULL || changes)
			continue;
		s->frozen_name[s->n_frozen] = name;
		s->frozen[s->n_frozen++] = nw_value_over(st->shape, st->data);
	}
}

/* Load a step's graph onto a device, with the graph's states to start from. */
NwStepRunner *
nw_step_runner_new(NwRuntime *rt, NwDevice device, NwGraph *g)
{
	NwStepRunner *s = nw_alloc0(sizeof(NwStepRunner));
	NwBuf model;

	s->g = g;
	s->device = device;
	nw_graph_pack(g, NULL, false, &model);
	s->session = nw_session_open(rt, device, 1, true, &model, "the training step");
	nw_buf_free(&model);
	s->n = g->n_updates;
	s->state = nw_alloc((size_t) s->n * sizeof(NwState *));
	s->output = nw_alloc((size_t) s->n * sizeof(char *));
	s->value[0] = nw_alloc((size_t) s->n * sizeof(NwValue *));
	s->value[1] = nw_alloc0((size_t) s->n * sizeof(NwValue *));
	for (int i = 0; i < s->n; i++)
	{
		s->state[i] = nw_state_find(g->states, g->update[i].state);
		s->output[i] = nw_printf("o.%s", g->update[i].state);
		s->value[0][i] = nw_value_over(s->state[i]->shape, s->state[i]->data);
	}
	find_frozen(s);
	s->images = input_value(g, "images");
	s->targets = input_value(g, "targets");
	s->member = input_value(g, "member");
	s->lr = input_value(g, "lr");
	s->corrections = input_value(g, "corrections");
	s->loss = output_value(g, "loss");
	s->log_p = output_value(g, "log_p");
	s->binding[0] = nw_binding_new(s->session);
	if (device != NW_DEVICE_CPU)
		return s;
	s->binding[1] = nw_binding_new(s->session);
	for (int i = 0; i < s->n; i++)
		s->value[1][i] = nw_value_new(s->state[i]->shape);
	for (int k = 0; k < 2; k++)
	{
		for (int i = 0; i < s->n; i++)
		{
			nw_bind_input(s->binding[k], s->state[i]->name, s->value[k][i]);
			nw_bind_output(s->binding[k], s->output[i], s->value[1 - k][i]);
		}
		bind_rest(s, s->binding[k]);
	}
	return s;
}

/* Copy a step's inputs into the tensors that are bound. */
static void
set_input(NwValue *v, const float *data)
{
	NwShape shape;

	if (v == NULL)
		return;
	shape = nw_value_shape(v);
	memcpy(nw_value_floats(v), data, (size_t) nw_shape_size(&shape) * sizeof(float));
}

/* Run a step whose states live on a device. */
static void
run_on_device(NwStepRunner *s)
{
	NwBinding *b = s->binding[0];
	NwValue **out;

	for (int i = 0; i < s->n; i++)
		nw_bind_input(b, s->state[i]->name, s->value[0][i]);
	bind_rest(s, b);
	for (int i = 0; i < s->n; i++)
		nw_bind_output_fresh(b, s->output[i], false);
	nw_binding_run(b);
	nw_binding_outputs(b, &out);
	nw_value_free(out[0]); /* loss and log_p, which the runner holds itself */
	nw_value_free(out[1]);
	for (int i = 0; i < s->n; i++)
	{
		nw_value_free(s->value[0][i]);
		s->value[0][i] = out[i + 2];
	}
	free(out);
}

/* Run one step; loss [] and log_p [queries, slots] come back. */
void
nw_step_runner_run(NwStepRunner *s, const NwStepInputs *in, float *loss, float *log_p)
{
	NwShape shape = nw_value_shape(s->log_p);

	set_input(s->images, in->images);
	set_input(s->targets, in->targets);
	set_input(s->member, in->member);
	set_input(s->lr, &in->lr);
	set_input(s->corrections, in->corrections);
	if (s->device == NW_DEVICE_CPU)
	{
		nw_binding_run(s->binding[s->current]);
		s->current = 1 - s->current;
	}
	else
		run_on_device(s);
	*loss = nw_value_floats(s->loss)[0];
	memcpy(log_p, nw_value_floats(s->log_p), (size_t) nw_shape_size(&shape) * sizeof(float));
}

/* Bring tensors back from a device: a model that hands its inputs on, with outputs on the host. */
static void
fetch_from_device(NwStepRunner *s, NwRuntime *rt)
{
	NwStates none = {0};
	NwGraph *g = nw_graph_new(NW_FOR_TRAINING, true, &none, 0);
	NwBuf model;
	NwSession *session;
	NwBinding *b;
	NwValue **out;

	for (int i = 0; i < s->n; i++)
	{
		NwT t = nw_input(g, s->state[i]->name, NW_FLOAT, s->state[i]->shape);

		nw_output(g, s->output[i], t);
	}
	nw_graph_pack(g, NULL, false, &model);
	nw_graph_free(g);
	session = nw_session_open(rt, s->device, 1, false, &model, "the states");
	nw_buf_free(&model);
	b = nw_binding_new(session);
	for (int i = 0; i < s->n; i++)
	{
		nw_bind_input(b, s->state[i]->name, s->value[0][i]);
		nw_bind_output_fresh(b, s->output[i], true);
	}
	nw_binding_run(b);
	nw_binding_outputs(b, &out);
	for (int i = 0; i < s->n; i++)
	{
		memcpy(s->state[i]->data, nw_value_floats(out[i]),
		       (size_t) nw_shape_size(&s->state[i]->shape) * sizeof(float));
		nw_value_free(out[i]);
	}
	free(out);
	nw_binding_free(b);
	nw_session_close(session);
}

/* Bring the states of the graph up to date. */
void
nw_step_runner_fetch(NwStepRunner *s)
{
	if (s->device != NW_DEVICE_CPU)
	{
		fetch_from_device(s, nw_session_runtime(s->session));
		return;
	}
	if (s->current == 0) /* set 0 lies over the states themselves */
		return;
	for (int i = 0; i < s->n; i++)
		memcpy(s->state[i]->data, nw_value_floats(s->value[1][i]),
		       (size_t) nw_shape_size(&s->state[i]->shape) * sizeof(float));
	s->current = 0;
}

void
nw_step_runner_free(NwStepRunner *s)
{
	for (int k = 0; k < 2; k++)
	{
		if (s->binding[k] != NULL)
			nw_binding_free(s->binding[k]);
		for (int i = 0; i < s->n; i++)
			if (s->value[k][i] != NULL)
				nw_value_free(s->value[k][i]);
		free(s->value[k]);
	}
	for (int i = 0; i < s->n; i++)
		free(s->output[i]);
	for (int i = 0; i < s->n_frozen; i++)
		nw_value_free(s->frozen[i]);
	nw_value_free(s->images);
	nw_value_free(s->targets);
	if (s->member != NULL)
		nw_value_free(s->member);
	nw_value_free(s->lr);
	if (s->corrections != NULL)
		nw_value_free(s->corrections);
	nw_value_free(s->loss);
	nw_value_free(s->log_p);
	nw_session_close(s->session);
	free(s->frozen);
	free(s->frozen_name);
	free(s->state);
	free(s->output);
	free(s);
}
