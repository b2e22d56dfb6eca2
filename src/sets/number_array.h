/*
 * sets/number_array.h
 *		Vectors out of arrays of numbers.
 */
#ifndef NW_SETS_NUMBER_ARRAY_H
#define NW_SETS_NUMBER_ARRAY_H

#include "postgres.h"

#include "utils/array.h"

#include "sets/pgvector.h"

extern bool nw_is_number_array(Oid type);
extern NwVectorData nw_number_array_read(ArrayType *array);
extern NwVectorData nw_number_array_parse(const char *text);

#endif /* NW_SETS_NUMBER_ARRAY_H */
