/*
 * bytes/aggregate_state.h
 *		Read the aggregates' states out of bytes, as one process of a parallel
 *		plan hands them to another.
 *
 * Nothing about the bytes is taken for granted: what is accepted is a state
 * that the aggregates could have made.
 *
 * Pure C: no PostgreSQL, no allocation, no errors.
 */
#ifndef NW_BYTES_AGGREGATE_STATE_H
#define NW_BYTES_AGGREGATE_STATE_H

#include <stdbool.h>
#include <stddef.h>

#include "math/mass.h"

/* Where one has come to in a state.  Every number in it has its highest byte first. */
typedef struct NwStateReader
{
	const unsigned char *at; /* what comes next */
	size_t left;             /* bytes from there on */
	int n;                   /* labels still to come */
} NwStateReader;

/*
 * A vote: the number of its labels; then, for each, the length of the label,
 * the label, the index of the mass's highest bin (a double) and the bins,
 * highest first.
 */
extern bool nw_vote_read_begin(NwStateReader *reader, const void *data, size_t size);
extern bool nw_vote_read_next(NwStateReader *reader, const char **label, int *len, NwMass *mass);

/*
 * A score: what the head has, in its order, the size of the bins before these; then
 * the number of its labels, and for each its length, the label, how many rows there
 * are of it and how many of these are correct.
 */
typedef struct NwScoreHead
{
	int64_t unlabelled;
	int64_t unanswered;
	int64_t unseen;
	int64_t losses;
	int64_t briers;
	NwMass loss;
	NwMass brier;
	const void *bins; /* an NwBins that need not be aligned */
	size_t bins_size;
} NwScoreHead;

extern bool nw_score_read_begin(NwStateReader *reader, const void *data, size_t size,
                                NwScoreHead *head);
extern bool nw_score_read_next(NwStateReader *reader, const char **label, int *len, int64_t *n,
                               int64_t *correct);

extern bool nw_state_read_end(const NwStateReader *reader);
extern bool nw_bins_are_valid(const void *data, size_t size);

#endif /* NW_BYTES_AGGREGATE_STATE_H */
