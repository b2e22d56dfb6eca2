/*
 * db/support_set.h: a registered set that is asked for labels and reasons.
 */
#ifndef NW_SUPPORT_SET_H
#define NW_SUPPORT_SET_H

#include "db/pg.h"

typedef struct NwSupportSet
{
	PGconn *conn;
	const char *name;
	int dim;     /* 0 where its rows do not say */
	char *model; /* that its embeddings are of, as far as that is noted; NULL, else to be freed */
} NwSupportSet;

NwSupportSet nw_support_set_open(PGconn *c, const char *name, const char *model);
PGresult *nw_support_set_label(const NwSupportSet *s, const float *query);
PGresult *nw_support_set_reasons(const NwSupportSet *s, const float *query, int top);

#endif
