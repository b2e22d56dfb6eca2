/*
 * graph/meta.c: a model's metadata.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "graph/meta.h"

void
nw_meta_set(NwMetas *m, const char *key, const char *fmt, ...)
{
	va_list ap;
	char *value;

	va_start(ap, fmt);
	value = nw_vprintf(fmt, ap);
	va_end(ap);
	NW_GROW(m->item, m->n, m->cap);
	m->item[m->n++] = (NwMeta) {nw_strdup(key), value};
}

/* Find a metadata entry; NULL where there is none. */
const char *
nw_meta_get(const NwMetas *m, const char *key)
{
	for (int i = 0; i < m->n; i++)
		if (strcmp(m->item[i].key, key) == 0)
			return m->item[i].value;
	return NULL;
}

/* Copy all entries of another. */
void
nw_metas_add(NwMetas *m, const NwMetas *more)
{
	for (int i = 0; i < more->n; i++)
		nw_meta_set(m, more->item[i].key, "%s", more->item[i].value);
}

void
nw_metas_free(NwMetas *m)
{
	for (int i = 0; i < m->n; i++)
	{
		free(m->item[i].key);
		free(m->item[i].value);
	}
	free(m->item);
	*m = (NwMetas) {0};
}
