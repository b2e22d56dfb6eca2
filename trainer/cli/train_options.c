/*
 * cli/train_options.c: the command line of "nwhead train".
 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/message.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/train_options.h"
#include "data/jitter.h"
#include "net/builtin.h"
#include "net/kernel.h"
#include "net/model.h"
#include "net/optimizer.h"
#include "run/best.h"
#include "run/train_settings.h"

#define WHO "train"

enum
{
	OPT_OUT = NW_OPT_OWN,
	OPT_ARCH,
	OPT_BACKBONE,
	OPT_OUTPUT,
	OPT_FREEZE,
	OPT_WIDTH,
	OPT_SIZE,
	OPT_CHANNELS,
	OPT_DIM,
	OPT_MEAN,
	OPT_STD,
	OPT_HEAD,
	OPT_KERNEL,
	OPT_TAU,
	OPT_QUERIES,
	OPT_SUPPORTS,
	OPT_SHARED,
	OPT_DISTINCT,
	OPT_STEPS,
	OPT_LR,
	OPT_DROPS,
	OPT_SCHEDULE,
	OPT_WARMUP,
	OPT_OPTIMIZER,
	OPT_MOMENTUM,
	OPT_NESTEROV,
	OPT_BETAS,
	OPT_DECAY,
	OPT_CLIP,
	OPT_SMOOTHING,
	OPT_CROP,
	OPT_FLIP,
	OPT_NO_FLIP,
	OPT_RESIZE,
	OPT_BOX,
	OPT_JITTER,
	OPT_SEED,
	OPT_DEVICE,
	OPT_THREADS,
	OPT_CACHE,
	OPT_CHECKPOINT,
	OPT_EVERY,
	OPT_RESUME,
	OPT_FRESH,
	OPT_LOG,
	OPT_LOG_EVERY,
	OPT_PROFILE,
	OPT_QUIET,
	OPT_EPOCHS,
	OPT_KEEP_CHECKPOINT,
	OPT_VAL_IMAGES,
	OPT_VAL_IDX,
	OPT_VAL_TABLE,
	OPT_VAL_SHARE,
	OPT_VAL_SEED,
	OPT_VAL_EVERY,
	OPT_VAL_SUPPORTS,
	OPT_BEST_BY,
	OPT_PATIENCE
};

static const NwOption options[] = {
	{NULL, 0, NULL, "Network", NULL},
	{"arch", OPT_ARCH, "NAME", " (resnet18)", nw_arch_name},
	{"backbone", OPT_BACKBONE, "FILE.onnx", "a network to fine-tune instead", NULL},
	{"output", OPT_OUTPUT, "NAME", "the backbone's tensor to take features from (its first output)",
     NULL},
	{"freeze-norm", OPT_FREEZE, NULL, "leave the backbone's batch normalisation as it is", NULL},
	{"width", OPT_WIDTH, "N",
     "channels of the first layer, growth rate of a densenet (cnn 16, resnets 64, "
     "densenet100-small 12, densenet121 32)",
     NULL},
	{"size", OPT_SIZE, "N", "side of the images (224; small networks: as the data has it)", NULL},
	{"channels", OPT_CHANNELS, "N", "1 grey, 3 colour (as the data has it)", NULL},
	{"dim", OPT_DIM, "N", "of the embedding (128; 0: features as they are; FC: 0)", NULL},
	{"mean", OPT_MEAN, "A,B,C", "of pixels in [0,1], for each channel (measured)", NULL},
	{"std", OPT_STD, "A,B,C", "their standard deviation (measured)", NULL},

	{NULL, 0, NULL, "Loss", NULL},
	{"head", OPT_HEAD, "NAME", ": Nadaraya-Watson, or a fully connected layer as baseline (nw)",
     nw_head_name},
	{"queries", OPT_QUERIES, "N",
     "queries, or images with fc, in a step (32; 4 for images over 64; cnn 64; fc 128, 32 for "
     "images over 64)",
     NULL},
	{"supports", OPT_SUPPORTS, "N",
     "for each query, or for all with --shared (10; shared: two a class, 250 to 512; cnn 64 to 512)",
     NULL},
	{"distinct", OPT_DISTINCT, NULL, "supports for each query (all but cnn)", NULL},
	{"shared", OPT_SHARED, NULL, "one set of supports for all queries of a step (cnn)", NULL},
	{"kernel", OPT_KERNEL, "NAME", ": how the NW loss compares (euclidean)", nw_kernel_name},
	{"tau", OPT_TAU, "T",
     "temperature (1; hypersphere, cosine 0.1, as their scores span 2 / T only)", NULL},
	{"label-smoothing", OPT_SMOOTHING, "E",
     "share of the targets spread over all classes (0; the paper has 0.1)", NULL},

	{NULL, 0, NULL, "Schedule", NULL},
	{"steps", OPT_STEPS, "N", "steps to train (40000; cnn 2000)", NULL},
	{"epochs", OPT_EPOCHS, "N", "as many steps as ask about each image N times", NULL},
	{"lr", OPT_LR, "X", "learning rate (nw 0.001, cnn 0.02; fc 0.1, cnn 0.05; adamw 0.001)", NULL},
	{"schedule", OPT_SCHEDULE, "NAME", ": how it falls; cosine to 0 after the last step (drops)",
     nw_schedule_name},
	{"lr-drops", OPT_DROPS, "A,B,...",
     "steps after which it is divided by 10 (half, three quarters)", NULL},
	{"warmup", OPT_WARMUP, "N", "steps in which the rate rises to --lr (0)", NULL},
	{"optimizer", OPT_OPTIMIZER, "NAME", " (sgd)", nw_optimizer_name},
	{"momentum", OPT_MOMENTUM, "X", "of sgd (0.9)", NULL},
	{"nesterov", OPT_NESTEROV, NULL, "look ahead along the momentum", NULL},
	{"betas", OPT_BETAS, "A,B", "of adamw's two averages (0.9,0.999)", NULL},
	{"weight-decay", OPT_DECAY, "X", "of all weights (0.0001; adamw 0.01)", NULL},
	{"clip", OPT_CLIP, "X", "scale gradients down to this norm of all together (0: never)", NULL},
	{"seed", OPT_SEED, "N", "of first weights, samples and changes (0)", NULL},

	{NULL, 0, NULL, "Images, changed at random", NULL},
	{"crop", OPT_CROP, "N",
     "move images by up to N pixels at random (an eighth; cnn, and where they are cut, 0)", NULL},
	{"flip", OPT_FLIP, NULL, "mirror half of the images (all but cnn)", NULL},
	{"no-flip", OPT_NO_FLIP, NULL, "mirror none (cnn)", NULL},
	{"resize", OPT_RESIZE, "N",
     "scale the shorter side to N, and cut a window of --size at random (no margin)", NULL},
	{"random-resized-crop", OPT_BOX, "[MIN]",
     "resize a box of at least this share of the area to --size (none; MIN 0.08)", NULL},
	{"jitter", OPT_JITTER, "B,C,S[,H]",
     "change brightness, contrast and saturation by factors of 1 - X to 1 + X, and the hue by up "
     "to H turns (no change)",
     NULL},

	{NULL, 0, NULL, "Held-out images, to judge the network by while it is trained", NULL},
	{"val-images", OPT_VAL_IMAGES, "DIR", "a folder of them, beside --images", NULL},
	{"val-idx", OPT_VAL_IDX, "FILE FILE", "two files of them, beside --idx", NULL},
	{"val-table", OPT_VAL_TABLE, "REL", "a table of them, beside --table, with the same columns",
     NULL},
	{"val-share", OPT_VAL_SHARE, "X", "or this share of each class of the training images", NULL},
	{"val-seed", OPT_VAL_SEED, "N", "which ones (0)", NULL},
	{"val-every", OPT_VAL_EVERY, "N", "steps from one look to the next (500); also at the end",
     NULL},
	{"val-supports", OPT_VAL_SUPPORTS, "N",
     "at most so many training images answer, evenly drawn (10000; 0: all)", NULL},
	{"best-by", OPT_BEST_BY, "NAME", ": what makes a model the best, kept as FILE.best.onnx (nll)",
     nw_best_by_name},
	{"patience", OPT_PATIENCE, "N", "stop after N looks without a better model", NULL},

	{NULL, 0, NULL, "Run", NULL},
	{"out", OPT_OUT, "FILE.onnx", "the trained model", NULL},
	{"device", OPT_DEVICE, "NAME", " (auto: the fastest that works)", nw_device_name},
	{"threads", OPT_THREADS, "N", "threads to use (one for each core)", NULL},
	{"cache", OPT_CACHE, "MB", "memory for decoded images (2048)", NULL},
	{"checkpoint", OPT_CHECKPOINT, "FILE",
     "kept when interrupted, removed at the end (that of --out with .ckpt)", NULL},
	{"keep-checkpoint", OPT_KEEP_CHECKPOINT, NULL, "keep it at the end, too", NULL},
	{"checkpoint-every", OPT_EVERY, "N", "steps (1000)", NULL},
	{"resume", OPT_RESUME, NULL,
     "go on from the checkpoint, to the same result, or with more --steps", NULL},
	{"fresh", OPT_FRESH, NULL, "begin anew where a checkpoint is, and replace it", NULL},
	{"log", OPT_LOG, "FILE",
     "JSON lines: step, loss, accuracy, lr, images_per_second; val_error, val_ece, val_nll", NULL},
	{"log-every", OPT_LOG_EVERY, "N", "steps from one line to the next (50)", NULL},
	{"profile", OPT_PROFILE, "PREFIX", "write ONNX Runtime's profile", NULL},
	{"quiet", OPT_QUIET, NULL, "no progress", NULL},
	{NULL, 0, NULL, NULL, NULL}};

/* Take an option about held-out images. */
static void
take_validation(NwTrainSettings *o, int code)
{
	switch (code)
	{
		case OPT_VAL_IMAGES:
			o->val.folder = optarg;
			break;
		case OPT_VAL_IDX:
			o->val.idx_images = optarg;
			o->val.idx_labels = nw_second_value(WHO, "val-idx");
			break;
		case OPT_VAL_TABLE:
			o->val.table = optarg;
			break;
		case OPT_VAL_SHARE:
			o->val_share = nw_parse_double(WHO, "val-share", optarg, 0.001, 0.9);
			break;
		case OPT_VAL_SEED:
			o->val_seed = (uint64_t) nw_parse_int(WHO, "val-seed", optarg, 0, INT64_MAX);
			break;
		case OPT_VAL_EVERY:
			o->val_every = nw_parse_int(WHO, "val-every", optarg, 1, INT64_MAX);
			break;
		case OPT_VAL_SUPPORTS:
			o->val_supports = nw_parse_int(WHO, "val-supports", optarg, 0, INT64_MAX);
			break;
		case OPT_BEST_BY:
			o->best_by = nw_parse_word(WHO, "best-by", optarg, nw_best_by_name);
			break;
		case OPT_PATIENCE:
			o->patience = nw_parse_int(WHO, "patience", optarg, 1, 1000000);
			break;
	}
}

