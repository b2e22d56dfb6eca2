/*
 * run/judge.h: how well a network in training does on images that are held out.
 */
#ifndef NW_JUDGE_H
#define NW_JUDGE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "data/fitted.h"
#include "graph/states.h"
#include "math/judgement.h"
#include "net/model.h"
#include "ort/device.h"
#include "ort/runtime.h"

/* what that takes; all of it is the caller's */
typedef struct NwJudge
{
	NwRuntime *rt;
	NwDevice device;
	const NwModelSpec *model;
	NwFitted *held;          /* images to ask about */
	NwFitted *training;      /* images whose embeddings answer; nothing to an FC head */
	const int64_t *supports; /* which of them */
	int64_t n_supports;
} NwJudge;

typedef enum NwJudged
{
	NW_JUDGED,
	NW_JUDGE_STOPPED, /* by a signal */
	NW_JUDGE_WRECKED, /* embeddings, or the head, are no longer numbers */
	NW_JUDGE_UNREADABLE
} NwJudged;

NwJudged nw_judge_network(const NwJudge *w, NwStates *states, const volatile sig_atomic_t *stop,
                          NwFigures *figures, char **why);
bool nw_judge_finite(const NwJudge *w, NwStates *states);

#endif
