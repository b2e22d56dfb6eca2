/*
 * index/choose.h
 *		Whether a set is read through an nw index or the executor.
 */
#ifndef NW_INDEX_CHOOSE_H
#define NW_INDEX_CHOOSE_H

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

/*
 * Find indexes that cover a set, with locks and privileges settled, or return
 * NULL where its rows are to be read through the executor: see nwhead.engine.
 * ids says whether some ids will be asked for.
 */
extern NwIndexReader *nw_index_find(const NwSource *source, bool ids);

#endif /* NW_INDEX_CHOOSE_H */
