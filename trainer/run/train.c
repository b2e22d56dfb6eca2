/*
 * run/train.c: the subcommand "train".
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/sampler.h"
#include "run/batch_queue.h"
#include "run/progress_bar.h"
#include "run/step_runner.h"
#include "run/train.h"

#define STREAM_AUGMENT 3
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
	NwTrainOptions o;
	NwSource *source;
	NwCache *cache;
	NwPreprocess pre;
	NwModelSpec spec;
	NwBatchSpec batch;
	NwSampler *sampler;
	NwStates states;
	NwMetas settings;
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

/* Make the batch of a step: choose images, then move and mirror them at random. */
static char *
fill_batch(void *arg, int64_t step, void *slot)
{
	Run *run = arg;
	Batch *b = slot;
	NwRng r = nw_rng(run->o.seed, STREAM_AUGMENT, (uint64_t) step);
	size_t size = (size_t) run->pre.channels * (size_t) run->pre.height * (size_t) run->pre.width;
	char *why = nw_sampler_draw(run->sampler, step, &b->choice);

	for (int i = 0; i < nw_batch_images(&run->batch) && why == NULL; i++)
	{
		int reach = 2 * run->o.crop + 1;
		int dy = (int) nw_rng_below(&r, (uint32_t) reach) - run->o.crop;
		int dx = (int) nw_rng_below(&r, (uint32_t) reach) - run->o.crop;
		bool mirror = run->o.flip && nw_rng_below(&r, 2);

		why = nw_cache_tensor(run->cache, b->choice.image[i], dy, dx, mirror,
		                      b->images + (size_t) i * size);
	}
	return why;
}

/* Settle what comes before the network: size, channels, mean and deviation. */
static void
prepare_images(Run *run)
{
	NwTrainOptions *o = &run->o;
	NwPreprocess *p = &run->pre;

	*p = (NwPreprocess) {.channels = o->channels, .height = o->size, .width = o->size, .zoom = 1};
	if ((o->n_mean && o->n_mean != o->channels) || (o->n_std && o->n_std != o->channels))
		nw_usage_error("train", "--mean and --std want %d numbers", o->channels);
	for (int i = 0; i < 3; i++)
		p->std[i] = 1;
	run->cache = nw_cache_new(run->source, p, (size_t) o->cache_mb << 20);
	nw_cache_statistics(run->cache, p->mean, p->std);
	if (o->n_mean)
		memcpy(p->mean, o->mean, sizeof(p->mean));
	if (o->n_std)
		memcpy(p->std, o->std, sizeof(p->std));
	for (int i = 0; i < o->channels; i++)
		if (p->std[i] <= 0)
			nw_usage_error("train", "--std wants numbers above 0");
	run->cache->pre = *p;
}

/* Load the backbone and take its input's size where none was asked for. */
static void
load_backbone(Run *run)
{
	NwTrainOptions *o = &run->o;
	int channels;
	int height;
	int width;

	run->spec.backbone = nw_backbone_load(run->rt, o->backbone, o->output, o->freeze_norm);
	nw_backbone_input(run->spec.backbone, &channels, &height, &width);
	if (channels != 0 && channels != 1 && channels != 3)
		nw_fatal("\"%s\" wants images of %d channels: 1 or 3 are supported", o->backbone, channels);
	if (channels != 0 && o->channels == 0)
		o->channels = channels;
	if (height != 0 && o->size == 0)
		o->size = height;
}

/* Settle the network and the batch. */
static void
prepare_spec(Run *run)
{
	const NwTrainOptions *o = &run->o;
	int classes = run->source->n_classes;

	if (o->arch)
		run->spec.net = (NwNet) {.arch = nw_arch_find(o->arch), .width = o->width};
	run->spec.channels = o->channels;
	run->spec.height = run->spec.width = o->size;
	run->spec.dim = o->dim;
	run->spec.head = o->head;
	run->spec.classes = classes;
	run->spec.tau = o->tau;
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
		nw_graph_new(NW_FOR_TRAINING, run->device != NW_DEVICE_CPU, &run->states, run->o.seed);

	nw_backward(g, nw_step_loss(g, &run->spec, &run->batch));
	nw_step_update(g, run->o.momentum, run->o.weight_decay);
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
typedef struct Tally
{
	double loss;
	int64_t right;
	int64_t steps;
	double since;
} Tally;

/* Write a line of the log and start a new tally. */
static void
write_log(Run *run, int64_t step, Tally *t)
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
			nw_train_lr(&run->o, step - 1),
			(double) (t->steps * nw_batch_images(&run->batch)) / seconds);
		if (fflush(run->log) != 0)
			nw_fatal("could not write to \"%s\": %s", run->o.log, strerror(errno));
	}
	*t = (Tally) {.since = now};
}

/* Keep the states so that the run can go on from here. */
static void
save_checkpoint(Run *run, NwStepper *stepper, int64_t step)
{
	nw_stepper_fetch(stepper);
	nw_checkpoint_save(run->o.checkpoint, &run->states, &run->settings, step);
}

