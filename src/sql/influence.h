/*
 * sql/influence.h
 *		The influence of a support on a prediction.
 */
#ifndef NW_SQL_INFLUENCE_H
#define NW_SQL_INFLUENCE_H

#include "postgres.h"

#include "predict/tally.h"

extern double nw_item_influence(const NwTally *tally, const NwHeavy *item, int truth_class);

#endif /* NW_SQL_INFLUENCE_H */
