/*
 * run/train_log.c: the log of a training run, in lines of JSON.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/message.h"
#include "math/judgement.h"
#include "run/train_log.h"

/* Give a log up, and say so: the run is worth more than it. */
static void
give_up(NwTrainLog *l)
{
	nw_info("could not write to log \"%s\": %s; going on without it", l->path, strerror(errno));
	if (l->file != NULL)
		fclose(l->file);
	l->file = NULL;
}

/* Open a log, to go on after what it holds where that is wanted. */
NwTrainLog
nw_train_log_open(const char *path, bool append, int queries, int images)
{
	NwTrainLog l = {.path = path, .queries = queries, .images = images};

	if (path != NULL && (l.file = fopen(path, append ? "ae" : "we")) == NULL)
		nw_fatal("could not write to \"%s\": %s", path, strerror(errno));
	return l;
}

static void
flush(NwTrainLog *l)
{
	if (fflush(l->file) != 0)
		give_up(l);
}

/* Begin to count anew. */
void
nw_train_log_begin(NwTrainLog *l)
{
	l->loss = 0;
	l->right = 0;
	l->steps = 0;
	l->since = nw_now();
}

/* Count a step. */
void
nw_train_log_step(NwTrainLog *l, double loss, int right)
{
	l->loss += loss;
	l->right += right;
	l->steps++;
}

/* Write a line about the steps since the last one. */
void
nw_train_log_write(NwTrainLog *l, int64_t step, double lr)
{
	if (l->file != NULL)
	{
		fprintf(
			l->file,
			"{\"step\":%lld,\"loss\":%.6g,\"accuracy\":%.4f,\"lr\":%g,\"images_per_second\":%.1f}\n",
			(long long) step, l->loss / (double) l->steps,
			(double) l->right / (double) (l->steps * l->queries), lr,
			(double) (l->steps * l->images) / (nw_now() - l->since));
		flush(l);
	}
	nw_train_log_begin(l);
}

/* Write a figure; JSON has no infinity. */
static void
add_figure(NwTrainLog *l, const char *name, double v)
{
	if (isfinite(v))
		fprintf(l->file, ",\"%s\":%.9g", name, v);
	else
		fprintf(l->file, ",\"%s\":null", name);
}

/* Write a line about a validation, whose time is none of the steps'. */
void
nw_train_log_validation(NwTrainLog *l, int64_t step, const NwFigures *f, double seconds)
{
	l->since += seconds;
	if (l->file == NULL)
		return;
	fprintf(l->file, "{\"step\":%lld", (long long) step);
	add_figure(l, "val_error", f->error);
	add_figure(l, "val_ece", f->ece);
	add_figure(l, "val_nll", f->nll);
	fprintf(l->file, "}\n");
	flush(l);
}

/* Write that the run stops early. */
void
nw_train_log_stop(NwTrainLog *l, int64_t step, int64_t best_step)
{
	if (l->file == NULL)
		return;
	fprintf(l->file, "{\"step\":%lld,\"stopped_early\":true,\"best_step\":%lld}\n",
	        (long long) step, (long long) best_step);
	flush(l);
}

void
nw_train_log_close(NwTrainLog *l)
{
	if (l->file != NULL)
		fclose(l->file); /* each line was flushed */
}
