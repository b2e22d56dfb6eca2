/*
 * sql/progress.h
 *		Show how far a long function has come.
 */
#ifndef NW_SQL_PROGRESS_H
#define NW_SQL_PROGRESS_H

#include "postgres.h"

/*
 * Show "what done of total" behind the statement in pg_stat_activity, at most
 * a few times a second.  total is -1 where it is not known.
 */
extern void nw_progress(const char *what, int64 done, int64 total);

/* Show the statement alone again. */
extern void nw_progress_done(void);

#endif /* NW_SQL_PROGRESS_H */
