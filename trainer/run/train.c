/*
 * run/train.c: a training run.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/finite.h"
#include "base/memory.h"
#include "base/message.h"
#include "base/random.h"
#include "data/augment.h"
#include "data/batch_spec.h"
#include "data/dataset.h"
#include "data/fitted.h"
#include "data/image.h"
#include "data/open.h"
#include "data/sampler.h"
#include "graph/grad.h"
#include "graph/graph.h"
#include "graph/meta.h"
#include "graph/shape.h"
#include "graph/states.h"
#include "math/judgement.h"
#include "net/backbone.h"
#include "net/builtin.h"
#include "net/model.h"
#include "net/optimizer.h"
#include "net/step_graph.h"
#include "ort/device.h"
#include "ort/probe.h"
#include "ort/runtime.h"
#include "run/batch_queue.h"
#include "run/best.h"
#include "run/checkpoint.h"
#include "run/export.h"
#include "run/judge.h"
#include "run/progress_bar.h"
#include "run/resume.h"
#include "run/step_runner.h"
#include "run/train.h"
#include "run/train_log.h"
#include "run/train_settings.h"
#include "run/validation.h"

#define STREAM_AUGMENT 3
#define STREAM_IMAGES 4
#define BATCHES_AHEAD 3

/* a batch on its way from the thread that makes it to the step that uses it */
typedef struct Batch
{
	NwChoice choice;
	float *images;
} Batch;

/* everything a run works with */
typedef struct Run
{
	NwTrainSettings *o;
	NwDataset *dataset;
	NwFitted *fitted;
	NwPreprocess pre;
	NwModelSpec model;
	NwBatchSpec batch;
	NwSampler *sampler;
	NwStates states;
	NwMetas settings; /* what the result depends on */
	NwRuntime *rt;
	NwDevice device;
	NwStepRunner *runner;
	NwValidation val;
	NwTrainLog log;
	NwProgressBar bar;
	bool kept;     /* the last checkpoint could be written */
	double smooth; /* the loss, smoothed; 0 before the first step */
	char note[96]; /* beside the bar */
} Run;

static volatile sig_atomic_t interrupted;

static void
on_signal(int signo)
{
	(void) signo;
	interrupted = 1;
}

/* Make the batch of a step: choose images, then change them at random, each by draws of its own. */
static char *
fill_batch(void *arg, int64_t step, void *slot)
{
	Run *run = arg;
	Batch *b = slot;
	NwRandom r = nw_random(run->o->seed, STREAM_AUGMENT, (uint64_t) step);
	NwRandom keys = nw_random(run->o->seed, STREAM_IMAGES, (uint64_t) step);
	uint64_t key = nw_random_next(&keys); /* each image's own draws begin from it */
	size_t size = nw_preprocess_size(&run->pre);
	char *why = nw_sampler_draw(run->sampler, step, &b->choice);

	for (int i = 0; i < nw_batch_images(&run->batch) && why == NULL; i++)
	{
		int reach = 2 * run->o->crop + 1;
		NwMove move;

		move.dy = (int) nw_random_below(&r, (uint32_t) reach) - run->o->crop;
		move.dx = (int) nw_random_below(&r, (uint32_t) reach) - run->o->crop;
		move.mirror = run->o->flip && nw_random_below(&r, 2);
		why = nw_augmented_tensor(run->fitted, &run->o->augment, b->choice.image[i], move,
		                          nw_random(key, STREAM_IMAGES, (uint64_t) i),
		                          b->images + (size_t) i * size);
	}
	return why;
}

/* Settle what comes before the network: size, channels, mean and deviation. */
static void
prepare_images(Run *run)
{
	NwTrainSettings *o = run->o;
	NwPreprocess *p = &run->pre;

	*p = (NwPreprocess) {.channels = o->channels, .height = o->size, .width = o->size, .zoom = 1};
	if (o->augment.resize > 0)
		p->zoom = (double) o->augment.resize / o->size;
	if ((o->n_mean && o->n_mean != o->channels) || (o->n_std && o->n_std != o->channels))
		nw_usage_error("train", "--mean and --std want %d numbers", o->channels);
	for (int i = 0; i < 3; i++)
		p->std[i] = 1;
	run->fitted = nw_fitted_new(run->dataset, p,
	                            nw_validation_memory(&run->val, run->dataset, run->dataset->n));
	nw_augment_keep(&o->augment, run->fitted);
	nw_fitted_statistics(run->fitted, p->mean, p->std);
	if (o->n_mean)
		memcpy(p->mean, o->mean, sizeof(p->mean));
	if (o->n_std)
		memcpy(p->std, o->std, sizeof(p->std));
	for (int i = 0; i < o->channels; i++)
		if (!(p->std[i] >= NW_LEAST_STD))
			nw_usage_error("train", "--std wants numbers above %g", NW_LEAST_STD);
	run->fitted->pre = *p;
	nw_validation_prepare(&run->val, run->fitted);
}

