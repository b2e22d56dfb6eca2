/*
 * predict/support.h
 *		A support set packed in memory: vectors, classes and ids by the chunk.
 */
#ifndef NW_PREDICT_SUPPORT_H
#define NW_PREDICT_SUPPORT_H

#include "postgres.h"

#include "math/copies.h"
#include "predict/tally.h"
#include "sets/labels.h"
#include "sets/scan.h"

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

/* The rows of a set, in chunks. */
typedef struct NwSupport
{
	MemoryContext mcxt;
	NwKernel kernel;
	double tau;
	double temper;
	int dim; /* 0 until the first row */
	bool has_ids;
	bool has_weights;
	bool shared; /* outlives the statement: see prototypes.c */
	int64 n;     /* rows */
	NwLabels *labels;
	NwTextOut id_out;
	NwChunk *chunk; /* [nchunks] */
	int nchunks;
	int allocated;
	int chunk_rows; /* room of the last chunk; the first has NW_BLOCK_ROWS */
	bool has_copies;
	NwCopies coarse;    /* of the copies */
	int labels_asked;   /* calls that wanted nothing but a label */
	int labels_unsure;  /* those of them that the copies did not settle */
	int64 *class_start; /* [labels->n + 1] once sorted: first row of each class in byte order */
	char *id_space;     /* where the next id goes */
	Size id_room;       /* how much room there is */
	Size bytes;         /* of arrays and ids */
} NwSupport;

extern NwSupport *nw_support_create(MemoryContext parent, const NwSource *source, int columns,
                                    NwLabels *labels);
extern void nw_support_append(NwSupport *support, const NwRow *row, int class);
extern NwSupport *nw_support_read(const NwSource *source, int columns, Size bound);
extern NwSupport *nw_support_read_sorted(const NwSource *source, int columns, Size bound);
extern void nw_support_report_too_big(const NwSource *source);
extern void nw_support_check_rows(const NwSupport *support, const NwSource *source);
extern void nw_support_sort(NwSupport *support, bool canonical);
extern Size nw_support_copies_size(const NwSupport *support);
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

/* The class of a row. */
static inline int
nw_support_class(const NwSupport *support, int64 row)
{
	int place;
	const NwChunk *chunk = nw_support_locate(support, row, &place);

	return chunk->class[place];
}

/* The id of a row; NULL where it is null or the support has no ids. */
static inline const char *
nw_support_id(const NwSupport *support, int64 row)
{
	int place;
	const NwChunk *chunk = nw_support_locate(support, row, &place);

	return chunk->id ? chunk->id[place] : NULL;
}

extern Size nw_support_memory(const NwSupport *support);
extern void nw_support_move(NwSupport *support, MemoryContext parent);
extern void nw_support_free(NwSupport *support);

#endif /* NW_PREDICT_SUPPORT_H */
