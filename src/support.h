/*
 * support.h
 *		A support set packed in memory: vectors, classes and ids by the chunk.
 */
#ifndef NW_SUPPORT_H
#define NW_SUPPORT_H

#include "postgres.h"

#include "labels.h"
#include "source.h"

/* Rows measured at a time. */
#define NW_BLOCK_ROWS	256

/* A run of rows.  Arrays that the support does not need are NULL. */
typedef struct NwChunk
{
	int			n;
	float	   *x;				/* [n][dim] */
	int32	   *class;			/* [n] */
	double	   *inverse_norm;	/* [n] */
	double	   *log_weight;		/* [n] */
	const char **id;			/* [n] output text; NULL for a null id */
} NwChunk;

typedef struct NwSupport
{
	MemoryContext mcxt;
	NwKernel	kernel;
	double		tau;
	int			dim;			/* 0 until the first row */
	bool		has_ids;
	bool		has_weights;
	int64		n;
	NwLabels   *labels;
	NwTextOut	id_out;
	NwChunk    *chunk;			/* [nchunks] */
	int			nchunks;
	int			allocated;
	int			chunk_rows;
	char	   *id_space;		/* where the next id goes, and how much room */
	Size		id_room;
	Size		bytes;			/* of arrays and ids */
} NwSupport;

/*
 * Make an empty support with the columns that a scan returns.  The labels stay
 * the caller's until nw_support_move().
 */
extern NwSupport *nw_support_create(MemoryContext parent,
									const NwSource *source, int columns,
									NwLabels *labels);

/* Append a row whose dimensions have been checked. */
extern void nw_support_append(NwSupport *support, const NwRow *row, int class);

/* Bytes allocated in all. */
extern Size nw_support_memory(const NwSupport *support);

/* Make a support and its labels live as long as a context. */
extern void nw_support_move(NwSupport *support, MemoryContext parent);

/* Free the rows; the labels, unless moved, stay. */
extern void nw_support_free(NwSupport *support);

#endif							/* NW_SUPPORT_H */
