/*
 * index/usable.h
 *		Whether a set may be read through an nw index, or needs the executor.
 */
#ifndef NW_INDEX_USABLE_H
#define NW_INDEX_USABLE_H

#include "postgres.h"

#include "index/read.h"
#include "sets/source.h"

/* nwhead.engine */
typedef enum NwEngine
{
	NW_ENGINE_AUTO,
	NW_ENGINE_EXECUTOR,
	NW_ENGINE_INDEX
} NwEngine;

extern int nw_engine;

extern NwIndexReader *nw_index_find(const NwSource *source, bool ids, const char **reason);

#endif /* NW_INDEX_USABLE_H */
