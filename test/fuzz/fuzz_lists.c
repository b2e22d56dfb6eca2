/*
 * fuzz_lists.c
 *		Numbers and lists of the command line.
 *
 * options: -max_len=256
 */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "cli/options.h"
#include "harness.h"
#include "ort/device.h"

#define MOST 3

/* Read a text as everything an option may want. */
static void
read_list(void *arg)
{
	char *text = fuzz_text(*(FuzzInput *) arg);
	double *list = nw_alloc(MOST * sizeof(double));
	int n = nw_parse_list("train", "mean", text, "numbers", list, MOST);

	if (n < 0 || n > MOST)
		fuzz_broken("a list has at most so many numbers");
	for (int i = 0; i < n; i++)
		if (!(fabs(list[i]) <= 1e12))
			fuzz_broken("numbers are within their limits");
	free(list);
	free(text);
}

static void
read_int(void *arg)
{
	char *text = fuzz_text(*(FuzzInput *) arg);
	int64_t v = nw_parse_int("train", "size", text, -5, 4096);

	if (v < -5 || v > 4096)
		fuzz_broken("a whole number is within its limits");
	free(text);
}

static void
read_double(void *arg)
{
	char *text = fuzz_text(*(FuzzInput *) arg);
	double v = nw_parse_double("train", "tau", text, 1e-6, 1e6);

	if (!(v >= 1e-6 && v <= 1e6))
		fuzz_broken("a number is within its limits");
	free(text);
}

static void
read_device(void *arg)
{
	char *text = fuzz_text(*(FuzzInput *) arg);

	if (nw_parse_device("train", text) > NW_DEVICE_CUDA)
		fuzz_broken("a device is one of those there are");
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FuzzInput in = {data, size};

	fuzz_call(read_list, &in);
	fuzz_call(read_int, &in);
	fuzz_call(read_double, &in);
	fuzz_call(read_device, &in);
	return 0;
}
