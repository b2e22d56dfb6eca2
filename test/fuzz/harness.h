/*
 * harness.h
 *		What the targets share.
 *
 * The external program ends where its input is wrong.  Here it goes back to
 * where the input was given to it, and what it held is given back, so that
 * one process reads a million inputs and a leak is a leak.
 */
#ifndef NW_HARNESS_H
#define NW_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An input, to be read from its beginning; numbers and pieces past its end are 0 and empty. */
typedef struct FuzzInput
{
	const uint8_t *data;
	size_t size;
} FuzzInput;

extern uint8_t fuzz_byte(FuzzInput *in);
extern uint16_t fuzz_short(FuzzInput *in); /* lowest byte first */

/* Take a piece: a short says its length. */
extern FuzzInput fuzz_piece(FuzzInput *in);

/* Copy what is left to memory of its exact size, so that one byte too many is seen. */
extern void *fuzz_copy(FuzzInput in);

/* The same, with a zero byte behind it. */
extern char *fuzz_text(FuzzInput in);

/* Make a computation's result one that no compiler leaves out. */
extern void fuzz_use(const void *data, size_t size);

/* Say that the code under test broke a promise, and crash. */
extern void fuzz_broken(const char *promise) __attribute__((noreturn));

/* Call; false where the program would have ended. */
extern bool fuzz_call(void (*work)(void *arg), void *arg);

/* Put bytes into file number 0, 1 or 2, and return its path. */
extern const char *fuzz_file(int number, FuzzInput content);

#endif /* NW_HARNESS_H */
