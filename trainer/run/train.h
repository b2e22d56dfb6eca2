/*
 * run/train.h: the subcommand "train": its settings and the parts of a run.
 */
#ifndef NW_TRAIN_H
#define NW_TRAIN_H

#include "cli/options.h"
#include "data/fitted.h"
#include "graph/model.h"
#include "net/step_graph.h"

#define NW_MAX_DROPS 16

typedef struct NwTrainOptions
{
	NwSourceOptions source;
	const char *out;
	const char *arch;
	const char *backbone;
	const char *output; /* of the backbone */
	bool freeze_norm;
	int width;
	int size; /* 0: the architecture's, or the data's */
	int channels;
	int dim; /* -1: 128 for NW, none for FC */
	double mean[3];
	double std[3];
	int n_mean;
	int n_std;
	NwHead head;
	double tau;
	int queries;
	int supports;
	int shared; /* -1: as the architecture has it */
	int64_t steps;
	double lr;
	double drops[NW_MAX_DROPS]; /* steps after which lr is divided by 10 */
	int n_drops;
	double momentum;
	double weight_decay;
	double smoothing;
	int crop; /* most pixels an image is moved; -1: an eighth of its side */
	int flip; /* mirror at random; -1: as the architecture has it */
	uint64_t seed;
	NwDevice device;
	int threads;
	int64_t cache_mb;
	const char *checkpoint;
	int64_t checkpoint_every;
	bool resume;
	const char *log;
	int64_t log_every;
	const char *profile;
	bool quiet;
} NwTrainOptions;

/* train_options.c */
void nw_train_parse(int argc, char **argv, NwTrainOptions *o);
void nw_train_defaults(NwTrainOptions *o, const NwSource *s);
void nw_train_settings(const NwTrainOptions *o, const NwSource *s, NwMetas *into);
double nw_train_lr(const NwTrainOptions *o, int64_t step);

/* checkpoint.c */
void nw_checkpoint_save(const char *path, const NwStates *states, const NwMetas *settings,
                        int64_t step);
int64_t nw_checkpoint_load(const char *path, NwStates *states, const NwMetas *settings);

/* export.c */
void nw_export(const char *path, const NwModelSpec *spec, NwStates *states, const NwPreprocess *pre,
               const NwSource *source, const NwMetas *settings);

int nw_train_main(int argc, char **argv);

#endif
