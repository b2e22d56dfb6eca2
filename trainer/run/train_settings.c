/*
 * run/train_settings.c: the settings of a training run.
 */
#include <math.h>
#include <string.h>

#include "base/message.h"
#include "base/random.h"
#include "base/text.h"
#include "data/augment.h"
#include "data/dataset.h"
#include "data/image.h"
#include "data/jitter.h"
#include "data/sampler.h"
#include "graph/meta.h"
#include "net/builtin.h"
#include "net/kernel.h"
#include "net/model.h"
#include "net/optimizer.h"
#include "run/best.h"
#include "run/train_settings.h"

#define PI 3.14159265358979323846
#define VAL_EVERY 500
#define VAL_SUPPORTS 10000

const char *
nw_schedule_name(int i)
{
	static const char *const names[] = {"drops", "cosine", NULL};

	return names[i];
}

/* Fill in what was left unsaid of the update. */
static void
complete_optimizer(NwOptimizer *o)
{
	if (o->momentum < 0)
		o->momentum = 0.9;
	if (o->beta[0] < 0)
	{
		o->beta[0] = 0.9;
		o->beta[1] = 0.999;
	}
	if (o->weight_decay < 0)
		o->weight_decay = o->kind == NW_ADAMW ? 0.01 : 1e-4;
}

/* Say whether images are held out to judge the network by. */
bool
nw_train_validates(const NwTrainSettings *o)
{
	return o->val.folder || o->val.idx_images || o->val.table || o->val_share > 0;
}

/* Fill in what the command line left unsaid, now that the data is known. */
void
nw_train_complete(NwTrainSettings *o, const NwDataset *d)
{
	const NwArch *arch = o->arch ? nw_arch_find(o->arch) : NULL;
	bool cnn = arch && strcmp(arch->name, "cnn") == 0;
	bool fc = o->head == NW_HEAD_FC;
	bool large;

	if (o->channels == 0)
		o->channels = d->channels;
	if (o->size == 0)
		o->size = arch && arch->size ? arch->size : d->height < d->width ? d->height : d->width;
	if (arch && o->size < arch->least)
		nw_fatal("images of %d x %d are too small for \"%s\": --size must be at least %d", o->size,
		         o->size, arch->name, arch->least);
	large = o->size > 64;
	if (o->width == 0)
		o->width = arch ? arch->width : 0;
	if (o->dim < 0)
		o->dim = fc ? 0 : 128;
	if (o->shared < 0)
		o->shared = !fc && cnn;
	if (o->queries == 0)
		o->queries = fc ? (large ? 32 : 128) : cnn ? 64 : o->shared ? 128 : large ? 4 : 32;
	if (o->supports == 0 && !fc)
		o->supports = o->shared ? nw_usual_shared_supports(d, cnn ? 64 : 250) : 10;
	if (o->epochs > 0)
		o->steps = (o->epochs * d->n + o->queries - 1) / o->queries;
	if (o->steps == 0)
		o->steps = cnn ? 2000 : 40000;
	if (o->tau < 0)
		o->tau = fc ? 1 : nw_kernel_tau(o->kernel);
	complete_optimizer(&o->optimizer);
	if (o->lr < 0 && o->optimizer.kind == NW_ADAMW)
		o->lr = 1e-3;
	if (o->lr < 0)
		o->lr = fc ? (cnn ? 0.05 : 0.1) : cnn ? 0.02 : 1e-3;
	if (o->warmup >= o->steps)
		nw_usage_error("train", "--warmup wants fewer steps than the %lld of --steps",
		               (long long) o->steps);
	if (o->n_drops < 0 && o->schedule == NW_DROPS)
	{
		o->n_drops = 2;
		o->drops[0] = (double) (o->steps / 2);
		o->drops[1] = (double) (o->steps * 3 / 4);
	}
	if (o->augment.resize != 0 &&
	    (o->augment.resize < o->size || o->augment.resize > NW_MAX_ZOOM * o->size))
		nw_fatal(
			"images of %d x %d cannot be cut from images of %d: --resize must be from %d to %d",
			o->size, o->size, o->augment.resize, o->size, NW_MAX_ZOOM * o->size);
	if (o->crop < 0)
		o->crop = cnn || o->augment.resize != 0 || o->augment.least > 0 ? 0 : o->size / 8;
	if (o->flip < 0)
		o->flip = !cnn;
	if (o->val_every == 0)
		o->val_every = VAL_EVERY;
	if (o->val_supports < 0)
		o->val_supports = VAL_SUPPORTS;
	if (o->best_by < 0)
		o->best_by = NW_BEST_BY_NLL;
}

/* Return the learning rate of a step, numbered from 0. */
double
nw_train_lr(const NwTrainSettings *o, int64_t step)
{
	double lr = o->lr;

	if (step < o->warmup)
		lr *= (double) (step + 1) / (double) o->warmup;
	else if (o->schedule == NW_COSINE_DECAY)
		lr *= (1 + cos(PI * (double) (step - o->warmup) / (double) (o->steps - o->warmup))) / 2;
	for (int i = 0; i < o->n_drops; i++)
		if ((double) step >= o->drops[i])
			lr /= 10;
	return lr;
}

static void
set_numbers(NwMetas *m, const char *key, const double *v, int n)
{
	NwBuf b = {0};

	nw_buf_numbers(&b, n, v, 17);
	nw_meta_set(m, key, "%s", b.data);
	nw_buf_free(&b);
}

