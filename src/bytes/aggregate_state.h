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

/*
 * A vote: the number of its labels; then, for each, the length of the label,
 * the label, the index of the mass's highest bin (a double) and the bins,
 * highest first.  Every number has its highest byte first.
 */
typedef struct NwVoteReader
{
	const unsigned char *at;
	size_t left;
	int n; /* labels still to come */
} NwVoteReader;

/* Start; false where this is not the beginning of a vote. */
extern bool nw_vote_read_begin(NwVoteReader *reader, const void *data, size_t size);

/*
 * Read the next label, which stays where it is, and its mass; false where
 * there is none, or none that makes sense.
 */
extern bool nw_vote_read_next(NwVoteReader *reader, const char **label, int *len, NwMass *mass);

/* True where all labels were read and nothing is left. */
extern bool nw_vote_read_end(const NwVoteReader *reader);

/* True where the bytes, aligned or not, are an NwBins. */
extern bool nw_bins_are_valid(const void *data, size_t size);

#endif /* NW_BYTES_AGGREGATE_STATE_H */
