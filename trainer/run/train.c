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
#include "graph/states.h"
#include "net/backbone.h"
#include "net/builtin.h"
#include "net/model.h"
#include "net/optimizer.h"
#include "net/step_graph.h"
#include "ort/device.h"
#include "ort/probe.h"
#include "ort/runtime.h"
#include "run/batch_queue.h"
#include "run/checkpoint.h"
#include "run/export.h"
#include "run/progress_bar.h"
#include "run/step_runner.h"
#include "run/train.h"
#include "run/train_settings.h"

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
	FILE *log;
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
	NwRandom images = nw_random(run->o->seed, STREAM_IMAGES, (uint64_t) step);
	uint64_t key = nw_random_next(&images);
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
	run->fitted = nw_fitted_new(run->dataset, p, (size_t) o->kept_mb << 20);
	nw_augment_keep(&o->augment, run->fitted);
	nw_fitted_statistics(run->fitted, p->mean, p->std);
	if (o->n_mean)
		memcpy(p->mean, o->mean, sizeof(p->mean));
	if (o->n_std)
		memcpy(p->std, o->std, sizeof(p->std));
	for (int i = 0; i < o->channels; i++)
		if (p->std[i] <= 0)
			nw_usage_error("train", "--std wants numbers above 0");
	run->fitted->pre = *p;
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
	nw_backbone_input(run->model.backbone, &channels, &height, &width);
	if (channels != 0 && channels != 1 && channels != 3)
		nw_fatal("\"%s\" wants images of %d channels: 1 or 3 are supported", o->backbone, channels);
	if (channels != 0 && o->channels == 0)
		o->channels = channels;
	if (height != 0 && o->size == 0)
		o->size = height;
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

/* what is told about the steps since the last line of the log */
typedef struct Totals
{
	double loss;
	int64_t right;
	int64_t steps;
	double since;
} Totals;

/* Write a line of the log, and begin to count anew. */
static void
write_log(Run *run, int64_t step, Totals *t)
{
	double now = nw_now();
	double seconds = now - t->since;

	if (run->log != NULL)
	{
		fprintf(
			run->log,
			"{\"step\":%lld,\"loss\":%.6g,\"accuracy\":%.4f,\"lr\":%g,\"images_per_second\":%.1f}\n",
			(long long) step, t->loss / (double) t->steps,
			(double) t->right / (double) (t->steps * run->batch.queries),
			nw_train_lr(run->o, step - 1),
			(double) (t->steps * nw_batch_images(&run->batch)) / seconds);
		if (fflush(run->log) != 0)
			nw_fatal("could not write to \"%s\": %s", run->o->log, strerror(errno));
	}
	*t = (Totals) {.since = now};
}

/* Keep the states so that the run can go on from here. */
static void
save_checkpoint(Run *run, NwStepRunner *runner, int64_t step)
{
	nw_step_runner_fetch(runner);
	nw_checkpoint_save(run->o->checkpoint, &run->states, &run->settings, step);
}

/* Run the steps; false if interrupted. */
static bool
run_steps(Run *run, NwStepRunner *runner, int64_t first)
{
	const NwTrainSettings *o = run->o;
	size_t size = nw_preprocess_size(&run->pre);
	Batch batch[BATCHES_AHEAD];
	void *slots[BATCHES_AHEAD];
	float *log_p =
		nw_alloc((size_t) run->batch.queries * (size_t) run->batch.slots * sizeof(float));
	NwBatchQueue *queue;
	NwProgressBar bar;
	Totals totals = {.since = nw_now()};
	double smooth = 0;
	char note[64] = "";
	int64_t step;

	for (int i = 0; i < BATCHES_AHEAD; i++)
	{
		nw_choice_init(&batch[i].choice, &run->batch);
		batch[i].images = nw_alloc((size_t) nw_batch_images(&run->batch) * size * sizeof(float));
		slots[i] = &batch[i];
	}
	queue = nw_batch_queue_start(fill_batch, run, first, o->steps, slots, BATCHES_AHEAD, 1);
	bar = nw_progress_bar_start("step", first, o->steps, o->quiet);
	for (step = first; step < o->steps && !interrupted; step++)
	{
		Batch *b = nw_batch_queue_take(queue);
		NwStepInputs in = {.images = b->images,
		                   .targets = b->choice.targets,
		                   .member = b->choice.member,
		                   .lr = (float) nw_train_lr(o, step)};
		float loss;

		nw_optimizer_corrections(&o->optimizer, step, in.corrections);
		nw_step_runner_run(runner, &in, &loss, log_p);
		if (!(loss - loss == 0)) /* infinite, or not a number */
			nw_fatal("the loss is no longer a number at step %lld: try a smaller --lr",
			         (long long) step + 1);
		totals.loss += loss;
		totals.right += count_right(run, &b->choice, log_p);
		totals.steps++;
		nw_batch_queue_return(queue);
		smooth = step == first ? loss : 0.98 * smooth + 0.02 * loss;
		snprintf(note, sizeof(note), "loss %.4f", smooth);
		nw_progress_bar_show(&bar, step + 1, note);
		if ((step + 1) % o->log_every == 0 || step + 1 == o->steps)
			write_log(run, step + 1, &totals);
		if ((step + 1) % o->checkpoint_every == 0 && step + 1 < o->steps)
			save_checkpoint(run, runner, step + 1);
	}
	nw_batch_queue_stop(queue);
	nw_progress_bar_end(&bar, step, note);
	if (step < o->steps)
	{
		save_checkpoint(run, runner, step);
		nw_info("interrupted after step %lld; checkpoint kept in \"%s\", go on with --resume",
		        (long long) step, o->checkpoint);
	}
	for (int i = 0; i < BATCHES_AHEAD; i++)
	{
		nw_choice_free(&batch[i].choice);
		free(batch[i].images);
	}
	free(log_p);
	return step == o->steps;
}

