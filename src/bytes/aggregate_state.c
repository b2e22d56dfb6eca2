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

/* bytes of a mass */
#define MASS_SIZE (8 + 16 * NW_BINS)

/* bytes of a label's entry beside the label itself: in a vote, and in a score */
#define VOTE_ENTRY_SIZE (4 + MASS_SIZE)
#define SCORE_ENTRY_SIZE (4 + 2 * 8)

/* bytes of a score before its bins */
#define SCORE_HEAD_SIZE (5 * 8 + 2 * MASS_SIZE + 4)

/* no bin has an index beyond this, whatever the distance and tau */
#define TOP_MAX 1e250

/* no bin of a sum of doubles has an index beyond this */
#define SUM_TOP_MAX 64

/* a sum of confidences overflows with more than this */
#define COUNT_MAX ((int64_t) 1 << 47)

/* Read a number, highest byte first. */
static uint64_t
read_number(NwStateReader *reader, int bytes)
{
	uint64_t number = 0;

	for (int i = 0; i < bytes; i++)
		number = number << 8 | reader->at[i];
	reader->at += bytes;
	reader->left -= (size_t) bytes;
	return number;
}

/* Read a mass; it may be any. */
static void
read_mass(NwStateReader *reader, NwMass *mass)
{
	uint64_t bits = read_number(reader, 8);

	memcpy(&mass->top, &bits, sizeof(bits));
	for (int b = 0; b < NW_BINS; b++)
	{
		nw_uint128 high = read_number(reader, 8);

		mass->bin[b] = high << 64 | read_number(reader, 8);
	}
}

/* Read how many labels there are; false where they do not fit, each of some bytes. */
static bool
read_count(NwStateReader *reader, size_t entry_size)
{
	uint64_t n;

	if (reader->left < 4)
		return false;
	n = read_number(reader, 4);

	/* no more labels than fit, so that a caller may make room for all */
	if (n > INT_MAX || n > reader->left / entry_size)
		return false;
	reader->n = (int) n;
	return true;
}

/* Read the next label, which stays where it is; false where there is none that fits. */
static bool
read_label(NwStateReader *reader, size_t entry_size, const char **label, int *len)
{
	uint64_t length;

	if (reader->n <= 0 || reader->left < entry_size)
		return false;
	reader->n--;
	length = read_number(reader, 4);
	if (length > reader->left - (entry_size - 4) || length > INT_MAX)
		return false;
	*label = (const char *) reader->at;
	*len = (int) length;
	reader->at += length;
	reader->left -= length;
	return true;
}

/* Start to read a vote; false where these bytes do not begin one. */
bool
nw_vote_read_begin(NwStateReader *reader, const void *data, size_t size)
{
	*reader = (NwStateReader) {data, size, 0};
	return read_count(reader, VOTE_ENTRY_SIZE);
}

/*
 * Read the next label, which stays where it is, and its mass; false where there is
 * none, or none that makes sense.
 */
bool
nw_vote_read_next(NwStateReader *reader, const char **label, int *len, NwMass *mass)
{
	if (!read_label(reader, VOTE_ENTRY_SIZE, label, len))
		return false;
	read_mass(reader, mass);

	/* a label is there because of a term, and the largest is in the top bin */
	return fabs(mass->top) <= TOP_MAX && mass->top == floor(mass->top) && mass->bin[0] != 0;
}

/* Say whether a mass is the sum of so many doubles, none of them below 0. */
static bool
is_sum(const NwMass *mass, int64_t terms)
{
	/* zeroes make no bin */
	if (nw_mass_is_empty(mass))
		return mass->bin[0] == 0 && mass->bin[1] == 0 && mass->bin[2] == 0;
	if (terms == 0 || !(fabs(mass->top) <= SUM_TOP_MAX) || mass->top != floor(mass->top) ||
	    mass->bin[0] == 0)
		return false;
	for (int b = 0; b < NW_BINS; b++)
	{
		if (mass->bin[b] >> 127 != 0)
			return false;
	}
	return true;
}

/* Read a count of rows; false where there cannot be so many. */
static bool
read_rows(NwStateReader *reader, int64_t *rows)
{
	*rows = (int64_t) read_number(reader, 8);
	return *rows >= 0 && *rows <= COUNT_MAX;
}

/* Start to read a score; false where these bytes do not begin one. */
bool
nw_score_read_begin(NwStateReader *reader, const void *data, size_t size, NwScoreHead *head)
{
	*reader = (NwStateReader) {data, size, 0};
	if (size < SCORE_HEAD_SIZE || !read_rows(reader, &head->unlabelled) ||
	    !read_rows(reader, &head->unanswered) || !read_rows(reader, &head->unseen) ||
	    !read_rows(reader, &head->losses) || !read_rows(reader, &head->briers))
		return false;
	read_mass(reader, &head->loss);
	read_mass(reader, &head->brier);
	head->bins_size = (size_t) read_number(reader, 4);
	head->bins = reader->at;
	if (!is_sum(&head->loss, head->losses) || !is_sum(&head->brier, head->briers) ||
	    head->bins_size > reader->left || !nw_bins_are_valid(head->bins, head->bins_size))
		return false;
	reader->at += head->bins_size;
	reader->left -= head->bins_size;
	return read_count(reader, SCORE_ENTRY_SIZE);
}

/*
 * Read the next label, which stays where it is, and its rows; false where there is
 * none, or none that makes sense.
 */
bool
nw_score_read_next(NwStateReader *reader, const char **label, int *len, int64_t *n,
                   int64_t *correct)
{
	/* a label is there because of a row */
	return read_label(reader, SCORE_ENTRY_SIZE, label, len) && read_rows(reader, n) && *n > 0 &&
	       read_rows(reader, correct) && *correct <= *n;
}

/* Say whether all labels were read and nothing is left. */
bool
nw_state_read_end(const NwStateReader *reader)
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
