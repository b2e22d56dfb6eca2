/*
 * index/bounds.h
 *		What the two halves of a search share: the decision
 *		(nwindex_search.c) and the bounds it rests on (nwindex_bounds.c).
 */
#ifndef NW_INDEX_BOUNDS_H
#define NW_INDEX_BOUNDS_H

#include "postgres.h"

#include <math.h>

#include "lib/binaryheap.h"

#include "index/search.h"
#include "math/elementary.h"
#include "math/mass.h"
#include "math/verdict.h"

/* A sum of exponentials: sum * exp(top). */
typedef struct LogSum
{
	double top;
	double sum;
} LogSum;

/* How well a list is known. */
typedef enum UnitState
{
	UNIT_LIST,
	UNIT_CODE,
	UNIT_EXACT
} UnitState;

/* A list with a class of its own. */
typedef struct Unit
{
	int part;
	NwPageAt first; /* page */
	int32 class;
	uint32 slots;
	float radius; /* as in NwListData */
	float spread;
	float error;
	float norm_min;
	UnitState state;
	double lower; /* logarithms of its mass */
	double upper;
	double weight; /* the upper bound at first */
	double gain;   /* what an exact pass would tell, for its cost */
} Unit;

/* Bounds on what a class has in common lists. */
typedef struct CommonSums
{
	LogSum lower;
	LogSum upper;
} CommonSums;

/* What is known of a class that has lists of its own, or may be the answer. */
typedef struct SearchClass
{
	int number; /* the reader's */
	LogSum lower;
	LogSum upper;
	CommonSums common; /* of its rows in common lists */
	int64 slots;
	LogSum coded;       /* upper sums of what was coded, */
	LogSum coded_lower; /* lower sums, */
	int64 coded_slots;  /* and how many slots that was */
	NwMass mass;        /* of what was read exactly */
	int first_unit;     /* in an order by class: its own, */
	int next_unit;      /* and those not read exactly yet, */
	int end_unit;       /* up to here */
} SearchClass;

typedef struct Search
{
	NwIndexReader *reader;
	const NwQuery *query;
	int nall;       /* classes that the reader numbers */
	bool *admitted; /* [nall] NULL where all are */
	int nasked;
	int *asked;         /* [nasked] classes admitted by name */
	bool *wanted;       /* [nall] still contending, */
	int64 wanted_slots; /* with so many slots in lists of their own */
	int32 *place;       /* [nall] in the array below, or -1 */
	CommonSums *common; /* [nall] NULL where nothing is in common lists */
	int nclasses;
	int allocated;
	SearchClass *class; /* [nclasses] what is left to tell apart */
	int nunits;
	Unit *unit;                 /* [nunits] */
	Unit **order;               /* [nunits] by class, once that is needed */
	binaryheap *heaviest_first; /* those not coded yet, and some that are */
	int64 slots;                /* of all units */
	int64 common_slots;
	int leading;     /* the class that leads, if any, */
	double lead;     /* its lower bound, */
	int challenger;  /* and who comes next to it from above */
	double heaviest; /* upper bound of a row's score so far */
	float *t;        /* [dim] */
	float *center;   /* [dim] */
	NwIndexPages pages;
	NwSearchWork *work;
} Search;

/* Add exp(value). */
static inline void
add_log(LogSum *to, double value)
{
	if (value == -HUGE_VAL || (to->sum != 0 && to->top == HUGE_VAL))
		return;
	if (to->sum == 0 || value == HUGE_VAL)
	{
		to->top = value;
		to->sum = 1;
	}
	else if (value <= to->top)
		to->sum += nw_exp(value - to->top);
	else
	{
		to->sum = to->sum * nw_exp(to->top - value) + 1;
		to->top = value;
	}
}

/* The logarithm of a sum. */
static inline double
log_of(const LogSum *sum)
{
	return sum->sum == 0 ? -HUGE_VAL : sum->sum == 1 ? sum->top : sum->top + nw_log(sum->sum);
}

/* Say whether a class may still be the answer. */
static inline bool
is_wanted(const Search *search, int class)
{
	return search->wanted[search->class[class].number];
}

/* The place of a class, by the reader's number; it gets one where it has none. */
extern int nw_search_place(Search *search, int number);

/* Take in the lists of one part. */
extern void nw_bounds_take_lists(Search *search, int number);

/* Bound the mass of a list by its codes. */
extern void nw_bounds_refine_by_code(Search *search, Unit *unit);

/* Bound the rows of the common lists by their codes. */
extern void nw_bounds_take_common(Search *search);

/* Replace the bounds of a list by its exact mass. */
extern void nw_bounds_refine_exactly(Search *search, Unit *unit);

/*
 * Replace the bounds of contenders' rows in the common lists by their exact
 * masses.  Nothing else has been read exactly yet.
 */
extern void nw_bounds_read_common(Search *search);

#endif /* NW_INDEX_BOUNDS_H */
