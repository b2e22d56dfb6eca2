/*
 * fuzz_score.c
 *		States of nw_score: what is read can be merged and gives numbers.
 *
 * options: -max_len=1024
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bytes/aggregate_state.h"
#include "harness.h"
#include "math/calibration_bins.h"
#include "math/sum.h"

/* Add a sum to itself, as the combine function does; the result is a number. */
static void
use_sum(const NwMass *mass)
{
	NwSum sum;
	NwSum other;

	nw_sum_clear(&sum);
	nw_sum_clear(&other);
	other.mass = *mass;
	nw_sum_merge(&sum, &other);
	if (memcmp(sum.mass.bin, mass->bin, sizeof(mass->bin)) != 0 || sum.mass.top != mass->top)
		fuzz_broken("an empty sum takes another as it is");
	if (!(nw_sum_value(&sum) >= 0))
		fuzz_broken("a sum is not below 0");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	void *copy = fuzz_copy((FuzzInput) {data, size});
	NwStateReader reader;
	NwScoreHead head;

	if (nw_score_read_begin(&reader, copy, size, &head))
	{
		NwBins *bins = fuzz_copy((FuzzInput) {head.bins, head.bins_size});
		const char *label;
		int len;
		int64_t n;
		int64_t correct;

		while (nw_score_read_next(&reader, &label, &len, &n, &correct))
		{
			fuzz_use(label, (size_t) len);
			if (n < 1 || correct < 0 || correct > n)
				fuzz_broken("no more rows are correct than there are");
		}
		(void) nw_state_read_end(&reader);
		use_sum(&head.loss);
		use_sum(&head.brier);
		if (!(nw_bins_ece(bins) >= 0 && nw_bins_ece(bins) <= 1))
			fuzz_broken("an error is in [0, 1]");
		free(bins);
	}
	free(copy);
	return 0;
}
