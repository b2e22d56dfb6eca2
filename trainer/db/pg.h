/*
 * db/pg.h: what the program asks of libpq.
 */
#ifndef NW_PG_H
#define NW_PG_H

#include <libpq-fe.h>

/* the server's own operator, also where the search path has another for the very types */
#define NW_EQ " OPERATOR(pg_catalog.=) "

PGconn *nw_pg_connect(const char *dsn);
PGresult *nw_pg_query(PGconn *c, ExecStatusType wanted, int n, const char *const *args,
                      const char *fmt, ...) __attribute__((format(printf, 5, 6)));
char *nw_pg_relation(PGconn *c, const char *name);
char *nw_pg_ident(PGconn *c, const char *name);
char *nw_pg_extension(PGconn *c, const char *extension);
char *nw_pg_column_comment(PGconn *c, const char *relation, const char *column);
void nw_pg_set_column_comment(PGconn *c, const char *relation, const char *column,
                              const char *comment);
void nw_pg_fatal(PGconn *c, const char *what) __attribute__((noreturn));

#endif