/* Read how far colours are changed. */
static void
take_jitter(NwJitter *j)
{
	static const char wants[] = "numbers from 0 to 100, a hue to 0.5";
	int n;

	*j = (NwJitter) {0};
	n = nw_parse_list(WHO, "jitter", optarg, wants, j->most, NW_JITTERS);

	if (n < NW_HUE)
		nw_usage_error(WHO, "option --jitter wants three or four numbers: B,C,S[,H]");
	for (int i = 0; i < n; i++)
		if (j->most[i] < 0 || j->most[i] > (i == NW_HUE ? 0.5 : 100))
			nw_usage_error(WHO, "option --jitter wants %s, not \"%s\"", wants, optarg);
}

/* Read the shares of adamw's averages that are kept. */
static void
take_betas(double *into)
{
	static const char wants[] = "two numbers from 0 to below 1";
	double beta[2];
	int n = nw_parse_list(WHO, "betas", optarg, wants, beta, 2);

	for (int i = 0; i < 2; i++)
	{
		if (n != 2 || !(beta[i] >= 0 && beta[i] < 1))
			nw_usage_error(WHO, "option --betas wants %s, not \"%s\"", wants, optarg);
		into[i] = beta[i];
	}
}

/* Read the steps after which the rate is divided. */
static void
take_drops(NwTrainSettings *o)
{
	static const char wants[] = "numbers of steps, at least 1";

	o->n_drops = nw_parse_list(WHO, "lr-drops", optarg, wants, o->drops, NW_MAX_DROPS);
	for (int i = 0; i < o->n_drops; i++)
		if (o->drops[i] < 1)
			nw_usage_error(WHO, "option --lr-drops wants %s, not \"%s\"", wants, optarg);
	if (o->n_drops == 0)
		nw_usage_error(WHO, "option --lr-drops wants %s, not \"%s\"", wants, optarg);
}

