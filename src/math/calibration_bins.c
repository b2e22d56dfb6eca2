/*
 * math/calibration_bins.c
 *		How honest confidences are: calibration bins and what follows of them.
 */
#include "math/calibration_bins.h"

#include <math.h>
#include <string.h>

/* sums of confidences are multiples of 2^-CONFIDENCE_BITS */
#define CONFIDENCE_BITS 80

/* how far rounding may lead above 1: a sum of 2^20 terms, each with its own */
#define ROUNDING 0x1p-32

/* Bytes of an NwBins of n bins. */
size_t
nw_bins_size(int n)
{
	return offsetof(NwBins, bin) + sizeof(NwCalibrationBin) * (size_t) n;
}

/* Make n empty bins; n is in 1 .. NW_CALIBRATION_BINS_MAX. */
void
nw_bins_init(NwBins *bins, int n)
{
	memset(bins, 0, nw_bins_size(n));
	bins->n = n;
}

/* True for a number in [0, 1], or a rounding above. */
bool
nw_confidence_is_valid(double confidence)
{
	return confidence >= 0 && confidence <= 1 + ROUNDING;
}

/* Border i of n bins: the lower one of bin i, the upper one of bin i - 1. */
double
nw_bins_border(int n, int i)
{
	return (double) i / n;
}

/* The bin of a confidence. */
int
nw_bins_find(int n, double confidence)
{
	int i;

	/* written so that NaN ends in the first bin */
	if (!(confidence > 0))
		return 0;
	if (confidence >= 1)
		return n - 1;

	/* the product is rounded, as the borders are: look at these */
	i = (int) (confidence * n);
	if (i > n - 1)
		i = n - 1;
	while (i > 0 && confidence <= nw_bins_border(n, i))
		i--;
	while (i < n - 1 && confidence > nw_bins_border(n, i + 1))
		i++;
	return i;
}

/* Turn a confidence into an integer, exactly down to 2^-27. */
static nw_uint128
fixed_point(double confidence)
{
	double high;

	if (!(confidence > 0))
		return 0;
	if (confidence >= 1)
		return (nw_uint128) 1 << CONFIDENCE_BITS;

	/* the first 40 bits, then what is left of the number: both exact */
	confidence *= 0x1p40;
	high = floor(confidence);
	return ((nw_uint128) (uint64_t) high << (CONFIDENCE_BITS - 40)) +
	       (uint64_t) ((confidence - high) * 0x1p40);
}

/* Add a confidence to a bin of its own, zeroed at first. */
void
nw_bin_add(NwCalibrationBin *bin, double confidence, bool correct)
{
	bin->count++;
	bin->correct += correct;
	bin->confidence += fixed_point(confidence);
}

/* Add a confidence to the bin where it belongs. */
void
nw_bins_add(NwBins *bins, double confidence, bool correct)
{
	nw_bin_add(&bins->bin[nw_bins_find((int) bins->n, confidence)], confidence, correct);
}

/* Add the contents of other bins, of the same number. */
void
nw_bins_merge(NwBins *bins, const NwBins *other)
{
	for (int64_t i = 0; i < bins->n; i++)
	{
		bins->bin[i].count += other->bin[i].count;
		bins->bin[i].correct += other->bin[i].correct;
		bins->bin[i].confidence += other->bin[i].confidence;
	}
}

/* How many confidences were added. */
int64_t
nw_bins_count(const NwBins *bins)
{
	int64_t count = 0;

	for (int64_t i = 0; i < bins->n; i++)
		count += bins->bin[i].count;
	return count;
}

/* Divide a sum by how many it is of; 0 of none. */
static double
mean(nw_uint128 sum, int64_t count)
{
	return count == 0 ? 0 : (double) sum * 0x1p-80 / (double) count;
}

/* Take a bin's |correct - confidence|, exactly, times 2^CONFIDENCE_BITS. */
static nw_uint128
distance(const NwCalibrationBin *bin)
{
	nw_uint128 correct = (nw_uint128) bin->correct << CONFIDENCE_BITS;

	return correct > bin->confidence ? correct - bin->confidence : bin->confidence - correct;
}

/* The mean; 0 of an empty bin. */
double
nw_bin_confidence(const NwCalibrationBin *bin)
{
	return mean(bin->confidence, bin->count);
}

/* The share that was correct; 0 of an empty bin. */
double
nw_bin_accuracy(const NwCalibrationBin *bin)
{
	return bin->count == 0 ? 0 : (double) bin->correct / (double) bin->count;
}

/* Accuracy minus confidence. */
double
nw_bin_gap(const NwCalibrationBin *bin)
{
	double gap = mean(distance(bin), bin->count);
	nw_uint128 correct = (nw_uint128) bin->correct << CONFIDENCE_BITS;

	return correct < bin->confidence ? -gap : gap;
}

/*
 * Expected calibration error: the bins' |gap|, weighted by their share; 0 where
 * nothing was added.
 */
double
nw_bins_ece(const NwBins *bins)
{
	nw_uint128 sum = 0;

	for (int64_t i = 0; i < bins->n; i++)
		sum += distance(&bins->bin[i]);
	return mean(sum, nw_bins_count(bins));
}

/* Maximum calibration error: the largest |gap|; 0 where nothing was added. */
double
nw_bins_mce(const NwBins *bins)
{
	double result = 0;

	for (int64_t i = 0; i < bins->n; i++)
	{
		double gap = fabs(nw_bin_gap(&bins->bin[i]));

		result = gap > result ? gap : result;
	}
	return result;
}
