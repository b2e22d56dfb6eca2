/*
 * run/progress_bar.h: telling a person how far long work has come.
 */
#ifndef NW_PROGRESS_BAR_H
#define NW_PROGRESS_BAR_H

#include <stdbool.h>
#include <stdint.h>

typedef struct NwProgressBar
{
	const char *what; /* "step", "image" */
	int64_t first;    /* what was done before */
	int64_t total;
	double start; /* when the count began */
	double shown; /* when something was last printed */
	bool terminal;
	bool quiet;
} NwProgressBar;

NwProgressBar nw_progress_bar_start(const char *what, int64_t first, int64_t total, bool quiet);
void nw_progress_bar_show(NwProgressBar *p, int64_t done, const char *note);
void nw_progress_bar_clear(const NwProgressBar *p);
void nw_progress_bar_end(NwProgressBar *p, int64_t done, const char *note);

#endif
