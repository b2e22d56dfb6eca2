/*
 * graph/meta.h: a model's metadata.
 */
#ifndef NW_META_H
#define NW_META_H

typedef struct NwMeta
{
	char *key;
	char *value;
} NwMeta;

typedef struct NwMetas
{
	NwMeta *item;
	int n;
	int cap;
} NwMetas;

void nw_meta_set(NwMetas *m, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
const char *nw_meta_get(const NwMetas *m, const char *key);
void nw_metas_add(NwMetas *m, const NwMetas *more);
void nw_metas_free(NwMetas *m);

#endif
