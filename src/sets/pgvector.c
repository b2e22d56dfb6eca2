/*
 * sets/pgvector.c
 *		Read pgvector's vector and halfvec without linking to it.
 *
 * The layout below is pgvector's on-disk format: a varlena header, the number
 * of dimensions, two unused bytes, then the elements.  It has not changed
 * since vector and halfvec were introduced, and an on-disk format cannot.
 */
#include "postgres.h"

#include "catalog/dependency.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "bytes/vector_text.h"
#include "compat.h"
#include "math/simd/simd.h"
#include "sets/extension.h"
#include "sets/pgvector.h"

typedef struct StoredVector
{
	int32 vl_len_;
	int16 dim;
	int16 unused;
	float x[FLEXIBLE_ARRAY_MEMBER];
} StoredVector;

typedef struct StoredHalfvec
{
	int32 vl_len_;
	int16 dim;
	int16 unused;
	uint16 x[FLEXIBLE_ARRAY_MEMBER];
} StoredHalfvec;

StaticAssertDecl(offsetof(StoredVector, dim) == 4 && offsetof(StoredVector, x) == 8,
                 "vector's layout differs from pgvector's");
StaticAssertDecl(offsetof(StoredHalfvec, dim) == 4 && offsetof(StoredHalfvec, x) == 8,
                 "halfvec's layout differs from pgvector's");

/* Type OIDs, looked up once until a type changes. */
static Oid vector_oid = InvalidOid;
static Oid halfvec_oid = InvalidOid;

static void
forget_types(Datum arg, int cacheid, uint32 hashvalue)
{
	(void) arg;
	(void) cacheid;
	(void) hashvalue;
	vector_oid = InvalidOid;
	halfvec_oid = InvalidOid;
}

/* Install the callback that forgets the type OIDs. */
void
nw_vector_init(void)
{
	CacheRegisterSyscacheCallback(TYPEOID, forget_types, (Datum) 0);
}

/* Look up a type of pgvector's: of that name, and a member of the extension. */
static Oid
find_type(const char *name, Oid extension, Oid schema)
{
	Oid type = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum(name),
	                           ObjectIdGetDatum(schema));

	if (!OidIsValid(type) || getExtensionOfObject(TypeRelationId, type) != extension)
		ereport(
			ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
		     errmsg("extension \"vector\" has no type \"%s\"", name),
		     errhint(
				 "nwhead needs pgvector 0.7.0 or later: install it, then run ALTER EXTENSION vector UPDATE.")));
	return type;
}

/* Look up pgvector's types in pgvector's schema. */
static void
find_types(void)
{
	Oid schema;
	Oid extension;

	if (OidIsValid(vector_oid) && OidIsValid(halfvec_oid))
		return;
	extension = nw_extension_find("vector", &schema);
	if (!OidIsValid(extension))
		ereport(ERROR,
		        (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("extension \"vector\" is not installed"),
		         errhint("Run CREATE EXTENSION vector.")));
	vector_oid = find_type("vector", extension, schema);
	halfvec_oid = find_type("halfvec", extension, schema);
}

/* Say which of pgvector's types a type is. */
NwVectorType
nw_vector_type(Oid typid)
{
	find_types();
	if (typid == vector_oid)
		return NW_VECTOR;
	if (typid == halfvec_oid)
		return NW_HALFVEC;
	return NW_NOT_A_VECTOR;
}

/* Declared dimensions of a column, or 0 where it has none. */
int
nw_vector_typmod_dim(int32 typmod)
{
	return typmod > 0 ? typmod : 0;
}

/*
 * Read a datum.  The floats of a vector stored inline are not copied; anything
 * else is decoded into memory of the current context.
 */
NwVectorData
nw_vector_read(Datum datum, NwVectorType type)
{
	NwVectorData result;
	struct varlena *stored = (struct varlena *) DatumGetPointer(datum);

	if (VARATT_IS_EXTENDED(stored))
		stored = pg_detoast_datum(stored);

	if (type == NW_VECTOR)
	{
		result.dim = ((StoredVector *) stored)->dim;
		result.x = ((StoredVector *) stored)->x;
	}
	else
	{
		StoredHalfvec *half = (StoredHalfvec *) stored;
		float *x = palloc(sizeof(float) * half->dim);

		Assert(type == NW_HALFVEC);
		nw_simd->half_to_float(half->x, half->dim, x);
		result.dim = half->dim;
		result.x = x;
	}
	return result;
}

/* The stored elements of a datum that is not toasted. */
const char *
nw_vector_elements(Datum datum)
{
	/* both types have the same head */
	return (const char *) ((StoredVector *) DatumGetPointer(datum))->x;
}

/* Turn stored elements into floats. */
void
nw_vector_decode(const char *elements, NwVectorType type, int n, float *x)
{
	if (type == NW_VECTOR)
		memcpy(x, elements, sizeof(float) * n);
	else
		nw_simd->half_to_float((const uint16 *) elements, n, x);
}

/* Make a datum of type vector. */
Datum
nw_vector_make(const float *x, int dim)
{
	Size size = offsetof(StoredVector, x) + sizeof(float) * dim;
	StoredVector *stored = palloc0(size);

	SET_VARSIZE(stored, size);
	stored->dim = dim;
	memcpy(stored->x, x, sizeof(float) * dim);
	return PointerGetDatum(stored);
}

Oid
nw_vector_oid(void)
{
	find_types();
	return vector_oid;
}

NwVectorData
nw_vector_parse(const char *text)
{
	Oid input;
	Oid ioparam;
	Datum datum;
	int room = nw_vector_text_room(text);

	/* the first prediction of a connection need not load pgvector for it */
	if (room > 0)
	{
		float *x = palloc(room * sizeof(float));
		int dim = nw_vector_text_read(text, x, room);

		if (dim > 0)
			return (NwVectorData) {x, dim};
		pfree(x);
	}
	find_types();
	getTypeInputInfo(vector_oid, &input, &ioparam);
	datum = OidInputFunctionCall(input, pstrdup(text), ioparam, -1);
	return nw_vector_read(datum, NW_VECTOR);
}
