/*
 * test_calibration_bins.c
 *		Calibration bins: exact at their borders, the same in any order.
 */
#include <math.h>
#include <string.h>

#include "check.h"
#include "math/calibration_bins.h"

/* Make empty bins of exact size. */
static NwBins *
make(int n)
{
	NwBins *bins = check_alloc(nw_bins_size(n));

	nw_bins_init(bins, n);
	return bins;
}

/* Look for a confidence among the borders. */
static void
check_bin(int n, double confidence)
{
	int i = nw_bins_find(n, confidence);

	CHECK(i >= 0 && i < n, "%a in %d bins: %d", confidence, n, i);
	if (confidence > 1 || confidence <= 0)
		CHECK(i == (confidence > 1 ? n - 1 : 0), "%a in %d bins: %d", confidence, n, i);
	else
		CHECK((double) i / n < confidence && confidence <= (double) (i + 1) / n,
		      "%a in %d bins: %d", confidence, n, i);
}

/* Look for borders and their neighbours. */
static void
check_borders(int n)
{
	for (int i = 0; i <= n; i++)
	{
		double border = nw_bins_border(n, i);

		CHECK(border == (double) i / n, "border %d of %d", i, n);
		check_bin(n, border);
		check_bin(n, nextafter(border, 2));
		check_bin(n, nextafter(border, -1));
		if (i > 0)
			CHECK(nw_bins_find(n, border) == i - 1, "border %d of %d", i, n);
	}
	for (int i = 0; i < 200; i++)
		check_bin(n, check_uniform(0, 1));
	check_bin(n, 0x1p-1074);
	check_bin(n, 1 + 1e-9);
	check_bin(n, -0.0);
	CHECK(nw_bins_find(n, 0) == 0 && nw_bins_find(n, 1) == n - 1, "%d", n);
	CHECK(nw_bins_find(n, NAN) == 0, "%d", n);
}

/* Compare errors with their definition, and any order and split. */
static void
check_errors(int n, int count)
{
	NwBins *whole = make(n);
	NwBins *parts[2] = {make(n), make(n)};
	double *confidence = check_alloc(sizeof(double) * count);
	bool *correct = check_alloc(sizeof(bool) * count);
	long double ece = 0;
	long double mce = 0;

	for (int i = 0; i < count; i++)
	{
		switch (check_below(10))
		{
			case 0:
				confidence[i] = 1;
				break;
			case 1:
				confidence[i] = exp(check_uniform(-700, 0));
				break;
			case 2:
				confidence[i] = check_below(n + 1) / (double) n;
				break;
			default:
				confidence[i] = check_uniform(0, 1);
				break;
		}
		correct[i] = check_uniform(0, 1) < confidence[i] * confidence[i];
		nw_bins_add(whole, confidence[i], correct[i]);
	}
	for (int i = count - 1; i >= 0; i--)
		nw_bins_add(parts[check_below(2)], confidence[i], correct[i]);
	nw_bins_merge(parts[1], parts[0]);
	CHECK(memcmp(whole, parts[1], nw_bins_size(n)) == 0, "%d in %d", count, n);
	CHECK(nw_bins_count(whole) == count, "%d in %d", count, n);

	for (int b = 0; b < n; b++)
	{
		const NwCalibrationBin *bin = &whole->bin[b];
		long double sum = 0;
		long double right = 0;
		int members = 0;

		for (int i = 0; i < count; i++)
		{
			if (nw_bins_find(n, confidence[i]) != b)
				continue;
			members++;
			sum += confidence[i];
			right += correct[i];
		}
		CHECK(bin->count == members, "bin %d", b);
		if (members == 0)
		{
			CHECK(nw_bin_confidence(bin) == 0 && nw_bin_accuracy(bin) == 0 && nw_bin_gap(bin) == 0,
			      "bin %d", b);
			continue;
		}
		ece += fabsl(right - sum);
		mce = fmaxl(mce, fabsl(right - sum) / members);
		CHECK(fabsl(nw_bin_confidence(bin) - sum / members) < 1e-16L * 3, "bin %d: %a", b,
		      nw_bin_confidence(bin));
		CHECK(fabsl(nw_bin_accuracy(bin) - right / members) < 1e-16L * 3, "bin %d: %a", b,
		      nw_bin_accuracy(bin));
		CHECK(fabsl(nw_bin_gap(bin) - (right - sum) / members) < 1e-16L * 3, "bin %d: %a", b,
		      nw_bin_gap(bin));
	}
	if (count > 0)
		ece /= count;
	CHECK(fabsl(nw_bins_ece(whole) - ece) < 1e-15L, "%d in %d: %.17g", count, n,
	      nw_bins_ece(whole));
	CHECK(fabsl(nw_bins_mce(whole) - mce) < 1e-15L, "%d in %d: %.17g", count, n,
	      nw_bins_mce(whole));

	free(correct);
	free(confidence);
	free(parts[1]);
	free(parts[0]);
	free(whole);
}

/* Check values that can be worked out by hand. */
static void
check_by_hand(void)
{
	NwBins *bins = make(15);

	CHECK(nw_bins_ece(bins) == 0 && nw_bins_mce(bins) == 0, "empty");
	/* a saturated prediction counts, and one above 1 as much as 1 */
	nw_bins_add(bins, 1.0, false);
	CHECK(nw_bins_ece(bins) == 1 && nw_bins_mce(bins) == 1, "%g", nw_bins_ece(bins));
	nw_bins_add(bins, 1 + 1e-12, true);
	CHECK(nw_bins_ece(bins) == 0.5 && bins->bin[14].count == 2, "%g", nw_bins_ece(bins));
	nw_bins_add(bins, 0, false);
	nw_bins_add(bins, 0.25, true);
	CHECK(nw_bins_ece(bins) == (0.5 * 2 + 0.75) / 4, "%g", nw_bins_ece(bins));
	CHECK(nw_bins_mce(bins) == 0.75, "%g", nw_bins_mce(bins));
	free(bins);

	CHECK(nw_confidence_is_valid(0) && nw_confidence_is_valid(1) &&
	          nw_confidence_is_valid(nextafter(1, 2)),
	      "valid");
	CHECK(!nw_confidence_is_valid(-1e-9) && !nw_confidence_is_valid(1.001) &&
	          !nw_confidence_is_valid(NAN) && !nw_confidence_is_valid(HUGE_VAL),
	      "not valid");
}

int
main(void)
{
	check_start("metrics");
	for (int n = 1; n <= 200; n++)
		check_borders(n);
	check_borders(1000);
	check_borders(9973);
	check_borders(NW_CALIBRATION_BINS_MAX);
	check_errors(15, 0);
	check_errors(1, 1000);
	check_errors(15, 5000);
	check_errors(100, 3000);
	check_by_hand();
	return check_finish();
}