/* Load the backbone and take its input's size where none was asked for. */
static void
load_backbone(Run *run)
{
	NwTrainSettings *o = run->o;
	int channels;
	int height;
	int width;

	run->model.backbone = nw_backbone_load(run->rt, o->backbone, o->output, o->freeze_norm);
	o->separated = nw_backbone_separated(run->model.backbone);
	o->backbone_hash = nw_backbone_hash(run->model.backbone);
	nw_backbone_input(run->model.backbone, &channels, &height, &width);
	if (channels != 0 && channels != 1 && channels != 3)
		nw_fatal("\"%s\" wants images of %d channels: 1 or 3 are supported", o->backbone, channels);
	if (channels != 0 && o->channels == 0)
		o->channels = channels;
	if (o->size == 0 && height != 0 && width != 0 && height != width)
		nw_fatal("\"%s\" wants images of %d x %d: square ones are supported, give --size",
		         o->backbone, height, width);
	if (height != 0 && o->size == 0)
		o->size = height;
	if (o->size > NW_MOST_SIZE)
		nw_fatal("\"%s\" wants images of %d x %d: %d x %d are the largest", o->backbone, height,
		         width, NW_MOST_SIZE, NW_MOST_SIZE);
}

/* Settle the network and the batch. */
static void
prepare_model(Run *run)
{
	const NwTrainSettings *o = run->o;
	int classes = run->dataset->n_classes;

	if (o->arch)
		run->model.builtin = (NwBuiltin) {.arch = nw_arch_find(o->arch), .width = o->width};
	run->model.channels = o->channels;
	run->model.height = run->model.width = o->size;
	run->model.dim = o->dim;
	run->model.head = o->head;
	run->model.classes = classes;
	run->model.kernel = o->kernel;
	run->model.tau = o->tau;
	run->batch.queries = o->queries;
	run->batch.supports = o->supports;
	run->batch.shared = o->shared;
	run->batch.slots = o->head == NW_HEAD_FC || classes < o->supports ? classes : o->supports;
}

/* Build the step's graph over the run's states. */
static NwGraph *
build_step(Run *run)
{
	NwGraph *g =
		nw_graph_new(NW_FOR_TRAINING, run->device != NW_DEVICE_CPU, &run->states, run->o->seed);

	nw_backward(g, nw_step_loss(g, &run->model, &run->batch));
	nw_optimizer_update(g, &run->o->optimizer);
	return g;
}

/* Count the queries whose most probable slot is the right one. */
static int
count_right(const Run *run, const NwChoice *c, const float *log_p)
{
	int right = 0;

	for (int q = 0; q < run->batch.queries; q++)
	{
		const float *row = log_p + (size_t) q * (size_t) run->batch.slots;
		int best = 0;

		for (int i = 1; i < run->batch.slots; i++)
			if (row[i] > row[best])
				best = i;
		right += best == c->truth[q];
	}
	return right;
}

/* Write a model, with its figures where it was judged. */
static void
export_model(Run *run, const char *path, NwStates *states, int64_t step, const NwFigures *f)
{
	NwMetas settings = {0};
	char *why;

	nw_metas_add(&settings, &run->settings);
	if (run->val.held != NULL)
		nw_figures_describe(step, f, &settings);
	why = nw_export(path, &run->model, states, &run->pre, run->dataset, &settings);
	if (why != NULL && run->kept)
		nw_fatal("%s; the checkpoint is kept in \"%s\", --resume writes the model later", why,
		         run->o->checkpoint);
	if (why != NULL)
		nw_fatal("%s", why);
	nw_metas_free(&settings);
}

/* Write the best model so far, where there is one. */
static void
export_best(Run *run)
{
	const NwBest *b = &run->val.best;
	char *path = nw_best_path(run->o->out);

	if (b->step > 0)
	{
		export_model(run, path, &run->val.best.states, b->step, &b->best);
		if (!run->o->quiet)
			nw_info("best model, of step %lld: \"%s\"", (long long) b->step, path);
	}
	free(path);
}

/* End a run that training has wrecked; the best model that it had is worth keeping. */
static _Noreturn void
end_wrecked(Run *run, const char *what, int64_t step)
{
	nw_progress_bar_clear(&run->bar);
	export_best(run);
	nw_fatal("%s no longer a number at step %lld: try a smaller --lr", what, (long long) step);
}

