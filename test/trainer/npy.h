/*
 * npy.h: floats for Python to read.
 */
#ifndef NW_TEST_NPY_H
#define NW_TEST_NPY_H

#include <stddef.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/text.h"
#include "graph/shape.h"

/* Write floats as FOLDER/NAME.npy, a file of NumPy's. */
static inline void
save_npy(const char *folder, const char *name, const NwShape *s, const float *v)
{
	NwBuf b = {0};
	NwBuf dims = {0};
	char *path = nw_printf("%s/%s.npy", folder, name);

	for (int i = 0; i < s->rank; i++)
		nw_buf_printf(&dims, "%lld,", (long long) s->dim[i]);
	nw_buf_add(&b, "\x93NUMPY\x01\x00", 8);
	nw_buf_add(&b, (unsigned char[]) {246, 0}, 2); /* what is left of 256 */
	nw_buf_printf(&b, "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }",
	              dims.data ? dims.data : "");
	while (b.len < 255)
		nw_buf_add(&b, " ", 1);
	nw_buf_add(&b, "\n", 1);
	nw_buf_add(&b, v, (size_t) nw_shape_size(s) * sizeof(float));
	nw_write_file(path, b.data, b.len);
	nw_buf_free(&b);
	nw_buf_free(&dims);
	free(path);
}

#endif