/* Run the steps; false if interrupted. */
static bool
run_steps(Run *run, NwStepper *stepper, int64_t first)
{
	const NwTrainOptions *o = &run->o;
	size_t size = (size_t) run->pre.channels * (size_t) run->pre.height * (size_t) run->pre.width;
	Batch batch[BATCHES_AHEAD];
	void *slots[BATCHES_AHEAD];
	float *log_p =
		nw_alloc((size_t) run->batch.queries * (size_t) run->batch.slots * sizeof(float));
	NwPipe *pipe;
	NwProgress progress;
	Tally tally = {.since = nw_now()};
	double smooth = 0;
	char note[64] = "";
	int64_t step;

	for (int i = 0; i < BATCHES_AHEAD; i++)
	{
		nw_choice_init(&batch[i].choice, &run->batch);
		batch[i].images = nw_alloc((size_t) nw_batch_images(&run->batch) * size * sizeof(float));
		slots[i] = &batch[i];
	}
	pipe = nw_pipe_start(fill_batch, run, first, o->steps, slots, BATCHES_AHEAD, 1);
	progress = nw_progress_start("step", first, o->steps, o->quiet);
	for (step = first; step < o->steps && !interrupted; step++)
	{
		Batch *b = nw_pipe_take(pipe);
		NwStepInputs in = {b->images, b->choice.targets, b->choice.member,
		                   (float) nw_train_lr(o, step)};
		float loss;

		nw_stepper_run(stepper, &in, &loss, log_p);
		if (!(loss - loss == 0)) /* infinite, or not a number */
			nw_fatal("the loss is no longer a number at step %lld: try a smaller --lr",
			         (long long) step + 1);
		tally.loss += loss;
		tally.right += count_right(run, &b->choice, log_p);
		tally.steps++;
		nw_pipe_return(pipe);
		smooth = step == first ? loss : 0.98 * smooth + 0.02 * loss;
		snprintf(note, sizeof(note), "loss %.4f", smooth);
		nw_progress_show(&progress, step + 1, note);
		if ((step + 1) % o->log_every == 0 || step + 1 == o->steps)
			write_log(run, step + 1, &tally);
		if ((step + 1) % o->checkpoint_every == 0 && step + 1 < o->steps)
			save_checkpoint(run, stepper, step + 1);
	}
	nw_pipe_stop(pipe);
	nw_progress_end(&progress, step, note);
	if (step < o->steps)
	{
		save_checkpoint(run, stepper, step);
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
	if (run->o.log == NULL)
		return;
	run->log = fopen(run->o.log, run->o.resume ? "ae" : "we");
	if (run->log == NULL)
		nw_fatal("could not write to \"%s\": %s", run->o.log, strerror(errno));
}

/* Say so where an interrupted run's checkpoint is about to be replaced. */
static void
notice_checkpoint(const NwTrainOptions *o)
{
	if (!o->resume && access(o->checkpoint, F_OK) == 0)
		nw_info(
			"starting afresh: checkpoint \"%s\" of an earlier run will be replaced (--resume goes on from it)",
			o->checkpoint);
}

/* Carry out "nwhead train". */
int
nw_train_main(int argc, char **argv)
{
	Run run = {0};
	NwGraph *g;
	NwStepper *stepper;
	int64_t first = 0;
	bool done;

	nw_train_parse(argc, argv, &run.o);
	nw_check_writable(run.o.out);
	nw_check_writable(run.o.checkpoint);
	notice_checkpoint(&run.o);
	run.source = nw_source_open(&run.o.source, true);
	nw_source_whole(run.source); /* better now than in the middle of the work */
	run.rt = nw_runtime_open(run.o.threads, run.o.profile);
	if (run.o.backbone)
		load_backbone(&run);
	nw_train_defaults(&run.o, run.source);
	prepare_spec(&run);
	run.sampler = nw_sampler_new(run.source, &run.batch, run.o.smoothing, run.o.seed);
	prepare_images(&run);
	nw_train_settings(&run.o, run.source, &run.settings);
	run.device = nw_device_choose(run.rt, run.o.device);
	if (run.o.resume)
		first = nw_checkpoint_load(run.o.checkpoint, &run.states, &run.settings);
	open_log(&run);
	catch_signals();
	g = build_step(&run);
	stepper = nw_stepper_new(run.rt, run.device, g);
	if (!run.o.quiet)
		nw_info("%lld images of %d classes, %s%s%s, %d images a step, device %s",
		        (long long) run.source->n, run.source->n_classes,
		        run.o.arch ? run.o.arch : run.o.backbone,
		        run.o.head == NW_HEAD_FC ? " with an FC head" : "",
		        run.o.head == NW_HEAD_FC ? ""
		        : run.o.shared           ? ", shared supports"
		                                 : ", supports for each query",
		        nw_batch_images(&run.batch), nw_device_name(run.device));
	done = run_steps(&run, stepper, first);
	if (done)
	{
		nw_stepper_fetch(stepper);
		nw_export(run.o.out, &run.spec, &run.states, &run.pre, run.source, &run.settings);
		unlink(run.o.checkpoint);
	}
	if (run.log != NULL && fclose(run.log) != 0)
		nw_fatal("could not write to \"%s\": %s", run.o.log, strerror(errno));
	nw_stepper_free(stepper);
	nw_graph_free(g);
	if (run.spec.backbone)
		nw_backbone_free(run.spec.backbone);
	nw_sampler_free(run.sampler);
	nw_cache_free(run.cache);
	nw_source_free(run.source);
	nw_states_free(&run.states);
	nw_metas_free(&run.settings);
	nw_runtime_close(run.rt);
	return done ? 0 : NW_EXIT_FAILED;
}