/* Keep the states so that the run can go on from here; why not (to be freed), else NULL. */
static char *
save_checkpoint(Run *run, int64_t step)
{
	char *why;

	nw_step_runner_fetch(run->runner);
	for (int i = 0; i < run->states.n; i++)
		if (!nw_all_finite(run->states.item[i].data, nw_shape_size(&run->states.item[i].shape)))
			end_wrecked(run, "a weight is", step);
	why =
		nw_checkpoint_save(run->o->checkpoint, &run->states, &run->val.best, &run->settings, step);
	run->kept = why == NULL;
	return why;
}

/* The same where the run goes on in any case. */
static void
try_checkpoint(Run *run, int64_t step)
{
	char *why = save_checkpoint(run, step);

	if (why != NULL)
	{
		nw_progress_bar_clear(&run->bar);
		nw_info("%s; going on without this checkpoint", why);
	}
	free(why);
}

/* End a run whose next images cannot be read; what it has learned so far is kept. */
static _Noreturn void
end_unreadable(Run *run, int64_t step, const char *why)
{
	if (step > 0)
	{
		try_checkpoint(run, step);
		export_best(run);
	}
	if (step > 0 && run->kept)
		nw_fatal("%s (after step %lld; checkpoint kept in \"%s\")", why, (long long) step,
		         run->o->checkpoint);
	nw_fatal("%s", why);
}

/* Write what is told beside the bar. */
static void
take_note(Run *run)
{
	const NwBest *b = &run->val.best;
	int len = snprintf(run->note, sizeof(run->note), "loss %.4f", run->smooth);

	if (b->seen > 0)
		snprintf(run->note + len, sizeof(run->note) - (size_t) len,
		         ", held out: error %.4f, nll %.4f", b->last.error, b->last.nll);
}

/* Count a step, and tell of it. */
static void
tell_step(Run *run, int64_t step, float loss, int right)
{
	const NwTrainSettings *o = run->o;

	nw_train_log_step(&run->log, loss, right);
	run->smooth = run->smooth == 0 ? loss : 0.98 * run->smooth + 0.02 * loss;
	take_note(run);
	nw_progress_bar_show(&run->bar, step, run->note);
	if (step % o->log_every == 0 || step == o->steps)
		nw_train_log_write(&run->log, step, nw_train_lr(o, step - 1));
}

/* Run steps up to `end`; the one that was reached, which is an earlier one if interrupted. */
static int64_t
run_steps(Run *run, int64_t first, int64_t end)
{
	const NwTrainSettings *o = run->o;
	size_t size = nw_preprocess_size(&run->pre);
	Batch batch[BATCHES_AHEAD];
	void *slots[BATCHES_AHEAD];
	float *log_p =
		nw_alloc((size_t) run->batch.queries * (size_t) run->batch.slots * sizeof(float));
	NwBatchQueue *queue;
	int64_t step;

	for (int i = 0; i < BATCHES_AHEAD; i++)
	{
		nw_choice_init(&batch[i].choice, &run->batch);
		batch[i].images = nw_alloc((size_t) nw_batch_images(&run->batch) * size * sizeof(float));
		slots[i] = &batch[i];
	}
	queue = nw_batch_queue_start(fill_batch, run, first, end, slots, BATCHES_AHEAD, 1);
	for (step = first; step < end && !interrupted; step++)
	{
		const char *why;
		Batch *b = nw_batch_queue_try(queue, &why);
		NwStepInputs in;
		float loss;

		if (b == NULL)
			end_unreadable(run, step, why);
		in = (NwStepInputs) {.images = b->images,
		                     .targets = b->choice.targets,
		                     .member = b->choice.member,
		                     .lr = (float) nw_train_lr(o, step)};
		nw_optimizer_corrections(&o->optimizer, step, in.corrections);
		nw_step_runner_run(run->runner, &in, &loss, log_p);
		if (!(loss - loss == 0) && step == 0) /* infinite, or not a number */
			nw_fatal("the loss is no number at the first step, before anything is learned: "
			         "the network does not suit these images");
		if (!(loss - loss == 0))
			end_wrecked(run, "the loss is", step + 1);
		tell_step(run, step + 1, loss, count_right(run, &b->choice, log_p));
		nw_batch_queue_return(queue);
		if ((step + 1) % o->checkpoint_every == 0 && step + 1 < o->steps)
			try_checkpoint(run, step + 1);
	}
	nw_batch_queue_stop(queue);
	for (int i = 0; i < BATCHES_AHEAD; i++)
	{
		nw_choice_free(&batch[i].choice);
		free(batch[i].images);
	}
	free(log_p);
	return step;
}

