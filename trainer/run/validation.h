/*
 * run/validation.h: held-out images in a training run: when they are asked about, the best model.
 */
#ifndef NW_VALIDATION_H
#define NW_VALIDATION_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/dataset.h"
#include "data/fitted.h"
#include "graph/states.h"
#include "net/model.h"
#include "ort/device.h"
#include "ort/runtime.h"
#include "run/best.h"
#include "run/judge.h"
#include "run/train_settings.h"

typedef struct NwValidation
{
	const NwTrainSettings *o;
	NwDataset *held; /* NULL where no images are held out, and there are no validations */
	NwFitted *fitted;
	NwFitted *answering; /* training images, as the model wants them */
	bool own;            /* answering is freed here; else it is the trainer's */
	int64_t *supports;   /* which of them answer */
	int64_t n_supports;
	NwBest best;
} NwValidation;

void nw_validation_open(NwValidation *v, const NwTrainSettings *o, NwDataset *training);
size_t nw_validation_memory(const NwValidation *v, const NwDataset *training, int64_t images);
void nw_validation_prepare(NwValidation *v, NwFitted *training);
bool nw_validation_due(const NwValidation *v, int64_t step);
int64_t nw_validation_next(const NwValidation *v, int64_t step);
NwJudged nw_validation_run(NwValidation *v, NwRuntime *rt, NwDevice device,
                           const NwModelSpec *model, NwStates *states, int64_t step,
                           const volatile sig_atomic_t *stop, char **why);
bool nw_validation_stops(const NwValidation *v);
void nw_validation_close(NwValidation *v);

#endif