static void
take(void *into, int code)
{
	NwTrainSettings *o = into;

	switch (code)
	{
		case OPT_OUT:
			o->out = optarg;
			break;
		case OPT_ARCH:
			o->arch = optarg;
			break;
		case OPT_BACKBONE:
			o->backbone = optarg;
			break;
		case OPT_OUTPUT:
			o->output = optarg;
			break;
		case OPT_FREEZE:
			o->freeze_norm = true;
			break;
		case OPT_WIDTH:
			o->width = (int) nw_parse_int(WHO, "width", optarg, 1, 4096);
			break;
		case OPT_SIZE:
			o->size = (int) nw_parse_int(WHO, "size", optarg, 8, NW_MOST_SIZE);
			break;
		case OPT_CHANNELS:
			o->channels = (int) nw_parse_int(WHO, "channels", optarg, 1, 3);
			if (o->channels == 2)
				nw_usage_error(WHO, "option --channels wants 1 or 3");
			break;
		case OPT_DIM:
			o->dim = (int) nw_parse_int(WHO, "dim", optarg, 0, NW_MAX_VECTOR_DIM);
			break;
		case OPT_MEAN:
			o->n_mean = nw_parse_list(WHO, "mean", optarg, "numbers", o->mean, 3);
			break;
		case OPT_STD:
			o->n_std = nw_parse_list(WHO, "std", optarg, "numbers", o->std, 3);
			break;
		case OPT_HEAD:
			o->head = (NwHead) nw_parse_word(WHO, "head", optarg, nw_head_name);
			break;
		case OPT_KERNEL:
			o->kernel = (NwKernel) nw_parse_word(WHO, "kernel", optarg, nw_kernel_name);
			o->kernel_given = true;
			break;
		case OPT_TAU:
			o->tau = nw_parse_double(WHO, "tau", optarg, 1e-6, 1e6);
			break;
		case OPT_QUERIES:
			o->queries = (int) nw_parse_int(WHO, "queries", optarg, 1, 65536);
			break;
		case OPT_SUPPORTS:
			o->supports = (int) nw_parse_int(WHO, "supports", optarg, 2, 65536);
			break;
		case OPT_SHARED:
		case OPT_DISTINCT:
			if (o->shared == (code != OPT_SHARED))
				nw_usage_error(WHO, "only one of --shared and --distinct can be given");
			o->shared = code == OPT_SHARED;
			break;
		case OPT_STEPS:
			o->steps = nw_parse_int(WHO, "steps", optarg, 1, INT64_C(1) << 40);
			break;
		case OPT_LR:
			o->lr = nw_parse_double(WHO, "lr", optarg, 0, 1e6);
			break;
		case OPT_DROPS:
			take_drops(o);
			break;
		case OPT_SCHEDULE:
			o->schedule = (NwSchedule) nw_parse_word(WHO, "schedule", optarg, nw_schedule_name);
			break;
		case OPT_WARMUP:
			o->warmup = nw_parse_int(WHO, "warmup", optarg, 0, INT64_C(1) << 40);
			break;
		case OPT_OPTIMIZER:
			o->optimizer.kind =
				(NwOptimizerKind) nw_parse_word(WHO, "optimizer", optarg, nw_optimizer_name);
			break;
		case OPT_MOMENTUM:
			o->optimizer.momentum = nw_parse_double(WHO, "momentum", optarg, 0, 1);
			break;
		case OPT_NESTEROV:
			o->optimizer.nesterov = true;
			break;
		case OPT_BETAS:
			take_betas(o->optimizer.beta);
			break;
		case OPT_DECAY:
			o->optimizer.weight_decay = nw_parse_double(WHO, "weight-decay", optarg, 0, 1);
			break;
		case OPT_CLIP:
			o->optimizer.clip = nw_parse_double(WHO, "clip", optarg, 0, 1e9);
			break;
		case OPT_SMOOTHING:
			o->smoothing = nw_parse_double(WHO, "label-smoothing", optarg, 0, 0.999);
			break;
		case OPT_CROP:
			o->crop = (int) nw_parse_int(WHO, "crop", optarg, 0, 1024);
			break;
		case OPT_FLIP:
			o->flip = 1;
			break;
		case OPT_NO_FLIP:
			o->flip = 0;
			break;
		case OPT_RESIZE:
			o->augment.resize = (int) nw_parse_int(WHO, "resize", optarg, 8, 8192);
			break;
		case OPT_BOX:
			o->augment.least =
				optarg ? nw_parse_double(WHO, "random-resized-crop", optarg, 1e-4, 1) : 0.08;
			break;
		case OPT_JITTER:
			take_jitter(&o->augment.jitter);
			break;
		case OPT_SEED:
			o->seed = (uint64_t) nw_parse_int(WHO, "seed", optarg, 0, INT64_MAX);
			break;
		case OPT_DEVICE:
			o->device = nw_parse_device(WHO, optarg);
			break;
		case OPT_THREADS:
			o->threads = (int) nw_parse_int(WHO, "threads", optarg, 1, 1024);
			break;
		case OPT_CACHE:
			o->kept_mb = nw_parse_int(WHO, "cache", optarg, 0, INT64_C(1) << 30);
			break;
		case OPT_CHECKPOINT:
			o->checkpoint = optarg;
			break;
		case OPT_EVERY:
			o->checkpoint_every = nw_parse_int(WHO, "checkpoint-every", optarg, 1, INT64_MAX);
			break;
		case OPT_RESUME:
			o->resume = true;
			break;
		case OPT_FRESH:
			o->fresh = true;
			break;
		case OPT_LOG:
			o->log = optarg;
			break;
		case OPT_LOG_EVERY:
			o->log_every = nw_parse_int(WHO, "log-every", optarg, 1, INT64_MAX);
			break;
		case OPT_PROFILE:
			o->profile = optarg;
			break;
		case OPT_QUIET:
			o->quiet = true;
			break;
		case OPT_EPOCHS:
			o->epochs = nw_parse_int(WHO, "epochs", optarg, 1, 1000000);
			break;
		case OPT_KEEP_CHECKPOINT:
			o->keep_checkpoint = true;
			break;
		default:
			take_validation(o, code);
			break;
	}
}

