/*
 * test_aggregate_state.c
 *		Bytes that others made: states of the aggregates and vectors in text
 *		are read as they were written, or refused.
 */
#include <math.h>
#include <string.h>

#include "bytes/aggregate_state.h"
#include "bytes/vector_text.h"
#include "check.h"
#include "math/calibration_bins.h"

#define VOTE_MAX 1024

static unsigned char vote[VOTE_MAX];
static size_t vote_size;

/* Append a number to the vote, highest byte first. */
static void
put(uint64_t number, int bytes)
{
	for (int i = bytes - 1; i >= 0; i--)
		vote[vote_size++] = (unsigned char) (number >> 8 * i);
}

/* Append a label and its mass to the vote. */
static void
put_label(const char *label, double top, uint64_t high, uint64_t low)
{
	uint64_t bits;

	memcpy(&bits, &top, sizeof(bits));
	put(strlen(label), 4);
	memcpy(vote + vote_size, label, strlen(label));
	vote_size += strlen(label);
	put(bits, 8);
	put(high, 8);
	put(low, 8);
	for (int b = 1; b < NW_BINS; b++)
	{
		put((uint64_t) b, 8);
		put((uint64_t) b + 7, 8);
	}
}

/* Read a vote to its end, in memory of its exact size. */
static bool
is_vote(const void *data, size_t size)
{
	unsigned char *copy = check_alloc(size);
	NwVoteReader reader;
	bool valid;

	if (size > 0)
		memcpy(copy, data, size);
	valid = nw_vote_read_begin(&reader, copy, size);
	while (valid && reader.n > 0)
	{
		const char *label;
		int len;
		NwMass mass;
		int sum = 0;

		valid = nw_vote_read_next(&reader, &label, &len, &mass);
		for (int i = 0; valid && i < len; i++)
			sum += label[i];
		CHECK(sum >= 0, "labels of plain letters");
	}
	valid = valid && nw_vote_read_end(&reader);
	free(copy);
	return valid;
}

/* Tell whether a vote of one label with such a mass is read. */
static bool
is_mass(double top, uint64_t high, uint64_t low)
{
	vote_size = 0;
	put(1, 4);
	put_label("a", top, high, low);
	return is_vote(vote, vote_size);
}

static void
check_votes(void)
{
	NwVoteReader reader;
	const char *label = NULL;
	int len = 0;
	NwMass mass = {0};

	vote_size = 0;
	put(0, 4);
	CHECK(is_vote(vote, vote_size), "no labels");

	vote_size = 0;
	put(3, 4);
	put_label("robin", 5, 3, 4);
	put_label("", -7, 0, 1);
	put_label("wren", 4e200, UINT64_MAX, 0);
	CHECK(is_vote(vote, vote_size), "three labels");
	for (size_t size = 0; size < vote_size; size++)
		CHECK(!is_vote(vote, size), "cut after %zu", size);
	CHECK(!is_vote(vote, vote_size + 1), "a byte too many");

	CHECK(nw_vote_read_begin(&reader, vote, vote_size) && reader.n == 3 &&
	          nw_vote_read_next(&reader, &label, &len, &mass),
	      "first");
	CHECK(len == 5 && memcmp(label, "robin", 5) == 0 && mass.top == 5 &&
	          (uint64_t) (mass.bin[0] >> 64) == 3 && (uint64_t) mass.bin[0] == 4 &&
	          (uint64_t) (mass.bin[2] >> 64) == 2 && (uint64_t) mass.bin[2] == 9,
	      "robin's mass");
	CHECK(nw_vote_read_next(&reader, &label, &len, &mass) && len == 0 &&
	          nw_vote_read_next(&reader, &label, &len, &mass) && len == 4 &&
	          !nw_vote_read_next(&reader, &label, &len, &mass),
	      "the others");

	/* counts and lengths that promise more than there is */
	for (int i = 0; i < 2; i++)
		for (int byte = 0; byte < 4; byte++)
		{
			unsigned char old = vote[4 * i + byte];

			vote[4 * i + byte] = 0xff;
			CHECK(!is_vote(vote, vote_size), "number %d, byte %d", i, byte);
			vote[4 * i + byte] = old;
		}

	CHECK(is_mass(0, 0, 1) && is_mass(-1e249, 0, 1) && is_mass(3, 1, 0), "masses that can be");
	CHECK(!is_mass(NAN, 0, 1) && !is_mass(HUGE_VAL, 0, 1) && !is_mass(-HUGE_VAL, 0, 1) &&
	          !is_mass(0.5, 0, 1) && !is_mass(1e251, 0, 1) && !is_mass(3, 0, 0),
	      "masses that cannot");
}

