/*
 * run/train_log.h: the log of a training run, in lines of JSON.
 */
#ifndef NW_TRAIN_LOG_H
#define NW_TRAIN_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "math/judgement.h"

/* the log, and what is counted for its next line */
typedef struct NwTrainLog
{
	const char *path; /* NULL: no log */
	FILE *file;
	int queries; /* of a step */
	int images;

	/* of the steps since the last line */
	double loss;
	int64_t right;
	int64_t steps;
	double since; /* when they began, later by what validations took */
} NwTrainLog;

NwTrainLog nw_train_log_open(const char *path, bool append, int queries, int images);
void nw_train_log_begin(NwTrainLog *l);
void nw_train_log_step(NwTrainLog *l, double loss, int right);
void nw_train_log_write(NwTrainLog *l, int64_t step, double lr);
void nw_train_log_validation(NwTrainLog *l, int64_t step, const NwFigures *f, double seconds);
void nw_train_log_stop(NwTrainLog *l, int64_t step, int64_t best_step);
void nw_train_log_close(NwTrainLog *l);

#endif
