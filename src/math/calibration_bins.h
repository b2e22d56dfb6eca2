/*
 * math/calibration_bins.h
 *		How honest confidences are: calibration bins and what follows of them.
 *
 * Bin i of n holds the confidences in (i / n, (i + 1) / n], the borders as
 * double arithmetic rounds them; 0 belongs to the first bin.  A confidence is
 * a probability: what rounding put above 1 counts as 1.
 *
 * Confidences are summed as integers, multiples of 2^-80: neither their order
 * nor a split over several NwBins shows in any result, to the last digit.
 *
 * Pure C: no PostgreSQL, no allocation, no errors.
 */
#ifndef NW_MATH_CALIBRATION_BINS_H
#define NW_MATH_CALIBRATION_BINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "math/mass.h"

#define NW_CALIBRATION_BINS_MAX 10000

typedef struct NwCalibrationBin
{
	int64_t count;
	int64_t correct;
	nw_uint128 confidence; /* sum of confidences * 2^80 */
} NwCalibrationBin;

/* One piece of memory without pointers: it may be copied and sent as bytes. */
typedef struct NwBins
{
	int64_t n;
	NwCalibrationBin bin[]; /* [n] */
} NwBins;

extern size_t nw_bins_size(int n);
extern void nw_bins_init(NwBins *bins, int n);
extern bool nw_confidence_is_valid(double confidence);
extern int nw_bins_find(int n, double confidence);
extern double nw_bins_border(int n, int i);
extern void nw_bins_add(NwBins *bins, double confidence, bool correct);
extern void nw_bin_add(NwCalibrationBin *bin, double confidence, bool correct);
extern void nw_bins_merge(NwBins *bins, const NwBins *other);
extern int64_t nw_bins_count(const NwBins *bins);
extern double nw_bin_confidence(const NwCalibrationBin *bin);
extern double nw_bin_accuracy(const NwCalibrationBin *bin);
extern double nw_bin_gap(const NwCalibrationBin *bin);
extern double nw_bins_ece(const NwBins *bins);
extern double nw_bins_mce(const NwBins *bins);

#endif /* NW_MATH_CALIBRATION_BINS_H */
