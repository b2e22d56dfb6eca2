/*
 * run/batch_queue.c: threads that prepare batches ahead of the one that uses them.
 *
 * Batch number seq lives in slot seq % n_slots; the numbers say who owns which: the
 * threads [ready, used + n_slots), of which [ready, next) are being filled or have
 * been out of turn; the user [used, taken).  Batches are used in their order.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "run/batch_queue.h"

struct NwPipe
{
	pthread_t *thread;
	int n_threads;
	pthread_mutex_t lock;
	pthread_cond_t change;
	NwFill fill;
	void *arg;
	void **slots;
	int n_slots;
	bool *filled; /* of each slot: a batch not below `ready` */
	int64_t end;
	int64_t next;
	int64_t ready;
	int64_t taken;
	int64_t used;
	bool stop;
	char *why;      /* the first batch that could not be filled */
	int64_t failed; /* its number */
};

/* Note what became of a batch. */
static void
note(NwPipe *p, int64_t seq, char *why)
{
	if (why == NULL)
		p->filled[seq % p->n_slots] = true;
	else if (p->why == NULL || seq < p->failed)
	{
		free(p->why);
		p->why = why;
		p->failed = seq;
	}
	else
		free(why);
	while (p->ready < p->next && p->filled[p->ready % p->n_slots])
		p->filled[p->ready++ % p->n_slots] = false;
	pthread_cond_broadcast(&p->change);
}

/* Fill slots as they become free; nothing new once a batch has failed. */
static void *
work(void *arg)
{
	NwPipe *p = arg;

	pthread_mutex_lock(&p->lock);
	while (!p->stop && p->why == NULL && p->next < p->end)
	{
		int64_t seq = p->next;
		char *why;

		if (seq >= p->used + p->n_slots)
		{
			pthread_cond_wait(&p->change, &p->lock);
			continue;
		}
		p->next++;
		pthread_mutex_unlock(&p->lock);
		why = p->fill(p->arg, seq, p->slots[seq % p->n_slots]);
		pthread_mutex_lock(&p->lock);
		note(p, seq, why);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* Start the threads; signals stay with the thread that called. */
NwPipe *
nw_pipe_start(NwFill fill, void *arg, int64_t first, int64_t end, void **slots, int n_slots,
              int n_threads)
{
	NwPipe *p = nw_alloc0(sizeof(NwPipe));
	sigset_t all;
	sigset_t old;

	p->fill = fill;
	p->arg = arg;
	p->slots = slots;
	p->n_slots = n_slots;
	p->filled = nw_alloc0((size_t) n_slots * sizeof(bool));
	p->end = end;
	p->next = p->ready = p->taken = p->used = first;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->change, NULL);
	p->thread = nw_alloc((size_t) n_threads * sizeof(pthread_t));
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (; p->n_threads < n_threads; p->n_threads++)
		if (pthread_create(&p->thread[p->n_threads], NULL, work, p) != 0)
			nw_fatal("could not start a thread");
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return p;
}

/* Wait for the next batch. */
void *
nw_pipe_take(NwPipe *p)
{
	void *slot;

	pthread_mutex_lock(&p->lock);
	while (p->taken >= p->ready && !(p->why != NULL && p->taken == p->failed))
		pthread_cond_wait(&p->change, &p->lock);
	if (p->taken >= p->ready)
		nw_fatal("%s", p->why);
	slot = p->slots[p->taken++ % p->n_slots];
	pthread_mutex_unlock(&p->lock);
	return slot;
}

/* Give the oldest batch's slot back to the threads. */
void
nw_pipe_return(NwPipe *p)
{
	pthread_mutex_lock(&p->lock);
	p->used++;
	pthread_cond_broadcast(&p->change);
	pthread_mutex_unlock(&p->lock);
}

/* End the threads. */
void
nw_pipe_stop(NwPipe *p)
{
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->change);
	pthread_mutex_unlock(&p->lock);
	for (int i = 0; i < p->n_threads; i++)
		pthread_join(p->thread[i], NULL);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->change);
	free(p->thread);
	free(p->filled);
	free(p->why);
	free(p);
}