/* Let Ctrl-C and a polite kill end the run at the next step. */
static void
catch_signals(void)
{
	struct sigaction act = {.sa_handler = on_signal};

	sigemptyset(&act.sa_mask);
	act.sa_flags = (int) SA_RESETHAND; /* a second Ctrl-C ends at once */
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
}

/* Open the log, to go on after what it holds when resuming. */
static void
open_log(Run *run)
{
	if (run->o->log == NULL)
		return;
	run->log = fopen(run->o->log, run->o->resume ? "ae" : "we");
	if (run->log == NULL)
		nw_fatal("could not write to \"%s\": %s", run->o->log, strerror(errno));
}

/* Say so where an interrupted run's checkpoint is about to be replaced. */
static void
notice_checkpoint(const NwTrainSettings *o)
{
	if (!o->resume && access(o->checkpoint, F_OK) == 0)
		nw_info(
			"starting afresh: checkpoint \"%s\" of an earlier run will be replaced (--resume goes on from it)",
			o->checkpoint);
}

/* Carry out "nwhead train". */
int
nw_train(NwTrainSettings *o)
{
	Run run = {.o = o};
	NwGraph *g;
	NwStepRunner *runner;
	int64_t first = 0;
	bool done;

	nw_check_writable(o->out);
	nw_check_writable(o->checkpoint);
	notice_checkpoint(o);
	run.dataset = nw_dataset_open(&o->dataset, true);
	nw_dataset_whole(run.dataset); /* better now than in the middle of the work */
	run.rt = nw_runtime_open(o->threads, o->profile);
	if (o->backbone)
		load_backbone(&run);
	nw_train_complete(o, run.dataset);
	prepare_model(&run);
	run.sampler = nw_sampler_new(run.dataset, &run.batch, o->smoothing, o->seed);
	prepare_images(&run);
	nw_train_describe(o, run.dataset, &run.settings);
	run.device = nw_device_choose(run.rt, o->device);
	if (o->resume)
		first = nw_checkpoint_load(o->checkpoint, &run.states, &run.settings);
	open_log(&run);
	catch_signals();
	g = build_step(&run);
	runner = nw_step_runner_new(run.rt, run.device, g);
	if (!o->quiet)
		nw_info("%lld images of %d classes, %s%s%s, %d images a step, device %s",
		        (long long) run.dataset->n, run.dataset->n_classes, o->arch ? o->arch : o->backbone,
		        o->head == NW_HEAD_FC ? " with an FC head" : "",
		        o->head == NW_HEAD_FC ? ""
		        : o->shared           ? ", shared supports"
		                              : ", supports for each query",
		        nw_batch_images(&run.batch), nw_device_name(run.device));
	done = run_steps(&run, runner, first);
	if (done)
	{
		nw_step_runner_fetch(runner);
		nw_export(o->out, &run.model, &run.states, &run.pre, run.dataset, &run.settings);
		unlink(o->checkpoint);
	}
	if (run.log != NULL && fclose(run.log) != 0)
		nw_fatal("could not write to \"%s\": %s", o->log, strerror(errno));
	nw_step_runner_free(runner);
	nw_graph_free(g);
	if (run.model.backbone)
		nw_backbone_free(run.model.backbone);
	nw_sampler_free(run.sampler);
	nw_fitted_free(run.fitted);
	nw_dataset_free(run.dataset);
	nw_states_free(&run.states);
	nw_metas_free(&run.settings);
	nw_runtime_close(run.rt);
	return done ? 0 : NW_EXIT_FAILED;
}
