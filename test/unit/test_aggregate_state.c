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

/* the state at hand: a vote or a score */
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
	NwStateReader reader;
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
	valid = valid && nw_state_read_end(&reader);
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
	NwStateReader reader;
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

/* Append a mass to the state: its highest bin, and nothing below. */
static void
put_mass(double top, uint64_t high, uint64_t low)
{
	uint64_t bits;

	memcpy(&bits, &top, sizeof(bits));
	put(bits, 8);
	put(high, 8);
	put(low, 8);
	for (int b = 1; b < NW_BINS; b++)
	{
		put(0, 8);
		put(0, 8);
	}
}

/* What the head of a score says. */
typedef struct Head
{
	int64_t count[5]; /* unlabelled, unanswered, unseen, losses, briers */
	double top;       /* of the losses */
	uint64_t high;
	int bins;
} Head;

/* Write a score of two labels, one of them with such counts. */
static void
make_score(Head head, int64_t n, int64_t correct)
{
	NwBins *bins = check_alloc(nw_bins_size(head.bins));

	nw_bins_init(bins, head.bins);
	nw_bins_add(bins, 0.5, true);
	vote_size = 0;
	for (int i = 0; i < 5; i++)
		put((uint64_t) head.count[i], 8);
	put_mass(head.top, head.high, head.top == -HUGE_VAL ? 0 : 1);
	put_mass(-HUGE_VAL, 0, 0);
	put(nw_bins_size(head.bins), 4);
	memcpy(vote + vote_size, bins, nw_bins_size(head.bins));
	vote_size += nw_bins_size(head.bins);
	put(2, 4);
	put(5, 4);
	memcpy(vote + vote_size, "robin", 5);
	vote_size += 5;
	put((uint64_t) n, 8);
	put((uint64_t) correct, 8);
	put(0, 4);
	put(1, 8);
	put(0, 8);
	free(bins);
}

/* Read a score to its end, in memory of its exact size. */
static bool
is_score(size_t size)
{
	unsigned char *copy = check_alloc(size);
	NwStateReader reader;
	NwScoreHead head;
	bool valid;

	if (size > 0)
		memcpy(copy, vote, size);
	valid = nw_score_read_begin(&reader, copy, size, &head);
	while (valid && reader.n > 0)
	{
		const char *label;
		int len;
		int64_t n;
		int64_t correct;

		valid = nw_score_read_next(&reader, &label, &len, &n, &correct);
	}
	valid = valid && nw_state_read_end(&reader);
	free(copy);
	return valid;
}

/* Tell whether such a score is read. */
static bool
reads(Head head, int64_t n, int64_t correct)
{
	make_score(head, n, correct);
	return is_score(vote_size);
}

static void
check_scores(void)
{
	const Head good = {{1, 2, 3, 4, 5}, 1, 0, 3};
	NwStateReader reader;
	NwScoreHead head;
	const char *label = NULL;
	int len = 0;
	int64_t n = 0;
	int64_t correct = 0;

	CHECK(reads(good, 7, 6), "a score");
	for (size_t size = 0; size < vote_size; size++)
		CHECK(!is_score(size), "cut after %zu", size);
	CHECK(!is_score(vote_size + 1), "a byte too many");
	CHECK(nw_score_read_begin(&reader, vote, vote_size, &head) && reader.n == 2, "its head");
	CHECK(head.unlabelled == 1 && head.unanswered == 2 && head.unseen == 3 && head.losses == 4 &&
	          head.briers == 5 && head.loss.top == 1 && nw_mass_is_empty(&head.brier) &&
	          head.bins_size == nw_bins_size(3),
	      "its numbers");
	CHECK(nw_score_read_next(&reader, &label, &len, &n, &correct) && len == 5 &&
	          memcmp(label, "robin", 5) == 0 && n == 7 && correct == 6,
	      "robin");
	CHECK(nw_score_read_next(&reader, &label, &len, &n, &correct) && len == 0 && n == 1 &&
	          correct == 0 && !nw_score_read_next(&reader, &label, &len, &n, &correct),
	      "the other");

	CHECK(!reads(good, 0, 0) && !reads(good, -1, -1) && !reads(good, 7, 8) && !reads(good, 7, -1) &&
	          !reads(good, INT64_MAX, 0),
	      "rows that cannot be");
	for (int i = 0; i < 5; i++)
	{
		Head other = good;

		other.count[i] = -1;
		CHECK(!reads(other, 7, 6), "count %d below 0", i);
		other.count[i] = INT64_MAX;
		CHECK(!reads(other, 7, 6), "count %d too large", i);
	}
	for (double top = -80; top <= 80; top += 0.5)
	{
		Head other = good;

		other.top = top;
		CHECK(reads(other, 7, 6) == (fabs(top) <= 64 && top == floor(top)), "a sum of top %g", top);
	}
	{
		Head other = good;

		other.high = UINT64_C(1) << 63;
		CHECK(!reads(other, 7, 6), "a sum below 0");
		other = good;
		other.count[3] = 0;
		CHECK(!reads(other, 7, 6), "a sum of nothing");
		other.top = -HUGE_VAL;
		CHECK(reads(other, 7, 6), "no sum");
		other.high = 1;
		CHECK(!reads(other, 7, 6), "an empty sum of something");
		other.high = 0;
		other.top = NAN;
		CHECK(!reads(other, 7, 6), "a sum of top NaN");
	}
	make_score(good, 7, 6);
	vote[5 * 8 + 2 * (8 + 16 * NW_BINS) + 3]++;
	CHECK(!is_score(vote_size), "bins of another size");
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
	check_scores();
	check_bins(1);
	check_bins(15);
	check_bins(NW_CALIBRATION_BINS_MAX);
	check_text();
	return check_finish();
}
