/*
 * run/batch_queue.h: threads that prepare batches ahead of the one that uses them.
 */
#ifndef NW_BATCH_QUEUE_H
#define NW_BATCH_QUEUE_H

#include "base/util.h"

typedef struct NwPipe NwPipe;

/* fill slot memory with batch number `seq`; why not (to be freed), else NULL.  Several
 * threads may do so at a time, for different batches. */
typedef char *(*NwFill)(void *arg, int64_t seq, void *slot);

NwPipe *nw_pipe_start(NwFill fill, void *arg, int64_t first, int64_t end, void **slots, int n_slots,
                      int n_threads);
void *nw_pipe_take(NwPipe *p);  /* the next batch in order; a failure to fill is fatal here */
void nw_pipe_return(NwPipe *p); /* the oldest batch taken is used up */
void nw_pipe_stop(NwPipe *p);

#endif
