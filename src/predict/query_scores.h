/*
 * predict/query_scores.h
 *		A labelled query and its scores against a packed support.
 */
#ifndef NW_PREDICT_QUERY_SCORES_H
#define NW_PREDICT_QUERY_SCORES_H

#include "postgres.h"

#include "predict/batch.h"

typedef struct NwQueryScores
{
	const NwAnswer *answer; /* of a mixture it is all there is */
	const NwSupport *support;
	const double *score;      /* [support->n] at temperature 1; NW_SCORE_NONE for rows left out */
	const double *log_weight; /* [support->n] or NULL */
	int nclasses;
	int truth; /* place of its class in byte order, or -1 */
} NwQueryScores;

#endif /* NW_PREDICT_QUERY_SCORES_H */
