/*
 * run/best.h: the best model of a training run so far.
 */
#ifndef NW_BEST_H
#define NW_BEST_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/meta.h"
#include "graph/states.h"
#include "math/judgement.h"

typedef enum NwBestBy
{
	NW_BEST_BY_NLL,
	NW_BEST_BY_ERROR
} NwBestBy;

/* what has come of validations so far; zeros before the first one */
typedef struct NwBest
{
	int64_t seen;    /* the step of the last one; 0: none */
	NwFigures last;  /* its figures */
	int64_t step;    /* the step of the best one; 0: none */
	NwFigures best;  /* its figures */
	int64_t since;   /* validations since then */
	NwStates states; /* its weights */
} NwBest;

const char *nw_best_by_name(int i);
bool nw_best_add(NwBest *b, NwBestBy by, int64_t step, const NwFigures *figures);
char *nw_best_path(const char *out);
void nw_figures_describe(int64_t step, const NwFigures *f, NwMetas *into);
void nw_best_save(const NwBest *b, NwMetas *into);
bool nw_best_load(NwBest *b, const NwMetas *from, int64_t step_reached);

#endif
