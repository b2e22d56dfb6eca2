/*
 * base/thread.c: threads that leave signals to the thread that started them.
 */
#include <signal.h>
#include <stddef.h>

#include "base/message.h"
#include "base/thread.h"

/* Keep signals from this thread, and from those it starts; all but those of its own faults. */
void
nw_signals_block(sigset_t *old)
{
	sigset_t all;

	sigfillset(&all);
	sigdelset(&all, SIGABRT);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGFPE);
	sigdelset(&all, SIGILL);
	sigdelset(&all, SIGSEGV);
	pthread_sigmask(SIG_SETMASK, &all, old);
}

void
nw_signals_restore(const sigset_t *old)
{
	pthread_sigmask(SIG_SETMASK, old, NULL);
}

void
nw_thread_start(pthread_t *thread, void *(*work)(void *arg), void *arg)
{
	sigset_t old;

	nw_signals_block(&old);
	if (pthread_create(thread, NULL, work, arg) != 0)
		nw_fatal("could not start a thread");
	nw_signals_restore(&old);
}
