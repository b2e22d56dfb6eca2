/*
 * graph/states.c: tensors that outlive a training step, by name.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/text.h"
#include "graph/shape.h"
#include "graph/states.h"

/* Find a state by name; NULL where there is none. */
NwState *
nw_state_find(const NwStates *s, const char *name)
{
	for (int i = 0; i < s->n; i++)
		if (strcmp(s->item[i].name, name) == 0)
			return &s->item[i];
	return NULL;
}

/* Add a state; without data it starts at zero, and has no numbers where states are bare. */
NwState *
nw_state_add(NwStates *s, const char *name, NwShape shape, const float *data)
{
	size_t bytes = (size_t) nw_shape_size(&shape) * sizeof(float);
	NwState *st;

	NW_GROW(s->item, s->n, s->cap);
	st = &s->item[s->n++];
	*st = (NwState) {.name = nw_strdup(name), .shape = shape};
	if (s->bare)
		return st;
	st->data = nw_alloc0(bytes);
	if (data != NULL)
		memcpy(st->data, data, bytes);
	return st;
}

void
nw_states_free(NwStates *s)
{
	for (int i = 0; i < s->n; i++)
	{
		free(s->item[i].name);
		free(s->item[i].data);
	}
	free(s->item);
	*s = (NwStates) {0};
}

/* Fill a new weight; the same seed and name give the same numbers. */
void
nw_state_init(NwState *st, NwInit init, uint64_t seed)
{
	int64_t n = nw_shape_size(&st->shape);
	const int64_t *d = st->shape.dim;
	int64_t taps = st->shape.rank == 4 ? d[2] * d[3] : 1;
	NwRandom r = nw_random(seed, nw_hash(st->name, strlen(st->name)), 0);
	double fan_in = st->shape.rank > 1 ? (double) (d[1] * taps) : (double) d[0];
	double fan_out = (double) (d[0] * taps);

	for (int64_t i = 0; i < n; i++)
		switch (init)
		{
			case NW_INIT_ZERO:
				st->data[i] = 0;
				break;
			case NW_INIT_ONE:
				st->data[i] = 1;
				break;
			case NW_INIT_HE:
				st->data[i] = (float) (nw_random_normal(&r) * sqrt(2.0 / fan_out));
				break;
			case NW_INIT_UNIFORM:
				st->data[i] = (float) ((2.0 * nw_random_double(&r) - 1.0) / sqrt(fan_in));
				break;
		}
}
