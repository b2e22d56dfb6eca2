/*
 * base/thread.h: threads that leave signals to the thread that started them.
 */
#ifndef NW_THREAD_H
#define NW_THREAD_H

#include <pthread.h>
#include <signal.h>

void nw_signals_block(sigset_t *old);
void nw_signals_restore(const sigset_t *old);
void nw_thread_start(pthread_t *thread, void *(*work)(void *arg), void *arg);

#endif
