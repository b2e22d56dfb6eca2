/*
 * bytes/aggregate_state.c
 *		Read the aggregates' states out of bytes, as one process of a parallel
 *		plan hands them to another.
 */
#include "bytes/aggregate_state.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "math/calibration_bins.h"

/* bytes of a label's entry beside the label itself */
#define ENTRY_SIZE (4 + 8 + 16 * NW_BINS)

/* no bin has an index beyond this, whatever the distance and tau */
#define TOP_MAX 1e250

/* a sum of confidences overflows with more than this */
#define COUNT_MAX ((int64_t) 1 << 47)

/* Read a number, highest byte first. */
static uint64_t
read_number(NwVoteReader *reader, int bytes)
{
	uint64_t number = 0;

	for (int i = 0; i < bytes; i++)
		number = number << 8 | reader->at[i];
	reader->at += bytes;
	reader->left -= (size_t) bytes;
	return number;
}

/* Start to read a vote; false where these bytes do not begin one. */
bool
nw_vote_read_begin(NwVoteReader *reader, const void *data, size_t size)
{
	uint64_t n;

	*reader = (NwVoteReader) {data, size, 0};
	if (size < 4)
		return false;
	n = read_number(reader, 4);

	/* no more labels than fit, so that a caller may make room for all */
	if (n > INT_MAX || n > reader->left / ENTRY_SIZE)
		return false;
	reader->n = (int) n;
	return true;
}

/*
 * Read the next label, which stays where it is, and its mass; false where there is
 * none, or none that makes sense.
 */
bool
nw_vote_read_next(NwVoteReader *reader, const char **label, int *len, NwMass *mass)
{
	uint64_t length;
	uint64_t bits;

	if (reader->n <= 0 || reader->left < ENTRY_SIZE)
		return false;
	reader->n--;
	length = read_number(reader, 4);
	if (length > reader->left - (ENTRY_SIZE - 4) || length > INT_MAX)
		return false;
	*label = (const char *) reader->at;
	*len = (int) length;
	reader->at += length;
	reader->left -= length;

	bits = read_number(reader, 8);
	memcpy(&mass->top, &bits, sizeof(bits));
	for (int b = 0; b < NW_BINS; b++)
	{
		nw_uint128 high = read_number(reader, 8);

		mass->bin[b] = high << 64 | read_number(reader, 8);
	}

	/* a label is there because of a term, and the largest is in the top bin */
	return fabs(mass->top) <= TOP_MAX && mass->top == floor(mass->top) && mass->bin[0] != 0;
}

/* Say whether all labels were read and nothing is left. */
bool
nw_vote_read_end(const NwVoteReader *reader)
{
	return reader->n == 0 && reader->left == 0;
}

/* Say whether bytes, aligned or not, are an NwBins. */
bool
nw_bins_are_valid(const void *data, size_t size)
{
	const char *at = data;
	int64_t n;

	if (size < offsetof(NwBins, bin))
		return false;
	memcpy(&n, at, sizeof(n));
	if (n < 1 || n > NW_CALIBRATION_BINS_MAX || size != nw_bins_size((int) n))
		return false;
	at += offsetof(NwBins, bin);
	for (int64_t i = 0; i < n; i++, at += sizeof(NwCalibrationBin))
	{
		NwCalibrationBin bin;

		memcpy(&bin, at, sizeof(bin));
		if (bin.count < 0 || bin.count > COUNT_MAX || bin.correct < 0 || bin.correct > bin.count ||
		    bin.confidence > (nw_uint128) bin.count << 80)
			return false;
	}
	return true;
}
