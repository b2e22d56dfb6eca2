/*
 * graph/shape.c: shapes and element types of tensors.
 */
#include "graph/shape.h"
#include "base/message.h"
#include "base/text.h"

NwShape
nw_shape(int rank, const int64_t *dim)
{
	NwShape s = {.rank = rank};

	for (int i = 0; i < rank; i++)
		s.dim[i] = dim[i];
	return s;
}

int64_t
nw_shape_size(const NwShape *s)
{
	int64_t n = 1;

	for (int i = 0; i < s->rank; i++)
		n *= s->dim[i];
	return n;
}

/* Say whether a shape read from a file is within limits: rank, dimensions, size; 0 is a dimension.
 */
bool
nw_shape_is_possible(const NwShape *s)
{
	int64_t n = 1;

	if (s->rank < 0 || s->rank > NW_MAX_RANK)
		return false;
	for (int i = 0; i < s->rank; i++)
	{
		if (s->dim[i] < 0 || s->dim[i] > INT32_MAX)
			return false;
		if (s->dim[i] > 0 && (n *= s->dim[i]) > NW_MAX_ELEMENTS)
			return false;
	}
	return true;
}

bool
nw_shape_equal(const NwShape *a, const NwShape *b)
{
	if (a->rank != b->rank)
		return false;
	for (int i = 0; i < a->rank; i++)
		if (a->dim[i] != b->dim[i])
			return false;
	return true;
}

/* Write a shape as "[2,3,32,32]". */
char *
nw_shape_text(const NwShape *s)
{
	NwBuf b = {0};

	nw_buf_add(&b, "[", 1);
	for (int i = 0; i < s->rank; i++)
		nw_buf_printf(&b, "%s%lld", i ? "," : "", (long long) s->dim[i]);
	nw_buf_add(&b, "]", 1);
	return b.data;
}

/* Work out the shape of an element-wise operation, as NumPy does. */
NwShape
nw_shape_broadcast(const NwShape *a, const NwShape *b, const char *who)
{
	NwShape r = {.rank = a->rank > b->rank ? a->rank : b->rank};

	for (int i = 0; i < r.rank; i++)
	{
		int ia = i - (r.rank - a->rank);
		int ib = i - (r.rank - b->rank);
		int64_t da = ia < 0 ? 1 : a->dim[ia];
		int64_t db = ib < 0 ? 1 : b->dim[ib];

		if (da != db && da != 1 && db != 1)
			nw_fatal("operator %s: shapes %s and %s do not fit together", who, nw_shape_text(a),
			         nw_shape_text(b));
		r.dim[i] = da == 1 ? db : da;
	}
	return r;
}

size_t
nw_shape_bytes(const NwShape *s, NwDtype type)
{
	size_t width = type == NW_INT64 ? 8 : type == NW_BOOL ? 1 : 4;

	return (size_t) nw_shape_size(s) * width;
}
