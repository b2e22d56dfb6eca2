/*
 * data/known.c: images whose ids a table has already.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "data/dataset.h"
#include "data/known.h"
#include "db/pg.h"

static int
compare_ids(const void *a, const void *b)
{
	return strcmp(*(char *const *) a, *(char *const *) b);
}

/* Leave out the images of a folder or a file whose id, as text, is in the table. */
void
nw_known_leave_out(NwDataset *d, const NwDatasetOptions *options)
{
	PGconn *c = nw_pg_connect(options->dsn);
	char *relation = nw_pg_relation(c, options->known);
	PGresult *r;
	char **id;
	bool *keep;
	int n;

	if (relation == NULL)
	{
		PQfinish(c);
		return;
	}
	r = nw_pg_query(c, PGRES_TUPLES_OK, 0, NULL,
	                "SELECT id::pg_catalog.text FROM %s WHERE id IS NOT NULL", relation);
	n = PQntuples(r);
	id = nw_alloc((size_t) n * sizeof(char *));
	for (int i = 0; i < n; i++)
		id[i] = PQgetvalue(r, i, 0);
	qsort(id, (size_t) n, sizeof(char *), compare_ids);
	keep = nw_alloc((size_t) d->n);
	for (int64_t i = 0; i < d->n; i++)
	{
		char *own =
			d->path ? nw_strdup(d->path[i]) : nw_printf("%lld", (long long) d->place[i] + 1);

		keep[i] = bsearch(&own, id, (size_t) n, sizeof(char *), compare_ids) == NULL;
		free(own);
	}
	nw_dataset_keep(d, keep);
	free(keep);
	free(id);
	PQclear(r);
	free(relation);
	PQfinish(c);
}
