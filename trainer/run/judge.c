/*
 * run/judge.c: how well a network in training does on images that are held out.
 *
 * The network is loaded as it would be exported, so the figures are those of the
 * finished model.  An FC head answers as embed makes a set of it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/finite.h"
#include "base/memory.h"
#include "base/text.h"
#include "data/dataset.h"
#include "data/fitted.h"
#include "data/image.h"
#include "graph/shape.h"
#include "graph/states.h"
#include "math/judgement.h"
#include "math/predict.h"
#include "net/model.h"
#include "ort/runtime.h"
#include "run/batch_queue.h"
#include "run/embedder.h"
#include "run/export.h"
#include "run/judge.h"

#define BATCH 64 /* images of a run */
#define BATCHES_AHEAD 3
#define QUERIES 64     /* predicted by a thread at a time */
#define MAX_THREADS 64 /* that predict */

/* images on their way through the network */
typedef struct Images
{
	NwFitted *fitted;
	const int64_t *which; /* numbers of the images, or NULL for the first n */
	int64_t n;
} Images;

/* queries on their way to their predictions */
typedef struct Queries
{
	const NwSupports *supports;
	const float *z; /* [n, dim] */
	int64_t n;
} Queries;

/* Decode a batch of images. */
static char *
fill_images(void *arg, int64_t seq, void *slot)
{
	const Images *in = arg;
	size_t size = nw_preprocess_size(&in->fitted->pre);
	char *why = NULL;

	for (int64_t k = seq * BATCH; k < (seq + 1) * BATCH && k < in->n && why == NULL; k++)
		why = nw_fitted_tensor(in->fitted, in->which ? in->which[k] : k, 0, 0, false,
		                       (float *) slot + (size_t) (k - seq * BATCH) * size);
	return why;
}

/* Predict a batch of queries. */
static char *
fill_predictions(void *arg, int64_t seq, void *slot)
{
	const Queries *q = arg;
	int64_t first = seq * QUERIES;

	nw_predict(q->supports, q->z + first * q->supports->dim,
	           (int) (q->n - first < QUERIES ? q->n - first : QUERIES), slot);
	return NULL;
}

/* Load the network as it would be exported now; its embeddings' dimension. */
static NwSession *
load(const NwJudge *w, NwStates *states, int *dim)
{
	const NwPort *out;
	NwSession *s;
	NwBuf bytes;
	int n;

	nw_export_bytes(w->model, states, BATCH, &bytes);
	s = nw_session_open(w->rt, w->device, 1, false, &bytes, "the network");
	nw_buf_free(&bytes);
	n = nw_session_ports(s, true, &out);
	for (int i = 0; i < n; i++)
		if (strcmp(out[i].name, "embedding") == 0)
			*dim = (int) out[i].shape.dim[1];
	return s;
}

/* Run the network on a batch of images; the first n embeddings go to z [n, dim]. */
static void
run_network(const NwJudge *w, NwSession *s, float *images, int n, int dim, float *z)
{
	const NwModelSpec *m = w->model;
	NwValue *in = nw_value_over(NW_SHAPE(BATCH, m->channels, m->height, m->width), images);
	NwBinding *b = nw_binding_new(s);
	NwValue **out;

	nw_bind_input(b, "images", in);
	nw_bind_output_fresh(b, "embedding", true);
	nw_binding_run(b);
	nw_binding_outputs(b, &out);
	memcpy(z, nw_value_floats(out[0]), (size_t) n * (size_t) dim * sizeof(float));
	nw_value_free(out[0]);
	free(out);
	nw_binding_free(b);
	nw_value_free(in);
}

/*
 * Embed images [n, dim], the caller's to free; NULL where a signal stopped it, or, and then why
 * (to be freed), where an image could not be read.
 */
static float *
embed(const NwJudge *w, NwSession *s, Images *images, int dim, const volatile sig_atomic_t *stop,
      char **why)
{
	size_t bytes = BATCH * nw_preprocess_size(&images->fitted->pre) * sizeof(float);
	int64_t n_batches = (images->n + BATCH - 1) / BATCH;
	float *z = nw_alloc((size_t) images->n * (size_t) dim * sizeof(float));
	void *slots[BATCHES_AHEAD];
	NwBatchQueue *queue;
	int64_t done = 0;

	for (int i = 0; i < BATCHES_AHEAD; i++)
		slots[i] = nw_alloc0(bytes);
	queue = nw_batch_queue_start(fill_images, images, 0, n_batches, slots, BATCHES_AHEAD, 1);
	for (; done < images->n && !*stop; done += BATCH)
	{
		int64_t left = images->n - done;
		const char *problem;
		float *batch = nw_batch_queue_try(queue, &problem);

		if (batch == NULL)
		{
			*why = nw_strdup(problem);
			break;
		}
		run_network(w, s, batch, (int) (left < BATCH ? left : BATCH), dim, z + done * dim);
		nw_batch_queue_return(queue);
	}
	nw_batch_queue_stop(queue);
	for (int i = 0; i < BATCHES_AHEAD; i++)
		free(slots[i]);
	if (done >= images->n)
		return z;
	free(z);
	return NULL;
}

