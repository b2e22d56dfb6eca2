/*
 * sql/progress.h
 *		Show how far a long function has come.
 */
#ifndef NW_SQL_PROGRESS_H
#define NW_SQL_PROGRESS_H

#include "postgres.h"

extern void nw_progress(const char *what, int64 done, int64 total);
extern void nw_progress_done(void);

#endif /* NW_SQL_PROGRESS_H */
