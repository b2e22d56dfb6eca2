/*
 * pipe.h: a thread that prepares batches ahead of those that use them.
 */
#ifndef NW_PIPE_H
#define NW_PIPE_H

#include "util.h"

typedef struct NwPipe NwPipe;

/* fill slot memory with batch number `seq`; why not (to be freed), else NULL */
typedef char *(*NwFill) (void *arg, int64_t seq, void *slot);

NwPipe	   *nw_pipe_start(NwFill fill, void *arg, int64_t first, int64_t end, void **slots, int n_slots);
void	   *nw_pipe_take(NwPipe *p);	/* the next batch; a failure to fill is fatal here */
void		nw_pipe_return(NwPipe *p);	/* the oldest batch taken is used up */
void		nw_pipe_stop(NwPipe *p);

#endif
