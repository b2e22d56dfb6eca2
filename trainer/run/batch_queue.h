/*
 * run/batch_queue.h: threads that prepare batches ahead of the one that uses them.
 */
#ifndef NW_BATCH_QUEUE_H
#define NW_BATCH_QUEUE_H

#include <stdint.h>

typedef struct NwBatchQueue NwBatchQueue;

/*
 * Fills the memory of a slot with batch number `seq`; why not (to be freed), else NULL.
 * Several threads may call it at a time, for different batches.
 */
typedef char *(*NwFill)(void *arg, int64_t seq, void *slot);

NwBatchQueue *nw_batch_queue_start(NwFill fill, void *arg, int64_t first, int64_t end, void **slots,
                                   int n_slots, int n_threads);
void *nw_batch_queue_try(NwBatchQueue *q, const char **why);
void *nw_batch_queue_take(NwBatchQueue *q);
void nw_batch_queue_return(NwBatchQueue *q);
void nw_batch_queue_stop(NwBatchQueue *q);

#endif
