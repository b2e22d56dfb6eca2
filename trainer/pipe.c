/*
 * pipe.c: a thread that prepares batches ahead of those that use them.
 *
 * Batch number seq lives in slot seq % n_slots; the numbers say who owns which:
 * the thread [ready, used + n_slots), the user [used, taken).
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "pipe.h"

struct NwPipe
{
	pthread_t	thread;
	pthread_mutex_t lock;
	pthread_cond_t change;
	NwFill		fill;
	void	   *arg;
	void	  **slots;
	int			n_slots;
	int64_t		end;
	int64_t		ready;
	int64_t		taken;
	int64_t		used;
	bool		stop;
	char	   *why;			/* batch `ready` could not be filled */
};

/* Fill slots as they become free. */
static void *
work(void *arg)
{
	NwPipe	   *p = arg;

	pthread_mutex_lock(&p->lock);
	while (!p->stop && p->why == NULL && p->ready < p->end)
	{
		char	   *why;

		if (p->ready >= p->used + p->n_slots)
		{
			pthread_cond_wait(&p->change, &p->lock);
			continue;
		}
		pthread_mutex_unlock(&p->lock);
		why = p->fill(p->arg, p->ready, p->slots[p->ready % p->n_slots]);
		pthread_mutex_lock(&p->lock);
		if (why == NULL)
			p->ready++;
		p->why = why;
		pthread_cond_broadcast(&p->change);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* Start the thread; signals stay with the thread that called. */
NwPipe *
nw_pipe_start(NwFill fill, void *arg, int64_t first, int64_t end, void **slots, int n_slots)
{
	NwPipe	   *p = nw_alloc0(sizeof(NwPipe));
	sigset_t	all;
	sigset_t	old;

	p->fill = fill;
	p->arg = arg;
	p->slots = slots;
	p->n_slots = n_slots;
	p->end = end;
	p->ready = p->taken = p->used = first;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->change, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&p->thread, NULL, work, p) != 0)
		nw_fatal("could not start a thread");
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return p;
}

/* Wait for the next batch. */
void *
nw_pipe_take(NwPipe *p)
{
	void	   *slot;

	pthread_mutex_lock(&p->lock);
	while (p->taken >= p->ready && p->why == NULL)
		pthread_cond_wait(&p->change, &p->lock);
	if (p->taken >= p->ready)
		nw_fatal("%s", p->why);
	slot = p->slots[p->taken++ % p->n_slots];
	pthread_mutex_unlock(&p->lock);
	return slot;
}

/* Give the oldest batch's slot back to the thread. */
void
nw_pipe_return(NwPipe *p)
{
	pthread_mutex_lock(&p->lock);
	p->used++;
	pthread_cond_broadcast(&p->change);
	pthread_mutex_unlock(&p->lock);
}

/* End the thread. */
void
nw_pipe_stop(NwPipe *p)
{
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->change);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->change);
	free(p->why);
	free(p);
}
