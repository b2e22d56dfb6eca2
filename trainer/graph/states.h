/*
 * graph/states.h: tensors that outlive a training step, by name.
 */
#ifndef NW_STATES_H
#define NW_STATES_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/shape.h"

/* a weight, a momentum, a running mean */
typedef struct NwState
{
	char *name;
	NwShape shape;
	float *data;
} NwState;

typedef struct NwStates
{
	NwState *item;
	int n;
	int cap;
	bool bare; /* to know shapes: without numbers */
} NwStates;

/* how a weight starts */
typedef enum NwInit
{
	NW_INIT_ZERO,
	NW_INIT_ONE,
	NW_INIT_HE,     /* normal, variance 2 / fan out */
	NW_INIT_UNIFORM /* within 1 / sqrt(fan in) */
} NwInit;

NwState *nw_state_find(const NwStates *s, const char *name);
NwState *nw_state_add(NwStates *s, const char *name, NwShape shape, const float *data);
void nw_state_init(NwState *st, NwInit init, uint64_t seed);
void nw_states_free(NwStates *s);

#endif
