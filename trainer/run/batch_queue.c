/*
 * run/batch_queue.c: threads that prepare batches ahead of the one that uses them.
 *
 * Batch number seq lives in slot seq % n_slots; the numbers say who owns which: the
 * threads [ready, used + n_slots), of which [ready, next) are being filled or have
 * been out of turn; the user [used, taken).  Batches are used in their order.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/message.h"
#include "base/thread.h"
#include "run/batch_queue.h"

struct NwBatchQueue
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
	int64_t next;  /* to be filled */
	int64_t ready; /* all below are filled */
	int64_t taken; /* all below were handed out */
	int64_t used;  /* all below were given back */
	bool stop;
	char *why;      /* the first batch that could not be filled */
	int64_t failed; /* its number */
};

/* Note what became of a batch. */
static void
note(NwBatchQueue *q, int64_t seq, char *why)
{
	if (why == NULL)
		q->filled[seq % q->n_slots] = true;
	else if (q->why == NULL || seq < q->failed)
	{
		free(q->why);
		q->why = why;
		q->failed = seq;
	}
	else
		free(why);
	while (q->ready < q->next && q->filled[q->ready % q->n_slots])
		q->filled[q->ready++ % q->n_slots] = false;
	pthread_cond_broadcast(&q->change);
}

/* Fill slots as they become free; nothing new once a batch has failed. */
static void *
work(void *arg)
{
	NwBatchQueue *q = arg;

	pthread_mutex_lock(&q->lock);
	while (!q->stop && q->why == NULL && q->next < q->end)
	{
		int64_t seq = q->next;
		char *why;

		if (seq >= q->used + q->n_slots)
		{
			pthread_cond_wait(&q->change, &q->lock);
			continue;
		}
		q->next++;
		pthread_mutex_unlock(&q->lock);
		why = q->fill(q->arg, seq, q->slots[seq % q->n_slots]);
		pthread_mutex_lock(&q->lock);
		note(q, seq, why);
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

/* Start threads that fill the slots with batches from `first` to `end`, in turn. */
NwBatchQueue *
nw_batch_queue_start(NwFill fill, void *arg, int64_t first, int64_t end, void **slots, int n_slots,
                     int n_threads)
{
	NwBatchQueue *q = nw_alloc0(sizeof(NwBatchQueue));

	q->fill = fill;
	q->arg = arg;
	q->slots = slots;
	q->n_slots = n_slots;
	q->filled = nw_alloc0((size_t) n_slots * sizeof(bool));
	q->end = end;
	q->next = q->ready = q->taken = q->used = first;
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->change, NULL);
	q->thread = nw_alloc((size_t) n_threads * sizeof(pthread_t));
	for (; q->n_threads < n_threads; q->n_threads++)
		nw_thread_start(&q->thread[q->n_threads], work, q);
	return q;
}

/* Wait for the next batch in order; NULL, and why, where it could not be filled. */
void *
nw_batch_queue_try(NwBatchQueue *q, const char **why)
{
	void *slot = NULL;

	pthread_mutex_lock(&q->lock);
	while (q->taken >= q->ready && !(q->why != NULL && q->taken == q->failed))
		pthread_cond_wait(&q->change, &q->lock);
	if (q->taken >= q->ready)
		*why = q->why;
	else
		slot = q->slots[q->taken++ % q->n_slots];
	pthread_mutex_unlock(&q->lock);
	return slot;
}

/* Wait for the next batch in order, which must be there. */
void *
nw_batch_queue_take(NwBatchQueue *q)
{
	const char *why;
	void *slot = nw_batch_queue_try(q, &why);

	if (slot == NULL)
		nw_fatal("%s", why);
	return slot;
}

/* Give the oldest batch's slot back to the threads. */
void
nw_batch_queue_return(NwBatchQueue *q)
{
	pthread_mutex_lock(&q->lock);
	q->used++;
	pthread_cond_broadcast(&q->change);
	pthread_mutex_unlock(&q->lock);
}

void
nw_batch_queue_stop(NwBatchQueue *q)
{
	pthread_mutex_lock(&q->lock);
	q->stop = true;
	pthread_cond_broadcast(&q->change);
	pthread_mutex_unlock(&q->lock);
	for (int i = 0; i < q->n_threads; i++)
		pthread_join(q->thread[i], NULL);
	pthread_mutex_destroy(&q->lock);
	pthread_cond_destroy(&q->change);
	free(q->thread);
	free(q->filled);
	free(q->why);
	free(q);
}
