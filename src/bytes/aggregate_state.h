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
	const unsigned char *at; /* what comes next */
	size_t left;             /* bytes from there on */
	int n;                   /* labels still to come */
} NwVoteReader;

extern bool nw_vote_read_begin(NwVoteReader *reader, const void *data, size_t size);
extern bool nw_vote_read_next(NwVoteReader *reader, const char **label, int *len, NwMass *mass);
extern bool nw_vote_read_end(const NwVoteReader *reader);
extern bool nw_bins_are_valid(const void *data, size_t size);

#endif /* NW_BYTES_AGGREGATE_STATE_H */