/* Hash the names of classes, which samples depend on, in their order. */
static uint64_t
hash_classes(const NwDataset *d)
{
	uint64_t chain[2] = {0};

	for (int c = 0; c < d->n_classes; c++)
	{
		chain[1] = nw_hash(d->classes[c], strlen(d->classes[c]));
		chain[0] = nw_hash(chain, sizeof(chain));
	}
	return chain[0];
}

/* Note a hash, which tells one thing from another. */
static void
set_digest(NwMetas *m, const char *key, uint64_t hash)
{
	nw_meta_set(m, key, "%016llx", (unsigned long long) hash);
}

/* List what the update depends on. */
static void
describe_optimizer(const NwTrainSettings *o, NwMetas *m)
{
	const NwOptimizer *opt = &o->optimizer;

	if (opt->kind == NW_ADAMW)
	{
		nw_meta_set(m, "optimizer", "%s", nw_optimizer_name((int) opt->kind));
		set_numbers(m, "betas", opt->beta, 2);
	}
	else
		nw_meta_set(m, "momentum", "%.17g", opt->momentum);
	if (opt->nesterov)
		nw_meta_set(m, "nesterov", "1");
	nw_meta_set(m, "weight-decay", "%.17g", opt->weight_decay);
	if (opt->clip > 0)
		nw_meta_set(m, "clip", "%.17g", opt->clip);
	if (o->schedule != NW_DROPS)
		nw_meta_set(m, "schedule", "%s", nw_schedule_name((int) o->schedule));
	if (o->warmup > 0)
		nw_meta_set(m, "warmup", "%lld", (long long) o->warmup);
}

/* List what the choice of the best model depends on, and where the run stops early. */
static void
describe_validation(const NwTrainSettings *o, const NwDataset *held, NwMetas *m)
{
	nw_meta_set(m, "val-images", "%lld", (long long) held->n);
	set_digest(m, NW_VAL_LABELS_KEY, nw_hash(held->label, (size_t) held->n * sizeof(int)));
	set_digest(m, NW_VAL_SOURCE_KEY, nw_dataset_hash(held));
	nw_meta_set(m, "val-share", "%.17g", o->val_share);
	nw_meta_set(m, "val-seed", "%llu", (unsigned long long) o->val_seed);
	nw_meta_set(m, "val-every", "%lld", (long long) o->val_every);
	nw_meta_set(m, "val-supports", "%lld", (long long) o->val_supports);
	nw_meta_set(m, "best-by", "%s", nw_best_by_name(o->best_by));
	nw_meta_set(m, "patience", "%lld", (long long) o->patience);
}

/*
 * List what a run's result depends on; `held` is NULL where nothing is held out.  What
 * came later than the first checkpoints is listed only where it is not as usual: those can
 * be gone on from.
 */
void
nw_train_describe(const NwTrainSettings *o, const NwDataset *d, const NwDataset *held, NwMetas *m)
{
	nw_meta_set(m, "images", "%lld", (long long) d->n);
	set_digest(m, NW_LABELS_KEY, nw_hash(d->label, (size_t) d->n * sizeof(int)));
	set_digest(m, NW_SOURCE_KEY, nw_dataset_hash(d));
	set_digest(m, NW_CLASSES_KEY, hash_classes(d));
	nw_meta_set(m, "network", "%s", o->backbone ? o->backbone : o->arch);
	if (o->backbone)
		set_digest(m, NW_BACKBONE_KEY, o->backbone_hash);
	nw_meta_set(m, "output", "%s", o->output ? o->output : "");
	nw_meta_set(m, "freeze-norm", "%d", o->freeze_norm);
	if (o->separated > 0)
		nw_meta_set(m, "separated-weights", "%d", o->separated);
	nw_meta_set(m, "width", "%d", o->width);
	nw_meta_set(m, "size", "%d", o->size);
	nw_meta_set(m, "channels", "%d", o->channels);
	nw_meta_set(m, "dim", "%d", o->dim);
	nw_meta_set(m, "head", "%s", nw_head_name((int) o->head));
	if (o->kernel != NW_EUCLIDEAN)
		nw_meta_set(m, "kernel", "%s", nw_kernel_name((int) o->kernel));
	nw_meta_set(m, "tau", "%.17g", o->tau);
	nw_meta_set(m, "queries", "%d", o->queries);
	nw_meta_set(m, "supports", "%d", o->supports);
	nw_meta_set(m, "shared", "%d", o->shared);
	nw_meta_set(m, "steps", "%lld", (long long) o->steps);
	nw_meta_set(m, "lr", "%.17g", o->lr);
	if (o->schedule == NW_DROPS)
		set_numbers(m, "lr-drops", o->drops, o->n_drops);
	describe_optimizer(o, m);
	nw_meta_set(m, "label-smoothing", "%.17g", o->smoothing);
	nw_meta_set(m, "crop", "%d", o->crop);
	nw_meta_set(m, "flip", "%d", o->flip);
	set_numbers(m, "mean", o->mean, o->n_mean);
	set_numbers(m, "std", o->std, o->n_std);
	if (o->augment.resize != 0)
		nw_meta_set(m, "resize", "%d", o->augment.resize);
	if (o->augment.least > 0)
		nw_meta_set(m, "random-resized-crop", "%.17g", o->augment.least);
	if (nw_jitter_any(&o->augment.jitter))
		set_numbers(m, "jitter", o->augment.jitter.most, NW_JITTERS);
	nw_meta_set(m, "seed", "%llu", (unsigned long long) o->seed);
	if (held != NULL)
		describe_validation(o, held, m);
}
