/*
 * sql/distill_class.h
 *		Choose the prototypes of one class.
 */
#ifndef NW_SQL_DISTILL_CLASS_H
#define NW_SQL_DISTILL_CLASS_H

#include "postgres.h"

#include "predict/support.h"

/* How prototypes are made. */
typedef enum NwDistillMode
{
	NW_DISTILL_RANDOM,  /* rows drawn at random */
	NW_DISTILL_CLUSTER, /* centroids */
	NW_DISTILL_CLOSEST  /* the rows closest to centroids */
} NwDistillMode;

/* What is asked for. */
typedef struct NwDistillTask
{
	NwDistillMode mode;
	int k; /* prototypes for each class, at most */
	int64 seed;
	bool by_members;          /* a prototype weighs as much as its members */
	int restarts;             /* of clustering */
	const NwSupport *support; /* in canonical order */
} NwDistillTask;

/* Prototypes of one class. */
typedef struct NwClassPrototypes
{
	int n;
	float *x;       /* [n][dim] */
	int64 *members; /* [n] rows that each stands for */
	double *weight; /* [n] */
	int64 *row;     /* [n] row of the support that each is; -1 for a centroid */
} NwClassPrototypes;

extern void nw_distill_report_memory(const char *detail);
extern NwClassPrototypes *nw_distill_class(const NwDistillTask *task, int class, const int64 *rows,
                                           int n);

#endif /* NW_SQL_DISTILL_CLASS_H */
