/*
 * sets/number_array.c
 *		Vectors out of arrays of numbers, as clients send them that do not know
 *		pgvector's types.
 *
 * A number becomes what pgvector's own casts make of it: the nearest float.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "sets/number_array.h"

/* Say whether elements of a type are numbers. */
static bool
is_number(Oid type)
{
	switch (type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case FLOAT4OID:
		case FLOAT8OID:
		case NUMERICOID:
			return true;
		default:
			return false;
	}
}

/* Say whether a type is that of an array of numbers. */
bool
nw_is_number_array(Oid type)
{
	Oid element = get_element_type(type);

	return OidIsValid(element) && is_number(getBaseType(element));
}

/* Turn a number of one of these types into a float. */
static float
to_float(Datum number, Oid type)
{
	switch (type)
	{
		case INT2OID:
			return (float) DatumGetInt16(number);
		case INT4OID:
			return (float) DatumGetInt32(number);
		case INT8OID:
			return (float) DatumGetInt64(number);
		case FLOAT4OID:
			return DatumGetFloat4(number);
		case FLOAT8OID:
			return (float) DatumGetFloat8(number);
		default:
			Assert(type == NUMERICOID);
			return DatumGetFloat4(DirectFunctionCall1(numeric_float4, number));
	}
}

/* Read an array of numbers: one dimension, no nulls, nothing infinite. */
NwVectorData
nw_number_array_read(ArrayType *array)
{
	Oid type = getBaseType(ARR_ELEMTYPE(array));
	int16 typlen;
	bool typbyval;
	char typalign;
	Datum *elems;
	bool *nulls;
	int n;
	float *x;

	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
		        (errcode(ERRCODE_DATA_EXCEPTION),
		         errmsg("query must be an array of one dimension, not %d", ARR_NDIM(array))));
	get_typlenbyvalalign(type, &typlen, &typbyval, &typalign);
	deconstruct_array(array, ARR_ELEMTYPE(array), typlen, typbyval, typalign, &elems, &nulls, &n);
	if (n < 1 || n > NW_MAX_DIM)
		ereport(ERROR,
		        (errcode(ERRCODE_DATA_EXCEPTION),
		         errmsg("query must have between 1 and %d dimensions, not %d", NW_MAX_DIM, n)));
	x = palloc(n * sizeof(float));
	for (int i = 0; i < n; i++)
	{
		if (nulls[i])
			ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			                errmsg("query must not contain nulls")));
		x[i] = to_float(elems[i], type);
		if (!isfinite(x[i]))
			ereport(ERROR,
			        (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			         errmsg("query must have finite numbers within the range of type real")));
	}
	return (NwVectorData) {x, n};
}

/* The same of an array's text: {1,-2.5,3e-7}. */
NwVectorData
nw_number_array_parse(const char *text)
{
	Datum array = OidInputFunctionCall(F_ARRAY_IN, pstrdup(text), FLOAT4OID, -1);

	return nw_number_array_read(DatumGetArrayTypeP(array));
}