/* Judge the network by the held-out images, and tell of it. */
static void
validate(Run *run, int64_t step)
{
	const NwBest *b = &run->val.best;
	double start = nw_now();
	char *why = NULL;
	NwJudged judged;

	nw_step_runner_fetch(run->runner);
	judged = nw_validation_run(&run->val, run->rt, run->device, &run->model, &run->states, step,
	                           &interrupted, &why);
	if (judged == NW_JUDGE_UNREADABLE)
		end_unreadable(run, step, why);
	if (judged == NW_JUDGE_WRECKED)
		end_wrecked(run, "an embedding is", step);
	if (judged == NW_JUDGE_STOPPED)
		return;
	nw_train_log_validation(&run->log, step, &b->last, nw_now() - start);
	take_note(run);
	if (run->o->quiet)
		return;
	nw_progress_bar_clear(&run->bar);
	nw_info("step %lld, held out: error %.4f, ECE %.4f, NLL %.4f%s", (long long) step,
	        b->last.error, b->last.ece, b->last.nll, b->step == step ? " (best so far)" : "");
}

/* End the run where its last step has wrecked the network; held-out images tell that, too. */
static void
check_last(Run *run, int64_t step)
{
	NwJudge judge = {.rt = run->rt, .device = run->device, .model = &run->model};

	if (run->val.held != NULL)
		return;
	judge.training = nw_fitted_new(run->dataset, &run->pre, 0);
	nw_step_runner_fetch(run->runner);
	if (!nw_judge_finite(&judge, &run->states))
		end_wrecked(run, "an embedding is", step);
	nw_fitted_free(judge.training);
}

/* Train from a step on; false if interrupted. */
static bool
train(Run *run, int64_t first)
{
	const NwTrainSettings *o = run->o;
	int64_t step = first;

	nw_train_log_begin(&run->log);
	run->bar = nw_progress_bar_start("step", first, o->steps, o->quiet);
	for (;;)
	{
		if (nw_validation_due(&run->val, step))
			validate(run, step);
		if (step >= o->steps || interrupted || nw_validation_stops(&run->val))
			break;
		step = run_steps(run, step, nw_validation_next(&run->val, step));
	}
	nw_progress_bar_end(&run->bar, step, run->note);
	if (interrupted && (step < o->steps || nw_validation_due(&run->val, step)))
	{
		char *why = save_checkpoint(run, step);

		if (why != NULL)
			nw_fatal("interrupted after step %lld, and %s", (long long) step, why);
		export_best(run);
		nw_info("interrupted after step %lld; checkpoint kept in \"%s\", go on with --resume",
		        (long long) step, o->checkpoint);
		return false;
	}
	if (step < o->steps)
	{
		nw_train_log_stop(&run->log, step, run->val.best.step);
		nw_info("stopped early after step %lld: no better model in %lld validations",
		        (long long) step, (long long) run->val.best.since);
	}
	check_last(run, step);
	try_checkpoint(run, step); /* whatever becomes of the models' files */
	return true;
}

/* Write the best model and the last one; the checkpoint has served then. */
static void
finish(Run *run)
{
	const NwTrainSettings *o = run->o;
	const NwBest *b = &run->val.best;

	export_best(run);
	export_model(run, o->out, &run->states, b->seen, &b->last);
	if (!o->keep_checkpoint)
		nw_remove_file(o->checkpoint);
}

/*
 * Let Ctrl-C, a polite kill and a lost terminal end the run at the next step.  A limit of files'
 * sizes and a reader that is gone are errors of what is written, and no end.
 */
static void
catch_signals(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction act = {.sa_handler = on_signal};
	struct sigaction was;

	sigemptyset(&act.sa_mask);
	act.sa_flags = (int) SA_RESETHAND;        /* a second Ctrl-C ends at once */
	for (int i = 0; i < NW_LENGTH(ends); i++) /* but for one that nohup, say, has turned off */
		if (sigaction(ends[i], NULL, &was) == 0 && was.sa_handler != SIG_IGN)
			sigaction(ends[i], &act, NULL);
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
}

/* Refuse to replace a file at the start, but a checkpoint where that is asked for. */
static void
check_checkpoint(const NwTrainSettings *o)
{
	if (o->resume || access(o->checkpoint, F_OK) != 0)
		return;
	if (!nw_checkpoint_is(o->checkpoint))
		nw_fatal("\"%s\" is not a checkpoint of nwhead: it would be replaced, and removed at the "
		         "end; name another --checkpoint",
		         o->checkpoint);
	if (!o->fresh)
		nw_fatal("there is a checkpoint of an earlier run, \"%s\": --resume goes on from it, "
		         "--fresh replaces it",
		         o->checkpoint);
}

