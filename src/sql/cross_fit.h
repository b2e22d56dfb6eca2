/*
 * sql/cross_fit.h
 *		Find a temperature for prototypes.
 */
#ifndef NW_SQL_CROSS_FIT_H
#define NW_SQL_CROSS_FIT_H

#include "postgres.h"

#include "sets/source.h"
#include "sql/distill_class.h"

extern double nw_cross_fit_tau(const NwDistillTask *task, const NwSource *source, double before);

#endif /* NW_SQL_CROSS_FIT_H */
