/*
 * run/progress_bar.h: telling a person how far long work has come.
 */
#ifndef NW_PROGRESS_BAR_H
#define NW_PROGRESS_BAR_H

#include "base/util.h"

typedef struct NwProgress
{
	const char *what; /* "step", "image" */
	int64_t first;
	int64_t total;
	double start;
	double shown; /* when something was last printed */
	bool terminal;
	bool quiet;
} NwProgress;

NwProgress nw_progress_start(const char *what, int64_t first, int64_t total, bool quiet);
void nw_progress_show(NwProgress *p, int64_t done, const char *note);
void nw_progress_end(NwProgress *p, int64_t done, const char *note);
double nw_progress_rate(const NwProgress *p, int64_t done);

#endif
