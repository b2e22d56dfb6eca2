/*
 * cli/train_options.c: the command line of "nwhead train".
 */
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/message.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/train_options.h"
#include "net/builtin.h"
#include "net/model.h"
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
	OPT_TAU,
	OPT_QUERIES,
	OPT_SUPPORTS,
	OPT_SHARED,
	OPT_DISTINCT,
	OPT_STEPS,
	OPT_LR,
	OPT_DROPS,
	OPT_MOMENTUM,
	OPT_DECAY,
	OPT_SMOOTHING,
	OPT_CROP,
	OPT_FLIP,
	OPT_NO_FLIP,
	OPT_SEED,
	OPT_DEVICE,
	OPT_THREADS,
	OPT_CACHE,
	OPT_CHECKPOINT,
	OPT_EVERY,
	OPT_RESUME,
	OPT_LOG,
	OPT_LOG_EVERY,
	OPT_PROFILE,
	OPT_QUIET
};

static const struct option long_options[] = {
	NW_SHARED_OPTIONS,
	{"table", required_argument, NULL, NW_OPT_TABLE},
	{"out", required_argument, NULL, OPT_OUT},
	{"arch", required_argument, NULL, OPT_ARCH},
	{"backbone", required_argument, NULL, OPT_BACKBONE},
	{"output", required_argument, NULL, OPT_OUTPUT},
	{"freeze-norm", no_argument, NULL, OPT_FREEZE},
	{"width", required_argument, NULL, OPT_WIDTH},
	{"size", required_argument, NULL, OPT_SIZE},
	{"channels", required_argument, NULL, OPT_CHANNELS},
	{"dim", required_argument, NULL, OPT_DIM},
	{"mean", required_argument, NULL, OPT_MEAN},
	{"std", required_argument, NULL, OPT_STD},
	{"head", required_argument, NULL, OPT_HEAD},
	{"tau", required_argument, NULL, OPT_TAU},
	{"queries", required_argument, NULL, OPT_QUERIES},
	{"supports", required_argument, NULL, OPT_SUPPORTS},
	{"shared", no_argument, NULL, OPT_SHARED},
	{"distinct", no_argument, NULL, OPT_DISTINCT},
	{"steps", required_argument, NULL, OPT_STEPS},
	{"lr", required_argument, NULL, OPT_LR},
	{"lr-drops", required_argument, NULL, OPT_DROPS},
	{"momentum", required_argument, NULL, OPT_MOMENTUM},
	{"weight-decay", required_argument, NULL, OPT_DECAY},
	{"label-smoothing", required_argument, NULL, OPT_SMOOTHING},
	{"crop", required_argument, NULL, OPT_CROP},
	{"flip", no_argument, NULL, OPT_FLIP},
	{"no-flip", no_argument, NULL, OPT_NO_FLIP},
	{"seed", required_argument, NULL, OPT_SEED},
	{"device", required_argument, NULL, OPT_DEVICE},
	{"threads", required_argument, NULL, OPT_THREADS},
	{"cache", required_argument, NULL, OPT_CACHE},
	{"checkpoint", required_argument, NULL, OPT_CHECKPOINT},
	{"checkpoint-every", required_argument, NULL, OPT_EVERY},
	{"resume", no_argument, NULL, OPT_RESUME},
	{"log", required_argument, NULL, OPT_LOG},
	{"log-every", required_argument, NULL, OPT_LOG_EVERY},
	{"profile", required_argument, NULL, OPT_PROFILE},
	{"quiet", no_argument, NULL, OPT_QUIET},
	{NULL, 0, NULL, 0}};

