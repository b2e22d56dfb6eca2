/*
 * fuzz_array_text.c
 *		Any bytes as the text of an array: never more elements than there is
 *		room for, each within the space that was given.
 *
 * options: -max_len=512
 */
#include <stdlib.h>

#include "bytes/array_text.h"
#include "harness.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t room = nw_array_text_room((const char *) data, size);
	char *space = malloc(size > 0 ? size : 1);
	NwElement *element = malloc(room * sizeof(NwElement));
	long n = nw_array_text_read((const char *) data, size, space, element, room);

	if (n > (long) room)
		fuzz_broken("there is room for all elements");
	for (long i = 0; i < n; i++)
	{
		if (element[i].data == NULL)
			continue;
		if (element[i].data < space || element[i].data + element[i].len > space + size)
			fuzz_broken("elements are within their space");
	}
	free(element);
	free(space);
	return 0;
}
