/*
 * fuzz_vector_text.c
 *		Plain text as a vector: never more elements than there is room for,
 *		each a finite number.
 *
 * options: -max_len=512 -only_ascii=1
 */
#include <math.h>
#include <stdlib.h>

#include "bytes/vector_text.h"
#include "harness.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text((FuzzInput) {data, size});
	int room = nw_vector_text_room(text);
	float *x = malloc((size_t) (room > 0 ? room : 1) * sizeof(float));
	int dim = room > 0 ? nw_vector_text_read(text, x, room) : 0;

	if (dim > room)
		fuzz_broken("there is room for all elements");
	for (int i = 0; i < dim; i++)
		if (!isfinite(x[i]))
			fuzz_broken("elements are finite");
	free(x);
	free(text);
	return 0;
}
