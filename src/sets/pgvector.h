/*
 * sets/pgvector.h
 *		The only place that knows how pgvector stores its types.
 */
#ifndef NW_SETS_PGVECTOR_H
#define NW_SETS_PGVECTOR_H

#include "postgres.h"

#include "bytes/vector_text.h"

typedef enum NwVectorType
{
	NW_NOT_A_VECTOR,
	NW_VECTOR,
	NW_HALFVEC
} NwVectorType;

/* A decoded vector: floats that may lie in the datum itself. */
typedef struct NwVectorData
{
	const float *x; /* [dim] */
	int dim;
} NwVectorData;

extern NwVectorType nw_vector_type(Oid typid);
extern int nw_vector_typmod_dim(int32 typmod);
extern NwVectorData nw_vector_read(Datum datum, NwVectorType type);
extern const char *nw_vector_elements(Datum datum);
extern void nw_vector_decode(const char *elements, NwVectorType type, int n, float *x);
extern Datum nw_vector_make(const float *x, int dim);
extern Oid nw_vector_oid(void);
extern NwVectorData nw_vector_parse(const char *text);
extern void nw_vector_init(void);

#endif /* NW_SETS_PGVECTOR_H */