const NwSubcommand nw_train_command = {
	.name = WHO,
	.purpose = "train a feature extractor with the Nadaraya-Watson loss",
	.synopsis = "SOURCE --out FILE.onnx [OPTION]...",
	.table_option = "table",
	.options = options,
	.take = take,
};

/* Check that options of the update and the schedule go together. */
static void
check_update(const NwTrainSettings *o)
{
	const NwOptimizer *opt = &o->optimizer;

	if (opt->kind != NW_SGD && (opt->momentum >= 0 || opt->nesterov))
		nw_usage_error(WHO, "--momentum and --nesterov go with --optimizer sgd");
	if (opt->kind != NW_ADAMW && opt->beta[0] >= 0)
		nw_usage_error(WHO, "--betas goes with --optimizer adamw");
	if (opt->nesterov && opt->momentum == 0)
		nw_usage_error(WHO, "--nesterov wants a --momentum above 0");
	if (o->schedule != NW_DROPS && o->n_drops >= 0)
		nw_usage_error(WHO, "--lr-drops goes with --schedule drops");
}

/* Check that held-out images are named once, and of the same kind as those to train on. */
static void
check_validation(NwTrainSettings *o)
{
	NwDatasetOptions *v = &o->val;
	const char *kind = v->folder ? "images" : v->idx_images ? "idx" : "table";
	int n = (v->folder != NULL) + (v->idx_images != NULL) + (v->table != NULL) + (o->val_share > 0);

	if (n > 1)
		nw_usage_error(
			WHO, "only one of --val-images, --val-idx, --val-table and --val-share can be given");
	if (n == 0 && (o->val_every > 0 || o->val_supports >= 0 || o->best_by >= 0 || o->patience > 0))
		nw_usage_error(
			WHO, "--val-every, --val-supports, --best-by and --patience need held-out images: "
				 "give --val-images, --val-idx, --val-table or --val-share");
	if (o->val_seed > 0 && o->val_share == 0)
		nw_usage_error(WHO, "--val-seed goes with --val-share");
	if (o->head == NW_HEAD_FC && o->val_supports >= 0)
		nw_usage_error(WHO, "--val-supports goes with --head nw");
	if ((v->folder && !o->dataset.folder) || (v->idx_images && !o->dataset.idx_images) ||
	    (v->table && !o->dataset.table))
		nw_usage_error(WHO, "--val-%s goes with --%s", kind, kind);
	v->class_names = o->dataset.class_names;
	v->image_column = o->dataset.image_column;
	v->label_column = o->dataset.label_column;
	v->id_column = o->dataset.id_column;
	v->dsn = o->dataset.dsn;
}

