/*
 * predict/tally.h
 *		Add up the masses of classes, block by block.
 */
#ifndef NW_PREDICT_TALLY_H
#define NW_PREDICT_TALLY_H

#include "postgres.h"

#include "storage/itemptr.h"

#include "math/kernel.h"
#include "math/nearest.h"
#include "math/removable.h"
#include "math/typicality.h"
#include "math/verdict.h"
#include "predict/heaviest.h"
#include "sets/filter.h"
#include "sets/labels.h"
#include "sets/pgvector.h"

/* Rows measured at a time. */
#define NW_BLOCK_ROWS 256

/* What is asked of one call. */
typedef struct NwCall
{
	Oid schema;          /* the extension's */
	const char *support; /* name of a set */
	NwVectorData query;
	NwFilter filter;
	int top;              /* how many heaviest supports to name */
	bool by_truth;        /* so many of class truth, and so many of all others */
	NwBytes truth;        /* only where by_truth */
	bool exclusive;       /* the caller has said which rows to leave out, if only none */
	bool empty_ok;        /* no support is no error: there is no answer then */
	bool typicality;      /* how far the query is from everything, where that can be told */
	bool must_be_told;    /* where it cannot be told, that is an error */
	bool shares;          /* temper plays no part, nor does that of a mixture's members */
	const char *mixture;  /* that asks support, a member of its own; or NULL */
	bool once;            /* the query does not change from row to row */
	MemoryContext caller; /* lives as long as the calling expression */
} NwCall;

/* Say whether a call needs the ids of supports. */
static inline bool
nw_call_wants_ids(const NwCall *call)
{
	return call->top > 0 || call->filter.exclude != NULL;
}

/* The answer to a query. */
typedef struct NwTally
{
	NwQuery query;
	double temper; /* of the probabilities */
	NwLabels *labels;
	NwMass *mass;           /* [allocated], one for each label */
	NwRemovable *removable; /* [allocated], only where by_truth */
	int allocated;
	NwVerdict verdict;          /* once closed */
	NwHeaviest heaviest;        /* the heaviest supports; of class truth only where by_truth */
	NwHeaviest heaviest_others; /* those of the other classes, where by_truth */
	NwNearest nearest;          /* of no k where nobody asked for them */
	const NwTypical *typical;   /* what nearest is compared with; NULL for nothing */
	struct NwMember *member;    /* [nmembers] of a mixture, which has no query and masses itself */
	int nmembers;               /* those that have support; 0 for any other set */
} NwTally;

/* The answer of one member of a mixture. */
typedef struct NwMember
{
	const char *name;
	NwScaled share; /* in the mixture, where all add up to any number */
	NwTally *tally; /* without its labels, which may be gone */
	int *class;     /* [tally->verdict.n] the mixture's classes, at the places of the verdict */
} NwMember;

/* Some supports, measured. */
typedef struct NwBlock
{
	int n;
	double measure[NW_BLOCK_ROWS];
	double score[NW_BLOCK_ROWS];
	int32 class[NW_BLOCK_ROWS];
	const char *id[NW_BLOCK_ROWS];      /* only where the call wants ids */
	int part[NW_BLOCK_ROWS];            /* table of a row whose id will be looked up */
	ItemPointerData tid[NW_BLOCK_ROWS]; /* place of such a row in its table */
} NwBlock;

/* An answer that is being added up. */
typedef struct NwTallying
{
	const NwCall *call;
	NwTally *tally;
	MemoryContext mcxt; /* of the answer */
	int8 *admitted;     /* [admitted_size] class: 1 yes, 0 no, -1 not yet known */
	int admitted_size;
	NwBlock block; /* the one at hand */
} NwTallying;

extern NwTallying *nw_tally_begin(const NwCall *call, NwKernel kernel, double tau, double temper,
                                  NwLabels *labels);
extern void nw_tally_seek_nearest(NwTally *tally, const NwTypical *typical, MemoryContext mcxt);
extern void nw_report_dim(int query_dim, const char *set, int dim);
extern void nw_report_no_support(const char *set, bool left_out);
extern void nw_report_no_class(const char *set, NwBytes class);
extern void nw_tally_check_classes(const NwTally *tally, const NwFilter *filter, const char *set);
extern void nw_tally_check_dim(const NwTallying *tallying, int dim);
extern void nw_tally_add_block(NwTallying *tallying);
extern void nw_tally_clear(NwTallying *tallying);
extern NwTally *nw_tally_end(NwTallying *tallying);
extern void nw_tally_reserve(NwTally *tally, MemoryContext mcxt, bool removable);
extern bool nw_tally_close(NwTally *tally, MemoryContext mcxt);
extern NwBytes nw_tally_label(const NwTally *tally, int place);
extern int *nw_tally_ranking(NwTally *tally);
extern const NwTally *nw_tally_of_item(const NwTally *tally, const NwHeavy *item);
extern const char *nw_tally_member(const NwTally *tally, const NwHeavy *item);
extern double nw_tally_share(const NwTally *tally, int member);
extern double nw_tally_weight(const NwTally *tally, const NwHeavy *item);
extern int nw_tally_rank(const NwTally *tally);
extern double nw_tally_typicality(const NwTally *tally);
extern double nw_tally_distance(const NwTally *tally, const NwHeavy *item);

#endif /* NW_PREDICT_TALLY_H */
