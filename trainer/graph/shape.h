/*
 * graph/shape.h: shapes and element types of tensors.
 */
#ifndef NW_SHAPE_H
#define NW_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"

#define NW_MAX_RANK 6

/* more than any device holds, few enough that no product overflows */
#define NW_MAX_ELEMENTS (INT64_C(1) << 33)

/* element types, with ONNX's numbers */
typedef enum NwDtype
{
	NW_FLOAT = 1,
	NW_INT64 = 7,
	NW_BOOL = 9
} NwDtype;

typedef struct NwShape
{
	int rank;
	int64_t dim[NW_MAX_RANK];
} NwShape;

#define NW_SHAPE(...) nw_shape(NW_LENGTH(((int64_t[]) {__VA_ARGS__})), (int64_t[]) {__VA_ARGS__})
#define NW_NO_DIMS ((NwShape) {0})

NwShape nw_shape(int rank, const int64_t *dim);
int64_t nw_shape_size(const NwShape *s);
size_t nw_shape_bytes(const NwShape *s, NwDtype type);
bool nw_shape_is_possible(const NwShape *s);
bool nw_shape_equal(const NwShape *a, const NwShape *b);
NwShape nw_shape_broadcast(const NwShape *a, const NwShape *b, const char *who);
char *nw_shape_text(const NwShape *s);

#endif
