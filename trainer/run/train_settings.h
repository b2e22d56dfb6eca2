/*
 * run/train_settings.h: the settings of a training run.
 */
#ifndef NW_TRAIN_SETTINGS_H
#define NW_TRAIN_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "data/augment.h"
#include "data/dataset.h"
#include "graph/meta.h"
#include "net/kernel.h"
#include "net/model.h"
#include "net/optimizer.h"
#include "ort/device.h"
#include "run/best.h"

#define NW_MAX_DROPS 16
#define NW_MOST_SIZE 4096 /* side of the images */

/* settings that are digests; the first checkpoints lack some */
#define NW_LABELS_KEY "labels"
#define NW_VAL_LABELS_KEY "val-labels"
#define NW_SOURCE_KEY "source" /* which images they are */
#define NW_VAL_SOURCE_KEY "val-source"
#define NW_CLASSES_KEY "class-names"
#define NW_BACKBONE_KEY "backbone"

/* what becomes of the learning rate */
typedef enum NwSchedule
{
	NW_DROPS,
	NW_COSINE_DECAY
} NwSchedule;

typedef struct NwTrainSettings
{
	NwDatasetOptions dataset;
	const char *out;      /* the trained model */
	const char *arch;     /* a built-in network, or NULL */
	const char *backbone; /* a file with a network, or NULL */
	const char *output;   /* of the backbone */
	bool freeze_norm;     /* leave its batch normalisation as it is */
	int separated;        /* weights of the backbone that its file has merged with others */
	uint64_t backbone_hash;
	int width;    /* channels of the first layer; 0: the architecture's */
	int size;     /* 0: the architecture's, or the data's */
	int channels; /* 0: the data's */
	int dim;      /* -1: 128 for NW, none for FC */
	double mean[3];
	double std[3];
	int n_mean; /* 0: measured */
	int n_std;
	NwHead head;
	NwKernel kernel;   /* of the NW loss */
	bool kernel_given; /* and not left at the usual one */
	double tau;        /* -1: the kernel's */
	int queries;       /* of a step; 0: the usual number */
	int supports;      /* of a query, or of all where they share them; 0: the usual number */
	int shared;        /* -1: as the architecture has it */
	int64_t steps;     /* 0: the usual number */
	int64_t epochs;    /* in place of steps: how often each image is a query; 0: not said */
	double lr;         /* of the first step; -1: the usual one */
	double drops[NW_MAX_DROPS]; /* steps after which lr is divided by 10 */
	int n_drops;                /* -1: half-way and at three quarters */
	NwSchedule schedule;
	int64_t warmup;        /* steps until the rate is lr */
	NwOptimizer optimizer; /* momentum, beta[0], weight_decay -1: the usual ones */
	double smoothing;      /* of labels */
	int crop; /* most pixels an image is moved; -1: an eighth of its side, or 0 where it is cut */
	int flip; /* mirror at random; -1: as the architecture has it */
	NwAugment augment; /* what else is changed at random */
	uint64_t seed;
	NwDevice device;
	int threads;              /* 0: one for each core */
	int64_t kept_mb;          /* of memory for fitted images */
	const char *checkpoint;   /* file to go on from */
	int64_t checkpoint_every; /* steps */
	bool resume;              /* go on from the checkpoint */
	bool fresh;               /* replace an earlier run's */
	const char *log;          /* file of JSON lines, or NULL */
	int64_t log_every;        /* steps */
	const char *profile;      /* where ONNX Runtime's goes, or NULL */
	bool quiet;
	bool keep_checkpoint; /* also when the run is complete */
	NwDatasetOptions val; /* where held-out images come from, if from a place of their own */
	double val_share;     /* of the training images that is held out; 0: none */
	uint64_t val_seed;    /* of the choice among them */
	int64_t val_every;    /* steps from one validation to the next; 0: the usual number */
	int64_t val_supports; /* at most so many training images answer; 0: all; -1: the usual number */
	int best_by;          /* NwBestBy; -1: the usual one */
	int64_t patience;     /* validations without a better one; 0: the run never stops early */
} NwTrainSettings;

const char *nw_schedule_name(int i); /* NULL past the last one */
bool nw_train_validates(const NwTrainSettings *o);
void nw_train_complete(NwTrainSettings *o, const NwDataset *d);
void nw_train_describe(const NwTrainSettings *o, const NwDataset *d, const NwDataset *held,
                       NwMetas *into);
double nw_train_lr(const NwTrainSettings *o, int64_t step);

#endif
