/*
 * run/progress_bar.c: telling a person how far long work has come.
 *
 * On a terminal a bar that redraws itself; elsewhere a plain line now and then.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "run/progress_bar.h"

#define BAR_WIDTH 24
#define REDRAW_SECONDS 0.2
#define LINE_SECONDS 10.0

NwProgressBar
nw_progress_bar_start(const char *what, int64_t first, int64_t total, bool quiet)
{
	double now = nw_now();

	return (NwProgressBar) {.what = what,
	                        .first = first,
	                        .total = total,
	                        .start = now,
	                        .shown = now,
	                        .terminal = isatty(STDERR_FILENO),
	                        .quiet = quiet};
}

/* Return how many are done in a second. */
static double
rate(const NwProgressBar *p, int64_t done)
{
	double seconds = nw_now() - p->start;

	return seconds > 0 ? (double) (done - p->first) / seconds : 0;
}

static void
print(NwProgressBar *p, int64_t done, const char *note)
{
	double speed = rate(p, done);
	double left = speed > 0 ? (double) (p->total - done) / speed : 0;
	int minutes = (int) (left / 60);

	if (p->terminal)
	{
		char bar[BAR_WIDTH + 1];
		int filled = p->total > 0 ? (int) (done * BAR_WIDTH / p->total) : 0;

		for (int i = 0; i < BAR_WIDTH; i++)
			bar[i] = i < filled ? '#' : '.';
		bar[BAR_WIDTH] = 0;
		fprintf(stderr, "\r[%s] %s %lld/%lld  %.1f/s  %d:%02d left  %s\033[K", bar, p->what,
		        (long long) done, (long long) p->total, speed, minutes, (int) left % 60, note);
	}
	else
		fprintf(stderr, "%s %lld/%lld  %.1f/s  %d:%02d left  %s\n", p->what, (long long) done,
		        (long long) p->total, speed, minutes, (int) left % 60, note);
	fflush(stderr);
}

/* Tell how far the work is, unless that was told just now. */
void
nw_progress_bar_show(NwProgressBar *p, int64_t done, const char *note)
{
	double now = nw_now();

	if (p->quiet || now - p->shown < (p->terminal ? REDRAW_SECONDS : LINE_SECONDS))
		return;
	p->shown = now;
	print(p, done, note);
}

/* Make room for a message. */
void
nw_progress_bar_clear(const NwProgressBar *p)
{
	if (p->terminal && !p->quiet)
		fputs("\r\033[K", stderr);
}

/* Tell how far the work came in the end. */
void
nw_progress_bar_end(NwProgressBar *p, int64_t done, const char *note)
{
	if (p->quiet)
		return;
	print(p, done, note);
	if (p->terminal)
		fputc('\n', stderr);
}
