/*
 * fake_ort.c
 *		A runtime that runs nothing.  Stands in for trainer/ort/runtime.c.
 *
 * It is as hostile as it may be: it folds no constants and checks no model, so
 * that whatever the file says comes through.
 */
#include "fake_ort.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "graph/shape.h"
#include "harness.h"
#include "ort/device.h"
#include "ort/runtime.h"

FakeModel fake_model;

struct NwSession
{
	int open;
};

struct NwBinding
{
	int outputs;
};

struct OrtValue
{
	NwShape shape;
	float *data;
	bool own;
};

NwSession *
nw_session_open(NwRuntime *rt, NwDevice device, int runs, bool profiled, const NwBuf *model,
                const char *what)
{
	(void) rt;
	(void) device;
	(void) runs;
	(void) profiled;
	(void) what;
	fuzz_use(model->data, model->len);
	return nw_alloc0(sizeof(NwSession));
}

void
nw_session_close(NwSession *s)
{
	free(s);
}

int
nw_session_ports(const NwSession *s, bool output, const NwPort **ports)
{
	(void) s;
	*ports = fake_model.port[output];
	return fake_model.n_ports[output];
}

/* Wrap memory of the caller's. */
NwValue *
nw_value_over(NwShape shape, float *data)
{
	NwValue *v = nw_alloc(sizeof(NwValue));

	*v = (NwValue) {shape, data, false};
	return v;
}

float *
nw_value_floats(NwValue *v)
{
	return v->data;
}

NwShape
nw_value_shape(const NwValue *v)
{
	return v->shape;
}

void
nw_value_free(NwValue *v)
{
	if (v->own)
		free(v->data);
	free(v);
}

NwBinding *
nw_binding_new(NwSession *s)
{
	(void) s;
	return nw_alloc0(sizeof(NwBinding));
}

void
nw_binding_free(NwBinding *b)
{
	free(b);
}

/* A model reads its whole input. */
void
nw_bind_input(NwBinding *b, const char *name, NwValue *v)
{
	(void) b;
	fuzz_use(name, strlen(name));
	fuzz_use(v->data, (size_t) nw_shape_size(&v->shape) * sizeof(float));
}

void
nw_bind_output_fresh(NwBinding *b, const char *name, bool on_host)
{
	(void) on_host;
	fuzz_use(name, strlen(name));
	b->outputs++;
}

void
nw_binding_run(NwBinding *b)
{
	(void) b;
}

int
nw_binding_outputs(NwBinding *b, NwValue ***values)
{
	NwValue *v = nw_alloc(sizeof(NwValue));

	*v = (NwValue) {fake_model.result, NULL, true};
	v->data = nw_alloc0((size_t) nw_shape_size(&v->shape) * sizeof(float));
	*values = nw_alloc(sizeof(NwValue *));
	(*values)[0] = v;
	return b->outputs;
}

/* Give the model back as it came. */
void
nw_fold_constants(NwRuntime *rt, const NwBuf *model, const char *what, NwBuf *out)
{
	(void) rt;
	(void) what;
	*out = (NwBuf) {0};
	nw_buf_add(out, model->data, model->len);
}