/* Make a set of the network's FC head. */
static void
head_supports(const NwJudge *w, NwStates *states, int dim, NwSupports *s)
{
	int classes = w->model->classes;
	int *label = nw_alloc((size_t) classes * sizeof(int));

	for (int c = 0; c < classes; c++)
		label[c] = c;
	*s = (NwSupports) {NW_DOT,
	                   1,
	                   nw_head_rows(nw_state_find(states, "head.weight")->data,
	                                nw_state_find(states, "head.bias")->data, classes, dim - 1),
	                   label,
	                   classes,
	                   dim,
	                   classes};
}

/* Embed the training images that answer; false where embed() has nothing. */
static bool
image_supports(const NwJudge *w, NwSession *session, int dim, const volatile sig_atomic_t *stop,
               NwSupports *s, char **why)
{
	Images images = {w->training, w->supports, w->n_supports};
	float *x = embed(w, session, &images, dim, stop, why);
	int *label;

	if (x == NULL)
		return false;
	label = nw_alloc((size_t) w->n_supports * sizeof(int));
	for (int64_t i = 0; i < w->n_supports; i++)
		label[i] = w->training->dataset->label[w->supports[i]];
	*s = (NwSupports) {w->model->kernel, w->model->tau, x, label, w->n_supports, dim,
	                   w->model->classes};
	return true;
}

/* Predict embeddings z of the held-out images, and judge that; false where a signal stopped it. */
static bool
judge(const NwJudge *w, const NwSupports *s, const float *z, const volatile sig_atomic_t *stop,
      NwFigures *figures)
{
	const NwDataset *d = w->held->dataset;
	Queries q = {s, z, d->n};
	NwJudgement j = {0};
	void *slots[MAX_THREADS + 2];
	int threads = nw_runtime_threads(w->rt);
	NwBatchQueue *queue;
	int64_t i;

	threads = threads < 1 ? 1 : threads > MAX_THREADS ? MAX_THREADS : threads;
	for (int k = 0; k < threads + 2; k++)
		slots[k] = nw_alloc(QUERIES * (size_t) s->classes * sizeof(double));
	queue = nw_batch_queue_start(fill_predictions, &q, 0, (d->n + QUERIES - 1) / QUERIES, slots,
	                             threads + 2, threads);
	for (i = 0; i < d->n && !*stop; i += QUERIES)
	{
		const double *log_p = nw_batch_queue_take(queue);

		for (int64_t k = i; k < i + QUERIES && k < d->n; k++, log_p += s->classes)
			nw_judgement_add(&j, log_p, s->classes, d->label[k]);
		nw_batch_queue_return(queue);
	}
	nw_batch_queue_stop(queue);
	for (int k = 0; k < threads + 2; k++)
		free(slots[k]);
	*figures = nw_judgement_figures(&j);
	return i >= d->n;
}

/*
 * Judge a network of these weights by the held-out images.  Where an image cannot be read, why
 * is to be freed.
 */
NwJudged
nw_judge_network(const NwJudge *w, NwStates *states, const volatile sig_atomic_t *stop,
                 NwFigures *figures, char **why)
{
	Images held = {w->held, NULL, w->held->dataset->n};
	NwSupports supports = {0};
	int dim = 0;
	NwSession *session = load(w, states, &dim);
	float *z = embed(w, session, &held, dim, stop, why);
	bool done = z != NULL;
	bool finite = true;

	if (done && w->model->head == NW_HEAD_FC)
		head_supports(w, states, dim, &supports);
	else if (done)
		done = image_supports(w, session, dim, stop, &supports, why);
	nw_session_close(session);
	if (done)
		finite = nw_all_finite(z, held.n * dim) && nw_all_finite(supports.x, supports.n * dim);
	if (done && finite)
		done = judge(w, &supports, z, stop, figures);
	free((float *) supports.x);
	free((int *) supports.label);
	free(z);
	if (*why != NULL)
		return NW_JUDGE_UNREADABLE;
	return !done ? NW_JUDGE_STOPPED : finite ? NW_JUDGED : NW_JUDGE_WRECKED;
}

/* Say whether a network of these weights gives numbers for the first training images. */
bool
nw_judge_finite(const NwJudge *w, NwStates *states)
{
	static const volatile sig_atomic_t never;
	int64_t n = w->training->dataset->n;
	Images images = {w->training, NULL, n < BATCH ? n : BATCH};
	int dim = 0;
	NwSession *session = load(w, states, &dim);
	char *why = NULL;
	float *z = embed(w, session, &images, dim, &never, &why);
	bool finite =
		z == NULL || nw_all_finite(z, images.n * dim); /* an image that is gone says nothing */

	nw_session_close(session);
	free(why);
	free(z);
	return finite;
}
