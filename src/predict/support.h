/*
 * predict/support.h
 *		A support set packed in memory: vectors, classes and ids by the chunk.
 */
#ifndef NW_PREDICT_SUPPORT_H
#define NW_PREDICT_SUPPORT_H

#include "postgres.h"

#include "math/copies.h"
#include "sets/labels.h"
#include "sets/source.h"

/* Rows measured at a time. */
#define NW_BLOCK_ROWS 256

/* A run of rows.  Arrays that the support does not need are NULL. */
typedef struct NwChunk
{
	int n;
	float *x;           /* [n][dim] */
	int16 *copy;        /* [n][dim] half-size, once made */
	int32 *class;       /* [n] */
	double *norm;       /* [n] see nw_row_norms() */
	double *log_weight; /* [n] */
	const char **id;    /* [n] output text; NULL for a null id */
} NwChunk;

typedef struct NwSupport
{
	MemoryContext mcxt;
	NwKernel kernel;
	double tau;
	int dim; /* 0 until the first row */
	bool has_ids;
	bool has_weights;
	bool shared; /* outlives the statement: see prototypes.c */
	int64 n;
	NwLabels *labels;
	NwTextOut id_out;
	NwChunk *chunk; /* [nchunks] */
	int nchunks;
	int allocated;
	int chunk_rows; /* of the last chunk; the first has
	                 * NW_BLOCK_ROWS */
	bool has_copies;
	NwCopies coarse;    /* of the copies */
	int labels_asked;   /* calls that wanted nothing but a label, */
	int labels_unsure;  /* and those that the copies did not settle */
	int64 *class_start; /* [labels->n + 1] once sorted: where the rows
	                     * of the i-th class in byte order begin */
	char *id_space;     /* where the next id goes, and how much room */
	Size id_room;
	Size bytes; /* of arrays and ids */
} NwSupport;

/*
 * Make an empty support with the columns that a scan returns.  The labels stay
 * the caller's until nw_support_move().
 */
extern NwSupport *nw_support_create(MemoryContext parent, const NwSource *source, int columns,
                                    NwLabels *labels);

/* Append a row whose dimensions have been checked. */
extern void nw_support_append(NwSupport *support, const NwRow *row, int class);

/* Read all labelled rows of a set; NULL where they take more than bound. */
extern NwSupport *nw_support_read(const NwSource *source, int columns, Size bound);

/* Complain about a set that has to fit in memory and does not. */
extern void nw_support_report_too_big(const NwSource *source);

/* Insist that a set has at least one labelled row. */
extern void nw_support_check_rows(const NwSupport *support, const NwSource *source);

/*
 * Put the rows in byte order of their labels; canonical also orders the rows
 * of a class by their vectors, weights and ids, so that nothing is left of the
 * order in which they were read.
 */
extern void nw_support_sort(NwSupport *support, bool canonical);

/*
 * What half-size copies of the rows would take, or 0 where there is no point
 * in them.
 */
extern Size nw_support_copies_size(const NwSupport *support);

/* Make the copies. */
extern void nw_support_make_copies(NwSupport *support);

/* Find a row: its chunk and its place there. */
static inline const NwChunk *
nw_support_locate(const NwSupport *support, int64 row, int *place)
{
	if (row < NW_BLOCK_ROWS)
	{
		*place = (int) row;
		return &support->chunk[0];
	}
	row -= NW_BLOCK_ROWS;
	*place = (int) (row % support->chunk_rows);
	return &support->chunk[1 + row / support->chunk_rows];
}

/* The vector of a row. */
static inline const float *
nw_support_vector(const NwSupport *support, int64 row)
{
	int place;
	const NwChunk *chunk = nw_support_locate(support, row, &place);

	return chunk->x + (Size) place * support->dim;
}

/* Bytes allocated in all. */
extern Size nw_support_memory(const NwSupport *support);

/* Make a support and its labels live as long as a context. */
extern void nw_support_move(NwSupport *support, MemoryContext parent);

/* Free the rows; the labels, unless moved, stay. */
extern void nw_support_free(NwSupport *support);

#endif /* NW_PREDICT_SUPPORT_H */
