/*
 * base/message.c: what the program tells its user, and how it ends.
 */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/hush.h"
#include "base/message.h"

/* Write a message in one piece: other threads may write to stderr, too. */
static void
message(const char *severity, const char *fmt, va_list ap)
{
	char *text;

	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	fflush(stdout);
	fprintf(stderr, "nwhead: %s%s\n", severity, text ? text : fmt);
	free(text);
}

/*
 * Say why the work failed, and end: at once, since other threads may be at work in
 * libraries that an orderly exit would take down under them.
 */
void
nw_fatal(const char *fmt, ...)
{
	static atomic_flag ending = ATOMIC_FLAG_INIT;
	va_list ap;

	while (atomic_flag_test_and_set(&ending))
		pause(); /* another thread was first */
	nw_hush_failed();
	va_start(ap, fmt);
	message("error: ", fmt, ap);
	va_end(ap);
	fflush(NULL);
	_exit(NW_EXIT_FAILED);
}

/* Say what is wrong with the command line, and end. */
void
nw_usage_error(const char *subcommand, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	message("error: ", fmt, ap);
	va_end(ap);
	fprintf(stderr, "Try \"nwhead%s%s --help\" for more information.\n", subcommand[0] ? " " : "",
	        subcommand);
	exit(NW_EXIT_USAGE);
}

void
nw_info(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	message("", fmt, ap);
	va_end(ap);
}
