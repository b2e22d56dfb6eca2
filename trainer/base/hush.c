/*
 * base/hush.c: keep aside what libraries write to stderr.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/hush.h"
#include "base/memory.h"
#include "base/message.h"

/* signals that a library may die of */
static const int deaths[] = {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE};

/* Held while stderr changes; for good once the program fails. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int depth;      /* calls of nw_hush() that no nw_unhush() has ended */
static int heard = -1; /* the real stderr, while hushed */
static FILE *kept;     /* what was written meanwhile */
static pthread_t busy; /* the thread that is in a library meanwhile */
static struct sigaction before[NW_LENGTH(deaths)]; /* what the signals did */

/* Copy what was kept back to stderr; a signal handler may call this. */
static void
show_kept(void)
{
	char part[4096];
	ssize_t n;

	lseek(fileno(kept), 0, SEEK_SET);
	while ((n = read(fileno(kept), part, sizeof(part))) > 0)
		if (write(STDERR_FILENO, part, (size_t) n) < 0)
			break;
}

/* Let stderr be heard, after what was kept where that is wanted. */
static void
open_again(bool show)
{
	if (heard < 0)
		return;
	dup2(heard, STDERR_FILENO);
	close(heard);
	heard = -1;
	for (int i = 0; i < NW_LENGTH(deaths); i++)
		sigaction(deaths[i], &before[i], NULL);
	if (show)
		show_kept();
	fclose(kept);
}

/* Show what a dying library said, and what happened; then the signal takes its course. */
static void
on_death(int signal)
{
	static const char last[] = "nwhead: error: a library crashed\n";

	dup2(heard, STDERR_FILENO);
	show_kept();
	if (write(STDERR_FILENO, last, sizeof(last) - 1) < 0)
		_exit(NW_EXIT_FAILED); /* nobody reads what is said */
	raise(signal);
}

/* Have stderr kept aside, where that can be done. */
static void
keep_aside(void)
{
	struct sigaction die = {.sa_handler = on_death, .sa_flags = (int) SA_RESETHAND};

	if ((kept = tmpfile()) == NULL)
		return;
	heard = dup(STDERR_FILENO);
	if (heard < 0)
	{
		fclose(kept);
		return;
	}
	busy = pthread_self();
	for (int i = 0; i < NW_LENGTH(deaths); i++)
		sigaction(deaths[i], &die, &before[i]);
	dup2(fileno(kept), STDERR_FILENO);
}

/*
 * Keep aside what a library writes to stderr, until the nw_unhush() that belongs to
 * this; NWHEAD_DEBUG lets it through.  Other threads may say meanwhile why the program
 * fails, and nothing else.
 */
void
nw_hush(void)
{
	pthread_mutex_lock(&lock);
	if (depth++ == 0 && getenv("NWHEAD_DEBUG") == NULL)
		keep_aside();
	pthread_mutex_unlock(&lock);
}

/* Open stderr again, and forget what was kept aside. */
void
nw_unhush(void)
{
	pthread_mutex_lock(&lock);
	if (--depth == 0)
		open_again(false);
	pthread_mutex_unlock(&lock);
}

/*
 * The program fails: open stderr for good, after what was kept aside where it may say why.
 * The lock stays taken, so that no other thread turns stderr away under the last words.
 */
void
nw_hush_failed(void)
{
	pthread_mutex_lock(&lock);
	open_again(heard >= 0 && pthread_equal(busy, pthread_self()));
}
