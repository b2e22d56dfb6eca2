/*
 * fuzz_bins.c
 *		States of nw_ece and nw_mce: what is accepted can be merged and gives
 *		errors in [0, 1].
 *
 * options: -max_len=1024
 */
#include <stdlib.h>
#include <string.h>

#include "bytes/aggregate_state.h"
#include "harness.h"
#include "math/calibration_bins.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	NwBins *bins;
	NwBins *sum;
	double ece;
	double mce;

	/* one byte off, as a short varlena would be */
	if (size < 1 || !nw_bins_are_valid(data + 1, size - 1))
		return 0;
	bins = fuzz_copy((FuzzInput) {data + 1, size - 1});
	sum = malloc(nw_bins_size((int) bins->n));
	nw_bins_init(sum, (int) bins->n);
	nw_bins_merge(sum, bins);
	if (memcmp(sum, bins, size - 1) != 0)
		fuzz_broken("empty bins take others as they are");
	nw_bins_merge(sum, bins);
	nw_bins_add(sum, 0.5, true);
	ece = nw_bins_ece(sum);
	mce = nw_bins_mce(sum);
	if (!(ece >= 0 && ece <= 1 && mce >= 0 && mce <= 1) || nw_bins_count(sum) < 1)
		fuzz_broken("errors are in [0, 1]");
	free(bins);
	free(sum);
	return 0;
}