/* Bins with something in them, of exact size. */
static NwBins *
make_bins(int n)
{
	NwBins *bins = check_alloc(nw_bins_size(n));

	nw_bins_init(bins, n);
	for (int i = 0; i <= n; i++)
		nw_bins_add(bins, (double) i / n, i % 3 == 0);
	return bins;
}

static void
check_bins(int n)
{
	NwBins *bins = make_bins(n);
	size_t size = nw_bins_size(n);
	int64_t wrong[] = {0, -1, n - 1, n + 1, ((int64_t) 1 << 32) + n, INT64_MIN, INT64_MAX};
	NwCalibrationBin *last = &bins->bin[n - 1];
	NwCalibrationBin was = *last;

	CHECK(nw_bins_are_valid(bins, size), "%d bins", n);
	CHECK(!nw_bins_are_valid(bins, size - 1) && !nw_bins_are_valid(bins, 7) &&
	          !nw_bins_are_valid(bins, 0),
	      "%d bins, cut short", n);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
	{
		bins->n = wrong[i];
		CHECK(!nw_bins_are_valid(bins, size), "%d bins that say %lld", n, (long long) wrong[i]);
	}
	bins->n = n;
	last->correct = last->count + 1;
	CHECK(!nw_bins_are_valid(bins, size), "more correct than there are");
	*last = was;
	last->correct = -1;
	CHECK(!nw_bins_are_valid(bins, size), "less than none correct");
	*last = was;
	last->count = INT64_MAX;
	CHECK(!nw_bins_are_valid(bins, size), "more rows than can be");
	*last = was;
	last->confidence = ((nw_uint128) last->count << 80) + 1;
	CHECK(!nw_bins_are_valid(bins, size), "more confidence than rows");
	*last = was;
	CHECK(nw_bins_are_valid(bins, size), "%d bins, restored", n);
	free(bins);
}

/* Read text into memory of exact size; the number of elements. */
static int
read_text(const char *text, float *first)
{
	int room = nw_vector_text_room(text);
	float *x = check_alloc((size_t) room * sizeof(float));
	int dim = room > 0 ? nw_vector_text_read(text, x, room) : 0;

	*first = dim > 0 ? x[0] : 0;
	free(x);
	return dim;
}

static void
check_text(void)
{
	static const char *const no[] = {
		"",       "[",       "[]",    "]",     "[,]",    "[1,]",   "[,1]",   "[1",     "[1,",
		"[1]]",   "[1] ",    " [1]",  "[1 ]",  "[1,2,3", "[1,,2]", "[0x1]",  "[nan]",  "[inf]",
		"[1e99]", "[1e-99]", "[1-2]", "[+-1]", "[e]",    "[.]",    "[1][2]", "[1],[2]"};
	float first;
	char *wide = check_alloc(2 * 16001 + 2);

	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		CHECK(read_text(no[i], &first) == 0, "%s", no[i]);
	CHECK(read_text("[1,-2.5,3e-7]", &first) == 3 && first == 1, "three");
	CHECK(read_text("[-2.5]", &first) == 1 && first == -2.5f, "one");
	CHECK(nw_vector_text_read("[1,2,3]", &first, 1) == 0, "no room");
	for (int n = 15999; n <= 16001; n++)
	{
		for (int i = 0; i < n; i++)
			memcpy(wide + 2 * i, i == 0 ? "[4" : ",4", 2);
		strcpy(wide + 2 * n, "]");
		CHECK(read_text(wide, &first) == (n <= 16000 ? n : 0), "%d elements", n);
	}
	free(wide);
}

int
main(void)
{
	check_start("aggregate_state");
	check_votes();
	check_bins(1);
	check_bins(15);
	check_bins(NW_CALIBRATION_BINS_MAX);
	check_text();
	return check_finish();
}
