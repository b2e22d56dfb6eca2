/*
 * sql/progress.c
 *		Show how far a long function has come.
 *
 * PostgreSQL's own progress views know a fixed list of commands, so progress
 * appears where people look first: as a comment behind the statement in
 * pg_stat_activity.
 */
#include "postgres.h"

#include "tcop/tcopprot.h"
#include "utils/backend_status.h"
#include "utils/timestamp.h"

#include "sql/progress.h"

#define INTERVAL_MS 200

static TimestampTz last_shown = 0;

/*
 * Show "what done of total" behind the statement in pg_stat_activity, at most
 * a few times a second.  total is -1 where it is not known.
 */
void
nw_progress(const char *what, int64 done, int64 total)
{
	TimestampTz now = GetCurrentTimestamp();
	char *text;

	if (!TimestampDifferenceExceeds(last_shown, now, INTERVAL_MS))
		return;
	last_shown = now;
	text = total > 0 ? psprintf("%s /* %s " INT64_FORMAT " of " INT64_FORMAT " */",
	                            debug_query_string ? debug_query_string : "", what, done, total)
	                 : psprintf("%s /* %s " INT64_FORMAT " */",
	                            debug_query_string ? debug_query_string : "", what, done);
	pgstat_report_activity(STATE_RUNNING, text);
	pfree(text);
}

/* Show the statement alone again. */
void
nw_progress_done(void)
{
	pgstat_report_activity(STATE_RUNNING, debug_query_string ? debug_query_string : "");
}
