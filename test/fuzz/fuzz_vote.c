/*
 * fuzz_vote.c
 *		States of nw_vote and nw_argmax: what is read can be merged and gives
 *		probabilities.
 *
 * options: -max_len=1024
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bytes/aggregate_state.h"
#include "harness.h"

#define MOST 32

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	void *copy = fuzz_copy((FuzzInput) {data, size});
	NwStateReader reader;
	NwMass mass[MOST];
	NwScaled value[MOST];
	NwScaled total;
	double sum = 0;
	int n = 0;

	if (nw_vote_read_begin(&reader, copy, size))
	{
		const char *label;
		int len;

		while (n < MOST && nw_vote_read_next(&reader, &label, &len, &mass[n]))
		{
			fuzz_use(label, (size_t) len);
			n++;
		}
		(void) nw_state_read_end(&reader);
	}
	free(copy);
	if (n == 0)
		return 0;

	/* as the combine and final functions do */
	for (int i = 0; i < n; i++)
	{
		NwMass merged;

		nw_mass_clear(&merged);
		nw_mass_merge(&merged, &mass[i]);
		if (memcmp(merged.bin, mass[i].bin, sizeof(merged.bin)) != 0 || merged.top != mass[i].top)
			fuzz_broken("an empty mass takes another as it is");
		nw_mass_merge(&merged, &mass[(i + 1) % n]);
		value[i] = nw_mass_value(&mass[i]);
	}
	total = nw_scaled_sum(value, n);
	for (int i = 0; i < n; i++)
	{
		double p = nw_scaled_ratio(value[i], total);

		(void) nw_scaled_compare(value[i], total);
		if (!(p >= 0 && p <= 1 + 1e-9))
			fuzz_broken("a probability is in [0, 1]");
		sum += p;
	}
	if (!(fabs(sum - 1) < 1e-9))
		fuzz_broken("probabilities add up to 1");
	return 0;
}