/* Tell what the run works with. */
static void
introduce(const Run *run)
{
	const NwTrainSettings *o = run->o;

	nw_info("%lld images of %d classes, %s%s%s, %d images a step, device %s",
	        (long long) run->dataset->n, run->dataset->n_classes, o->arch ? o->arch : o->backbone,
	        o->head == NW_HEAD_FC ? " with an FC head" : "",
	        o->head == NW_HEAD_FC ? ""
	        : o->shared           ? ", shared supports"
	                              : ", supports for each query",
	        nw_batch_images(&run->batch), nw_device_name(run->device));
	if (run->val.held != NULL)
		nw_info("%lld images held out, asked about every %lld steps", (long long) run->val.held->n,
		        (long long) o->val_every);
}

/* Check that a checkpoint holds all that the network has, and so does its best model. */
static void
check_complete(Run *run, int loaded)
{
	NwStates wanted = {0};
	bool whole = run->states.n == loaded;

	if (run->val.best.step > 0)
		nw_export_states(&run->model, &run->states, &wanted);
	for (int i = 0; i < wanted.n; i++)
	{
		const NwState *best = nw_state_find(&run->val.best.states, wanted.item[i].name);

		whole = whole && best && nw_shape_equal(&best->shape, &wanted.item[i].shape);
	}
	nw_states_free(&wanted);
	if (!whole)
		nw_fatal("checkpoint \"%s\" lacks weights that this network has", run->o->checkpoint);
}

/* Check that checkpoints of this network can be read again, with a best model in them. */
static void
check_size(Run *run)
{
	NwStates best = {0};

	if (run->val.held != NULL)
		nw_export_states(&run->model, &run->states, &best);
	if (!nw_checkpoint_fits(&run->states, &best))
		nw_fatal("this network is too large: its checkpoint would have more than 2 GiB, "
		         "which an ONNX file cannot");
	nw_states_free(&best);
}

/* Check that what the run makes can be written. */
static void
check_outputs(const NwTrainSettings *o)
{
	char *best = nw_best_path(o->out);

	nw_check_writable(o->out);
	nw_check_writable(o->checkpoint);
	if (nw_train_validates(o))
		nw_check_writable(best);
	free(best);
}

/* Carry out "nwhead train". */
int
nw_train(NwTrainSettings *o)
{
	Run run = {.o = o};
	NwTrainSettings asked;
	NwMetas was = {0};
	NwGraph *g;
	int64_t first = 0;
	int loaded;
	bool done;

	check_outputs(o);
	check_checkpoint(o);
	run.dataset = nw_dataset_open(&o->dataset, true);
	nw_validation_open(&run.val, o, run.dataset);
	nw_dataset_whole(run.dataset); /* better now than in the middle of the work */
	run.rt = nw_runtime_open(o->threads, o->profile);
	if (o->backbone)
		load_backbone(&run);
	asked = *o;
	nw_train_complete(o, run.dataset);
	prepare_model(&run);
	run.sampler = nw_sampler_new(run.dataset, &run.batch, o->smoothing, o->seed);
	prepare_images(&run);
	nw_train_describe(o, run.dataset, run.val.held, &run.settings);
	run.device = nw_device_choose(run.rt, o->device);
	if (o->resume)
	{
		first = nw_checkpoint_load(o->checkpoint, &run.states, &run.val.best, &was);
		nw_resume_check(&asked, o, run.dataset, run.val.held, first, &was, &run.settings);
	}
	run.log = nw_train_log_open(o->log, o->resume, run.batch.queries, nw_batch_images(&run.batch));
	catch_signals();
	loaded = run.states.n;
	g = build_step(&run);
	check_size(&run);
	if (o->resume)
		check_complete(&run, loaded);
	run.runner = nw_step_runner_new(run.rt, run.device, g);
	if (!o->quiet)
		introduce(&run);
	done = train(&run, first);
	if (done)
		finish(&run);
	nw_train_log_close(&run.log);
	nw_step_runner_free(run.runner);
	nw_graph_free(g);
	if (run.model.backbone)
		nw_backbone_free(run.model.backbone);
	nw_sampler_free(run.sampler);
	nw_validation_close(&run.val);
	nw_fitted_free(run.fitted);
	nw_dataset_free(run.dataset);
	nw_states_free(&run.states);
	nw_metas_free(&run.settings);
	nw_metas_free(&was);
	nw_runtime_close(run.rt);
	return done ? 0 : NW_EXIT_FAILED;
}
