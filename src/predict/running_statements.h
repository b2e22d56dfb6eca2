/*
 * predict/running_statements.h
 *		The statements under way in this backend, and which of them write.
 */
#ifndef NW_PREDICT_RUNNING_STATEMENTS_H
#define NW_PREDICT_RUNNING_STATEMENTS_H

#include "postgres.h"

#include "nodes/pg_list.h"

extern bool nw_running_may_write(const List *relids);
extern bool nw_running_may_write_foreign(void);
extern List *nw_running_add_roots(List *relids);
extern uint64 nw_running_query(MemoryContext caller);
extern void nw_running_init(void (*ended)(void), void (*emptied)(void));

#endif /* NW_PREDICT_RUNNING_STATEMENTS_H */