/* Check that no file that is written is another one, too, or one that is read. */
static void
check_files(const NwTrainSettings *o)
{
	char *best = nw_best_path(o->out);
	const struct
	{
		const char *what;
		const char *path;
		bool written;
	} file[] = {{"--out", o->out, true},
	            {"the best model beside --out", nw_train_validates(o) ? best : NULL, true},
	            {"--checkpoint", o->checkpoint, true},
	            {"--log", o->log, true},
	            {"--backbone", o->backbone, false},
	            {"--idx", o->dataset.idx_images, false},
	            {"--idx", o->dataset.idx_labels, false},
	            {"--class-names", o->dataset.class_names, false},
	            {"--val-idx", o->val.idx_images, false},
	            {"--val-idx", o->val.idx_labels, false}};

	for (int i = 0; i < NW_LENGTH(file); i++)
	{
		if (file[i].written && file[i].path && file[i].path[0] == 0)
			nw_usage_error(WHO, "%s wants the name of a file", file[i].what);
		if (file[i].written && file[i].path && nw_image_is_at(file[i].path))
			nw_usage_error(WHO, "%s is a picture, \"%s\", which would be replaced", file[i].what,
			               file[i].path);
		for (int k = 0; k < i; k++)
			if (file[k].written && file[i].path && file[k].path &&
			    nw_same_file(file[i].path, file[k].path))
				nw_usage_error(WHO, "%s and %s are the same file, \"%s\"", file[k].what,
				               file[i].what, file[i].path);
	}
	free(best);
}

