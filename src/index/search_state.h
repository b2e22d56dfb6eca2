/*
 * index/search_state.h
 *		What the two halves of a search share: search.c, which decides, and bounds.c,
 *		which has the bounds it rests on.
 */
#ifndef NW_INDEX_SEARCH_STATE_H
#define NW_INDEX_SEARCH_STATE_H

#include "postgres.h"

#include <math.h>

#include "lib/binaryheap.h"

#include "index/search.h"
#include "math/elementary.h"
#include "math/mass.h"

/* A sum of exponentials: sum * exp(top). */
typedef struct NwLogSum
{
	double top;
	double sum;
} NwLogSum;

/* What the bounds of a list rest on. */
typedef enum NwBoundedBy
{
	NW_BY_BALL,
	NW_BY_CODES,
	NW_BY_VECTORS
} NwBoundedBy;

/* A list with a class of its own. */
typedef struct NwSearchList
{
	int part;
	NwPageAt first; /* page */
	int32 class;    /* its place in the array of the search */
	uint32 slots;
	float radius;   /* as in NwListData */
	float spread;   /* likewise */
	float error;    /* likewise */
	float norm_min; /* likewise */
	NwBoundedBy by;
	double lower;  /* logarithm of its mass */
	double upper;  /* likewise */
	double weight; /* the upper bound at first */
	double gain;   /* what an exact pass would tell, for its cost */
} NwSearchList;

/* Bounds on what a class has in common lists. */
typedef struct NwCommonSums
{
	NwLogSum lower;
	NwLogSum upper;
} NwCommonSums;

/* What is known of a class that has lists of its own, or may be the answer. */
typedef struct NwSearchClass
{
	int number; /* the reader's */
	NwLogSum lower;
	NwLogSum upper;
	NwCommonSums common;  /* of its rows in common lists */
	int64 slots;          /* of its lists */
	NwLogSum coded;       /* upper sums of its lists that were coded */
	NwLogSum coded_lower; /* lower sums of these */
	int64 coded_slots;    /* of these */
	NwMass mass;          /* of what was read exactly */
	int first_list;       /* of its own, in the order by class */
	int next_list;        /* the first not read exactly yet */
	int end_list;         /* behind the last */
} NwSearchClass;

typedef struct NwSearch
{
	NwIndexReader *reader;
	const NwQuery *query;
	NwSearchWork *work;
	int nall;             /* classes that the reader numbers */
	bool *admitted;       /* [nall] NULL where all are */
	int nasked;           /* classes admitted by name */
	int *asked;           /* [nasked] */
	bool *wanted;         /* [nall] still contending */
	int64 wanted_slots;   /* of the lists of these */
	int32 *place;         /* [nall] in class, or -1 */
	NwCommonSums *common; /* [nall] NULL where nothing is in common lists */
	int nclasses;
	int allocated;
	NwSearchClass *class; /* [nclasses] what is left to tell apart */
	int nlists;
	NwSearchList *list;         /* [nlists] */
	NwSearchList **order;       /* [nlists] by class, once that is needed */
	binaryheap *heaviest_first; /* lists not coded yet, and some that are */
	int64 slots;                /* of all lists */
	int64 common_slots;         /* of common lists */
	int leading;                /* the class that leads, or -1 */
	double lead;                /* its lower bound */
	int challenger;             /* the class that comes next to it from above, or -1 */
	double heaviest;            /* upper bound of a row's score so far */
	float *t;                   /* [dim] the query made ready for codes */
	float *centre;              /* [dim] of the list at hand */
	NwIndexPages pages;
} NwSearch;

extern int nw_search_place(NwSearch *search, int number);

/* Add exp(value). */
static inline void
nw_log_sum_add(NwLogSum *to, double value)
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
nw_log_sum(const NwLogSum *sum)
{
	return sum->sum == 0 ? -HUGE_VAL : sum->sum == 1 ? sum->top : sum->top + nw_log(sum->sum);
}

/* Say whether a class may still be the answer. */
static inline bool
nw_search_wants(const NwSearch *search, int class)
{
	return search->wanted[search->class[class].number];
}

#endif /* NW_INDEX_SEARCH_STATE_H */
