/*
 * predict/statements.h
 *		The statements under way in this backend, and which of them write.
 */
#ifndef NW_PREDICT_STATEMENTS_H
#define NW_PREDICT_STATEMENTS_H

#include "postgres.h"

#include "nodes/pg_list.h"

extern bool nw_statements_write(const List *relids);
extern bool nw_statements_write_abroad(void);
extern List *nw_statements_add_roots(List *relids);
extern uint64 nw_statements_run(MemoryContext caller);
extern void nw_statements_init(void (*ended)(void));

#endif /* NW_PREDICT_STATEMENTS_H */
