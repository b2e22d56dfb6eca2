/*
 * predict/statements.h
 *		The statements under way in this backend, and which of them write.
 */
#ifndef NW_PREDICT_STATEMENTS_H
#define NW_PREDICT_STATEMENTS_H

#include "postgres.h"

#include "nodes/pg_list.h"

/*
 * True where a statement under way may still add, change or remove rows that
 * the active snapshot sees, in one of some relations; these come with their
 * partition roots, see nw_statements_add_roots().
 */
extern bool nw_statements_write(const List *relids);

/* True where a statement under way may be writing foreign tables. */
extern bool nw_statements_write_abroad(void);

/* Add to a list of relations the roots of those that are partitions. */
extern List *nw_statements_add_roots(List *relids);

/*
 * The number of the query under way, never used again, where that query
 * itself evaluates an expression that lives in a memory context (fn_mcxt);
 * else 0.
 */
extern uint64 nw_statements_run(MemoryContext caller);

/* Follow statements from now on, calling back when the outermost has ended. */
extern void nw_statements_init(void (*ended)(void));

#endif /* NW_PREDICT_STATEMENTS_H */