static void
usage(void)
{
	printf("nwhead train: train a feature extractor with the Nadaraya-Watson loss.\n\n"
	       "Usage:\n"
	       "  nwhead train SOURCE --out FILE.onnx [OPTION]...\n\n");
	nw_options_dataset_usage("table");
	printf("Network:\n"
	       "  --arch NAME               ");
	for (int i = 0; i < nw_n_archs; i++)
		printf("%s%s", i ? ", " : "", nw_archs[i].name);
	printf(
		"\n"
		"  --backbone FILE.onnx      a network to fine-tune instead\n"
		"  --output NAME             the backbone's tensor to take features from (its first output)\n"
		"  --freeze-norm             leave the backbone's batch normalisation as it is\n"
		"  --width N                 channels of the first layer (cnn 16, resnet18 64, densenet121 32)\n"
		"  --size N                  side of the images (224; small networks: as the data has it)\n"
		"  --channels N              1 grey, 3 colour (as the data has it)\n"
		"  --dim N                   of the embedding (128; 0: features as they are; FC: 0)\n"
		"  --mean A,B,C --std A,B,C  of pixels in [0,1] (measured)\n\n"
		"Loss:\n"
		"  --head nw|fc              Nadaraya-Watson, or a fully connected layer as baseline (nw)\n"
		"  --queries N               queries, or images with fc, in a step (32; 4 for images over 64;\n"
		"                            cnn 64; fc 128, 32 for images over 64)\n"
		"  --supports N              for each query, or for all with --shared (10; shared 250; cnn 64)\n"
		"  --distinct, --shared      supports for each query, or one set for all (distinct; cnn shared)\n"
		"  --tau T                   temperature (1)\n"
		"  --label-smoothing E       (0; the paper's value is 0.1)\n\n"
		"Schedule:\n"
		"  --steps N                 (40000; cnn 2000)\n"
		"  --lr X                    (nw 0.001, cnn 0.02; fc 0.1, cnn 0.05)\n"
		"  --lr-drops A,B,...        steps after which it is divided by 10 (half, three quarters)\n"
		"  --momentum X              (0.9)\n"
		"  --weight-decay X          (0.0001)\n"
		"  --crop N                  move images by up to N pixels at random (an eighth; cnn 0)\n"
		"  --flip, --no-flip         mirror half of the images (yes; cnn no)\n"
		"  --seed N                  (0)\n\n"
		"Run:\n"
		"  --out FILE.onnx           the trained model\n"
		"  --device NAME             auto, cpu, webgpu, cuda (auto: the fastest that works)\n"
		"  --threads N               (one for each core)\n"
		"  --cache MB                memory for decoded images (2048)\n"
		"  --checkpoint FILE         (FILE.onnx.ckpt); kept when interrupted, removed at the end\n"
		"  --checkpoint-every N      steps (1000)\n"
		"  --resume                  go on from the checkpoint, to the same result\n"
		"  --log FILE                one JSON line for every --log-every N steps (50)\n"
		"  --profile PREFIX          write ONNX Runtime's profile\n"
		"  --quiet                   no progress\n"
		"  --help\n");
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
			o->size = (int) nw_parse_int(WHO, "size", optarg, 8, 4096);
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
			o->n_mean = nw_parse_list(WHO, "mean", optarg, o->mean, 3);
			break;
		case OPT_STD:
			o->n_std = nw_parse_list(WHO, "std", optarg, o->std, 3);
			break;
		case OPT_HEAD:
			if (strcmp(optarg, "nw") != 0 && strcmp(optarg, "fc") != 0)
				nw_usage_error(WHO, "option --head wants nw or fc, not \"%s\"", optarg);
			o->head = strcmp(optarg, "fc") == 0 ? NW_HEAD_FC : NW_HEAD_NW;
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
			o->shared = 1;
			break;
		case OPT_DISTINCT:
			o->shared = 0;
			break;
		case OPT_STEPS:
			o->steps = nw_parse_int(WHO, "steps", optarg, 1, INT64_C(1) << 40);
			break;
		case OPT_LR:
			o->lr = nw_parse_double(WHO, "lr", optarg, 0, 1e6);
			break;
		case OPT_DROPS:
			o->n_drops = nw_parse_list(WHO, "lr-drops", optarg, o->drops, NW_MAX_DROPS);
			break;
		case OPT_MOMENTUM:
			o->momentum = nw_parse_double(WHO, "momentum", optarg, 0, 1);
			break;
		case OPT_DECAY:
			o->weight_decay = nw_parse_double(WHO, "weight-decay", optarg, 0, 1);
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
	}
}

void
nw_train_options(int argc, char **argv, NwTrainSettings *o)
{
	static const NwSubcommand self = {WHO, long_options, usage, take};

	*o = (NwTrainSettings) {.dim = -1,
	                        .tau = 1,
	                        .shared = -1,
	                        .lr = -1,
	                        .n_drops = -1,
	                        .momentum = 0.9,
	                        .weight_decay = 1e-4,
	                        .crop = -1,
	                        .flip = -1,
	                        .kept_mb = 2048,
	                        .checkpoint_every = 1000,
	                        .log_every = 50};
	nw_options_read(&self, argc, argv, &o->dataset, o);
	nw_options_check_dataset(WHO, &o->dataset, "table", true);
	if (o->out == NULL)
		nw_usage_error(WHO, "--out must be given");
	if (o->arch && o->backbone)
		nw_usage_error(WHO, "only one of --arch and --backbone can be given");
	if (!o->backbone && (o->output || o->freeze_norm))
		nw_usage_error(WHO, "--output and --freeze-norm go with --backbone");
	if (!o->arch && !o->backbone)
		o->arch = "resnet18";
	if (o->arch && nw_arch_find(o->arch) == NULL)
		nw_usage_error(WHO, "there is no architecture \"%s\"", o->arch);
	if (o->head == NW_HEAD_FC && (o->supports || o->shared >= 0))
		nw_usage_error(WHO, "--supports, --shared and --distinct go with --head nw");
	if (o->checkpoint == NULL)
		o->checkpoint = nw_printf("%s.ckpt", o->out);
}
