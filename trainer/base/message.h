/*
 * base/message.h: what the program tells its user, and how it ends.
 */
#ifndef NW_MESSAGE_H
#define NW_MESSAGE_H

/* exit statuses, as in PostgreSQL's client programs */
#define NW_EXIT_FAILED 1
#define NW_EXIT_USAGE 2

void nw_fatal(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
void nw_usage_error(const char *subcommand, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 2, 3)));
void nw_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
