/*
 * harness.c
 *		What the targets share.
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Take a byte. */
uint8_t
fuzz_byte(FuzzInput *in)
{
	if (in->size == 0)
		return 0;
	in->size--;
	return *in->data++;
}

/* Take a number of two bytes. */
uint16_t
fuzz_short(FuzzInput *in)
{
	uint8_t low = fuzz_byte(in);

	return (uint16_t) (low | fuzz_byte(in) << 8);
}

/* Take a piece of the input. */
FuzzInput
fuzz_piece(FuzzInput *in)
{
	FuzzInput piece = {NULL, fuzz_short(in)};

	piece.data = in->data;
	if (piece.size > in->size)
		piece.size = in->size;
	in->data += piece.size;
	in->size -= piece.size;
	return piece;
}

/* Allocate, or give up. */
static void *
must_alloc(size_t size)
{
	void *p = malloc(size > 0 ? size : 1);

	if (p == NULL)
		fuzz_broken("there is memory");
	return p;
}

/* Copy an input. */
void *
fuzz_copy(FuzzInput in)
{
	void *copy = must_alloc(in.size);

	if (in.size > 0)
		memcpy(copy, in.data, in.size);
	return copy;
}

/* Copy an input as a string. */
char *
fuzz_text(FuzzInput in)
{
	char *copy = must_alloc(in.size + 1);

	if (in.size > 0)
		memcpy(copy, in.data, in.size);
	copy[in.size] = 0;
	return copy;
}

/* Read all bytes. */
void
fuzz_use(const void *data, size_t size)
{
	static volatile uint8_t sink;
	const uint8_t *p = data;
	uint8_t sum = 0;

	for (size_t i = 0; i < size; i++)
		sum ^= p[i];
	sink = sum;
	(void) sink;
}

/* Report a broken promise. */
void
fuzz_broken(const char *promise)
{
	fprintf(stderr, "broken: %s\n", promise);
	abort();
}
