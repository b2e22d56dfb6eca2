/*
 * fake_ort.h
 *		A runtime that runs nothing: it says and returns what a target tells it.
 */
#ifndef NW_FAKE_ORT_H
#define NW_FAKE_ORT_H

#include "graph/shape.h"
#include "ort/runtime.h"

#define FAKE_PORTS 3

typedef struct FakeModel
{
	NwPort port[2][FAKE_PORTS]; /* inputs, outputs */
	int n_ports[2];
	NwShape result; /* of what a run returns */
} FakeModel;

extern FakeModel fake_model;

#endif /* NW_FAKE_ORT_H */
