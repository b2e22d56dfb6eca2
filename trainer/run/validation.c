/*
 * run/validation.c: held-out images in a training run: when they are asked about, the best model.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "base/message.h"
#include "data/dataset.h"
#include "data/fitted.h"
#include "data/held_out.h"
#include "data/image.h"
#include "graph/states.h"
#include "math/judgement.h"
#include "net/model.h"
#include "ort/runtime.h"
#include "run/best.h"
#include "run/export.h"
#include "run/judge.h"
#include "run/train_settings.h"
#include "run/validation.h"

/* Open the images that are held out, or take them out of the training images. */
void
nw_validation_open(NwValidation *v, const NwTrainSettings *o, NwDataset *training)
{
	v->o = o;
	if (o->val_share > 0)
		v->held = nw_held_out_split(training, o->val_share, o->val_seed);
	else if (nw_train_validates(o))
		v->held = nw_held_out_open(&o->val, training);
	if (v->held == NULL)
		return;
	nw_dataset_whole(v->held);
	if (v->held->n == training->n && nw_dataset_hash(v->held) == nw_dataset_hash(training))
		nw_info("the held-out images are the training images: how good a network is on these says "
		        "little of others");
}

/* Say whether images that answer are kept beside those that are trained on, which are larger. */
static bool
answers_apart(const NwTrainSettings *o)
{
	return o->head == NW_HEAD_NW && (o->augment.resize != 0 || o->augment.least > 0);
}

/* Return the bytes that so many images may take of what all may. */
size_t
nw_validation_memory(const NwValidation *v, const NwDataset *training, int64_t images)
{
	int64_t all = training->n;

	if (v->held != NULL)
		all += v->held->n + (answers_apart(v->o) ? training->n : 0);
	return (size_t) ((double) v->o->kept_mb * 0x1p20 * ((double) images / (double) all));
}

/* Read all held-out images now: one that cannot be read would end the run hours later. */
static void
read_once(NwFitted *held)
{
	float *pixels = nw_alloc(nw_preprocess_size(&held->pre) * sizeof(float));
	char *why = NULL;

	for (int64_t i = 0; i < held->dataset->n && why == NULL; i++)
		why = nw_fitted_tensor(held, i, 0, 0, false, pixels);
	if (why != NULL)
		nw_fatal("%s", why);
	free(pixels);
}

/* Prepare to fit the held-out images, and those that answer, as the model wants them. */
void
nw_validation_prepare(NwValidation *v, NwFitted *training)
{
	const NwDataset *d = training->dataset;

	if (v->held == NULL)
		return;
	v->fitted = nw_fitted_new(v->held, &training->pre, nw_validation_memory(v, d, v->held->n));
	read_once(v->fitted);
	v->own = answers_apart(v->o);
	v->answering =
		v->own ? nw_fitted_new(d, &training->pre, nw_validation_memory(v, d, d->n)) : training;
	v->supports = nw_stratified_sample(d, v->o->val_supports, &v->n_supports);
}

/* Say whether the network is to be judged after a step. */
bool
nw_validation_due(const NwValidation *v, int64_t step)
{
	return v->held != NULL && step > v->best.seen &&
	       (step % v->o->val_every == 0 || step == v->o->steps);
}

/* Return the next step after which there may be something to do: a validation, or the end. */
int64_t
nw_validation_next(const NwValidation *v, int64_t step)
{
	int64_t wait = v->o->val_every - step % v->o->val_every;

	return v->held != NULL && wait < v->o->steps - step ? step + wait : v->o->steps;
}

/*
 * Judge the network of these states after a step, and keep it where it is the best so far.  Where
 * an image cannot be read, why is to be freed.
 */
NwJudged
nw_validation_run(NwValidation *v, NwRuntime *rt, NwDevice device, const NwModelSpec *model,
                  NwStates *states, int64_t step, const volatile sig_atomic_t *stop, char **why)
{
	NwJudge judge = {rt, device, model, v->fitted, v->answering, v->supports, v->n_supports};
	NwFigures figures;
	NwJudged judged = nw_judge_network(&judge, states, stop, &figures, why);

	if (judged == NW_JUDGED && nw_best_add(&v->best, (NwBestBy) v->o->best_by, step, &figures))
	{
		nw_states_free(&v->best.states);
		nw_export_states(model, states, &v->best.states);
	}
	return judged;
}

/* Say whether there was no better model for so long that the run stops early. */
bool
nw_validation_stops(const NwValidation *v)
{
	return v->o->patience > 0 && v->best.since >= v->o->patience;
}

void
nw_validation_close(NwValidation *v)
{
	if (v->held == NULL)
		return;
	nw_states_free(&v->best.states);
	nw_fitted_free(v->fitted);
	if (v->own)
		nw_fitted_free(v->answering);
	nw_dataset_free(v->held);
	free(v->supports);
}