void
nw_train_options(int argc, char **argv, NwTrainSettings *o)
{
	*o = (NwTrainSettings) {.dim = -1,
	                        .tau = -1,
	                        .shared = -1,
	                        .lr = -1,
	                        .n_drops = -1,
	                        .optimizer = {.momentum = -1, .beta = {-1}, .weight_decay = -1},
	                        .crop = -1,
	                        .flip = -1,
	                        .kept_mb = 2048,
	                        .checkpoint_every = 1000,
	                        .log_every = 50,
	                        .val_supports = -1,
	                        .best_by = -1};
	nw_options_read(&nw_train_command, argc, argv, &o->dataset, o);
	nw_options_check_dataset(&nw_train_command, &o->dataset, true);
	if (o->out == NULL)
		nw_usage_error(WHO, "--out must be given");
	if (o->arch && o->backbone)
		nw_usage_error(WHO, "only one of --arch and --backbone can be given");
	if (!o->backbone && (o->output || o->freeze_norm))
		nw_usage_error(WHO, "--output and --freeze-norm go with --backbone");
	if (o->backbone && o->width > 0)
		nw_usage_error(WHO, "--width goes with --arch");
	if (!o->arch && !o->backbone)
		o->arch = "resnet18";
	if (o->arch && nw_arch_find(o->arch) == NULL)
		nw_usage_error(WHO, "there is no architecture \"%s\"", o->arch);
	if (o->head == NW_HEAD_FC && (o->supports || o->shared >= 0))
		nw_usage_error(WHO, "--supports, --shared and --distinct go with --head nw");
	if (o->crop > 0 && (o->augment.resize != 0 || o->augment.least > 0))
		nw_usage_error(WHO, "--crop does not go with --resize and --random-resized-crop");
	if (o->head == NW_HEAD_FC && (o->kernel_given || o->tau >= 0))
		nw_usage_error(WHO, "--%s goes with --head nw", o->kernel_given ? "kernel" : "tau");
	check_update(o);
	if (o->steps > 0 && o->epochs > 0)
		nw_usage_error(WHO, "only one of --steps and --epochs can be given");
	if (o->resume && o->fresh)
		nw_usage_error(WHO, "only one of --resume and --fresh can be given");
	check_validation(o);
	if (o->checkpoint == NULL)
		o->checkpoint = nw_printf("%s.ckpt", o->out);
	check_files(o);
}
