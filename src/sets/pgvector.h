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

/* Say which of pgvector's types a type is. */
extern NwVectorType nw_vector_type(Oid typid);

/* Declared dimensions of a column, or 0 where it has none. */
extern int nw_vector_typmod_dim(int32 typmod);

/*
 * Read a datum.  The floats of a vector stored inline are not copied; anything
 * else is decoded into memory of the current context.
 */
extern NwVectorData nw_vector_read(Datum datum, NwVectorType type);

/* The stored elements of a datum that is not toasted, and floats out of them. */
extern const char *nw_vector_elements(Datum datum);
extern void nw_vector_decode(const char *elements, NwVectorType type, int n, float *x);

/* Make a datum of type vector. */
extern Datum nw_vector_make(const float *x, int dim);

/* The OID of type vector. */
extern Oid nw_vector_oid(void);

/* Parse the text form of a vector. */
extern NwVectorData nw_vector_parse(const char *text);

/* Forget what was looked up; called when types may have changed. */
extern void nw_vector_init(void);

#endif /* NW_SETS_PGVECTOR_H */
