/*
 * sets/origin.h
 *		The table that the rows of a set come from in the end.
 */
#ifndef NW_SETS_ORIGIN_H
#define NW_SETS_ORIGIN_H

#include "postgres.h"

#include "sets/registry.h"

/* How the rows of two sets belong together. */
typedef enum NwKinship
{
	NW_STRANGERS,    /* nothing is known of them */
	NW_SAME_ROWS,    /* rows of one table, which the same column names in both */
	NW_RENAMED_ROWS, /* rows of one table, which different columns name */
} NwKinship;

extern NwKinship nw_set_kinship(const NwSet *a, const NwSet *b);

#endif /* NW_SETS_ORIGIN_H */
